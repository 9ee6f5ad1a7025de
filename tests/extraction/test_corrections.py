"""Sentences that correct, end or restate what was said before, standing wishes, and what only resembles them: one table of each."""

from __future__ import annotations

import pytest

from .conftest import assert_kept, told

STATEMENTS = [
    # sentence, type (and category), topic, what is said
    ("I changed my mind: I now prefer prose answers instead of bullet points.", "preferences", "answers", "Prefers prose answers instead of bullet points"),
    ("I now prefer prose answers.", "preferences", "answers", "Prefers prose answers"),
    ("I prefer prose now.", "preferences", "answers", "Prefers prose"),
    ("I now prefer coffee over tea.", "preferences", "coffee or tea", "Prefers coffee over tea"),
    ("I prefer long, detailed answers.", "preferences", "answers", "Prefers long, detailed answers"),
    ("First, some ground rules: I prefer answers in bullet points, no longer than five lines.", "preferences", "answers", "Prefers answers in bullet points"),
    ("I'm not vegetarian any more.", "entities/health", "diet", "Is not vegetarian"),
    ("I'm not allergic to peanuts after all.", "entities/health", "allergy to peanuts", "Is not allergic to peanuts"),
    ("My manager is no longer Greta, it's Tom.", "entities/person", "manager's name", "Manager's name: Tom"),
    ("My manager is no longer Greta.", "entities/person", "manager's name", "Manager's name: no longer Greta"),
    ("My new manager is Tom.", "entities/person", "manager's name", "Manager's name: Tom"),
    ("My new dog is called Rex.", "entities/pet", "new dog's name", "New dog's name: Rex"),
    ("My phone number changed to 333 444.", "entities/self", "phone number", "Phone number: 333 444"),
    ("My phone number has changed, it's now 333 444.", "entities/self", "phone number", "Phone number: 333 444"),
    ("My name is not Bob, it's Robert.", "entities/self", "name", "Name: Robert"),
    ("Remember that we deploy on Wednesdays.", "entities/self", "we deploy", "To remember: we deploy on Wednesdays"),
    ("Remember that we deploy on Thursdays now.", "entities/self", "we deploy", "To remember: we deploy on Thursdays now"),
    ("Remember that we no longer deploy on Fridays.", "entities/self", "we deploy", "To remember: we no longer deploy on Fridays"),
    ("I no longer work at Acme.", "entities/work", "work", "No longer works at Acme"),
    ("I don't live in Oslo any more.", "entities/place", "home", "No longer lives in Oslo"),
    ("We no longer use Jenkins.", "preferences", "jenkins", "No longer uses Jenkins"),
    ("I no longer eat meat.", "preferences", "meat", "Doesn't eat meat"),
    ("Please remember: standup moved to 9:15.", "entities/self", "standup", "Standup: 9:15"),
    ("Our standup has been moved from 9:30 to 9:15.", "entities/self", "standup", "Standup: 9:15"),
    ("Remember that the go/no-go decision is made by Greta Solberg on 16 October.", "entities/notes", "go no-go decision", None),
    ("Remember that the release is on Thursday.", "entities/notes", "release", "To remember: the release is on Thursday"),
    ("Please don't ever run destructive commands without asking me.", "preferences", "run destructive commands without asking me", None),
    ("Don't push without asking me.", "preferences", "push without asking me", "Never: push without asking me"),
    ("Do not use emojis.", "preferences", "use emojis", "Never: use emojis"),
    ("Please answer in English.", "preferences", "language of answers", "Wants answers in English"),
    ("I prefer answers in English.", "preferences", "language of answers", "Prefers answers in English"),
    ("I want all Python code with type hints and with pytest tests, never unittest.", "preferences", "python code", "Wants all Python code with type hints and with pytest tests"),
    ("I want you to always use metric units.", "preferences", "use metric units", "Always: use metric units"),
    ("Hi! I'm Marta Lindqvist, backend lead at Skarholm Ferries.", "entities/self", "name", "Name: Marta Lindqvist"),
    ("I'm Marta Lindqvist, backend lead", "entities/self", "name", "Name: Marta Lindqvist"),
    ("Lihua's email is lihua@example.org.", "entities/person", "lihua's email", "Lihua's email: lihua@example.org"),
    ("Lihua's email changed: it's wang@example.org.", "entities/person", "lihua's email", "Lihua's email: wang@example.org"),
    ("My favourite editor is Zed now.", "preferences", "favourite editor", "Favourite editor: Zed"),
    ("I can't eat gluten.", "entities/health", "eating gluten", "Can't eat gluten"),
    ("I can eat gluten again.", "entities/health", "eating gluten", "Can eat gluten"),
    ("My daughter Saga turns six in May", "entities/person", "daughter saga's age", "Daughter Saga turns six in May"),
    ("I like the colour green.", "preferences", "colour green", "Likes the colour green"),
    ("In the story my name is Alice. I live in Paris.\n\nI prefer tea.", "preferences", "tea", "Prefers tea"),
    ("请用中文回答。", "preferences", "language of answers", "用中文回答"),
    ("我现在更喜欢红茶。", "preferences", "红茶", "更喜欢红茶"),
    ("我不在腾讯工作了。", "entities/work", "工作", "不再在腾讯工作"),
    ("我不对花生过敏了。", "entities/health", "对花生过敏", "不对花生过敏"),
    ("I don't work at Acme any longer.", "entities/work", "work", "No longer works at Acme"),
]  # fmt: skip

