"""What the parts of a long conversation want together, and which explicit statements that leaves."""

from __future__ import annotations

import pytest

from openviking.model.memory import Draft
from openviking.session.memories.answer import Reading
from openviking.session.memories.answered import MAX_DELETES, MAX_WANTED, Answered
from openviking.session.memories.asking import Known
from openviking.session.memories.changes import Wish

COFFEE = Known("n1", "user/a/memories/preferences/coffee.md", b"h", "preferences", "", "coffee", "Likes coffee.")


def draft(body: str, topic: str = "tea", **others: str) -> Draft:
    return Draft("preferences", topic, body, ("m1",), topic=topic, **others)


def after(*wishes: Wish) -> Answered:
    answered = Answered()
    answered.read(Reading(wishes))
    return answered


def test_a_later_part_sees_what_earlier_parts_want() -> None:
    update = Wish(draft("Likes coffee with milk.", "coffee"), "rewrite", COFFEE.path, b"h")
    answered = after(Wish(draft("Likes tea.")), update, Wish(draft("Likes milk.", peer="ann")))
    assert [(one.key, one.body) for one in answered.noted([COFFEE], ())] == [
        ("n1", "Likes coffee with milk."), ("n2", "Likes tea."),
    ]  # fmt: skip
    assert answered.noted([COFFEE], ["ann"])[2].body == "Likes milk."
    gone = after(Wish(draft("", "coffee"), "forget", COFFEE.path, b"h"))
    assert gone.noted([COFFEE], ()) == []
    many = after(*[Wish(draft(f"Likes tea {n}.", f"tea {n}")) for n in range(2 * MAX_WANTED)])
    assert [one.topic for one in many.noted([], ())][:: MAX_WANTED - 1] == ["tea 16", "tea 31"]


def test_a_later_part_corrects_what_earlier_parts_want() -> None:
    answered = after(Wish(draft("Likes tea.")), Wish(draft("Likes milk.", "milk")))
    tea, milk = answered.noted([], ())
    told = Draft("preferences", "drinks", "Likes green tea.", ("m9",), topic="drinks")
    answered.read(Reading((Wish(told, "rewrite", tea.path), Wish(draft("", "milk"), "forget", milk.path))))
    assert answered.wishes == [
        Wish(Draft("preferences", "tea", "Likes green tea.", ("m1", "m9"), topic="tea")),
    ]  # fmt: skip
    # Twice in one answer: what is gone stays gone.
    answered.read(Reading((Wish(draft("Likes milk.", "milk"), "rewrite", milk.path),)))
    assert len(answered.wishes) == 1


def test_one_conversation_deletes_a_few_memories_at_most() -> None:
    gone = [Wish(draft("", f"{n}"), "forget", f"user/a/memories/preferences/{n}.md", b"h") for n in range(4)]
    answered = after(*gone)
    answered.read(Reading(tuple(gone)))
    assert (len(answered.wishes), len(answered.refused)) == (MAX_DELETES, 8 - MAX_DELETES)


@pytest.mark.parametrize(
    ("quote", "body", "covered"),
    [
        ("I prefer green tea", "Likes it best.", True),
        ("I prefer green tea.", "Likes it best.", True),
        ("green tea", "Prefers green tea.", True),
        # A few words are in many statements, and a long quote has several of them.
        ("I", "Something.", False),
        ("tea", "Has a teapot.", False),
        ("My dog is called Rex and I prefer green tea", "Has a dog called Rex.", False),
        ("My dog is called Rex and I prefer green tea", "Has a dog, and likes green tea.", True),
        ("I prefer black tea", "Prefers black tea.", False),
    ],
)
def test_a_statement_is_left_out_only_where_the_same_is_said(quote: str, body: str, covered: bool) -> None:
    told = draft(body, quote=quote)
    own = draft("Prefers green tea.", quote="I prefer green tea.")
    assert after(Wish(told)).covers(own) is covered
    kept = Answered()
    kept.read(Reading(kept=(told,)))
    assert kept.covers(own) is covered
    assert not after(Wish(Draft("preferences", "x", body, ("m2",), quote=quote))).covers(own)