NO_STATEMENTS = [
    "In the story my name is Alice. I live in Paris.",
    "In this example, my name is Bob and I prefer tea.",
    "在这个故事里，我叫小明。我住在上海。",
    "I now prefer the second option.",
    "I can't eat another bite.",
    "I can't eat when I'm nervous.",
    "I can't drink and drive.",
    "I want all my friends to be happy.",
    "I want all files in the folder.",
    "I want all answers in a table for this question.",
    "Don't use loops here.",
    "Don't use the loops.",
    "Don't ever leave me!",
    "Don't delete the file without asking Bob.",
    "Please answer in English or German.",
    "Please reply in time.",
    "Answer in French what I asked.",
    "请用中文回答这个问题。",
    "I'm Sorry, lead developer is out.",
    "Hi! I'm Back.",
    "It's email is a@b.cd.",
    "Bob's email is down.",
    "Bob's birthday is tomorrow.",
    "My son Tom is two hours late.",
    "The deadline moved to Friday.",
    "My job changed to failing.",
    "We no longer use it.",
    "I no longer work on this.",
    "I don't live here any more.",
    "My name is no longer shown.",
    "My name is not shown, it's hidden.",
    "My manager is not happy, he's furious.",
    "My birthday is not today, it's tomorrow.",
    "I don't like my name is Bob as an example.",
    "I love the color and texture.",
    "我不在家了。",
    "我不用谢了。",
    "Remember that it moved.",
]


@pytest.mark.parametrize(("sentence", "kind", "topic", "said"), STATEMENTS)
def test_a_correction_or_a_wish_is_kept_under_the_topic_of_what_it_changes(
    sentence: str, kind: str, topic: str, said: str | None
) -> None:
    assert_kept(sentence, kind, topic, said)


@pytest.mark.parametrize("text", NO_STATEMENTS)
def test_what_corrects_nothing_and_wishes_nothing_for_long_is_not_kept(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (
            "I prefer answers in bullet points.",
            "I changed my mind: I now prefer prose answers instead of bullet points.",
        ),
        ("I prefer answers in bullet points.", "I prefer prose now."),
        ("I prefer short answers.", "I prefer long, detailed answers."),
        ("I'm vegetarian.", "I'm not vegetarian any more."),
        ("I'm allergic to peanuts.", "I'm not allergic to peanuts after all."),
        ("My manager is Greta.", "My manager is no longer Greta, it's Tom."),
        ("My manager is Greta.", "My new manager is Tom."),
        ("My phone number is 111 222.", "My phone number changed to 333 444."),
        ("My name is Bob.", "My name is not Bob, it's Robert."),
        ("Remember that we deploy on Wednesdays.", "Remember that we deploy on Thursdays now."),
        ("Remember: our standup is at 9:30.", "Please remember: standup moved to 9:15."),
        ("I work at Acme.", "I no longer work at Acme."),
        ("Please answer in English.", "From now on, answer in German."),
        ("I can't eat gluten.", "I can eat gluten again."),
        ("我在腾讯工作。", "我不在腾讯工作了。"),
        ("Please answer in English.", "请用中文回答。"),
        ("My favourite editor is Neovim.", "My favourite editor is Zed now, I gave up on Neovim."),
    ],
)
def test_what_is_corrected_does_not_stay(first: str, then: str) -> None:
    (draft,) = told(first, then)
    assert draft.quote == then
    assert told(first)[0].topic == draft.topic


def test_what_is_over_takes_back_only_what_was_said_of_it() -> None:
    (draft,) = told("I work at Globex.", "I no longer work at Acme.")
    assert draft.body.startswith("Works at Globex. ")
    (draft,) = told("I no longer work at Acme.", "I work at Globex.")
    assert draft.body.startswith("Works at Globex. ")
