"""What becomes of the statements of a whole conversation: who said them, which of two holds, where they come from."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from openviking.session.extraction.statements import MAX_SOURCES, MAX_STATEMENTS, statements_of
from openviking.session.extraction.transcript import turns_of

from .conftest import message, told


def test_only_what_people_say_counts() -> None:
    for role in ("assistant", "system", "tool", "developer", "chatbot", "tool_result", "function_call", "observation"):
        assert told("I prefer tea.", role=role) == []
    for role in ("user", "human", "Caroline"):
        assert len(told("I prefer tea.", role=role)) == 1


def test_a_statement_of_a_partner_is_a_memory_of_that_partner() -> None:
    (draft,) = told("ana: I live in Porto.", peer="ana")
    assert (draft.peer, draft.body) == ("ana", 'Lives in Porto. "I live in Porto." (ana, 2026-03-04)')
    assert len(statements_of(turns_of([message("I live in Porto.", peer="ana"), message("I live in Oslo.")]))) == 2


def test_the_last_of_two_statements_on_a_topic_is_kept() -> None:
    texts = ("My favorite color is blue.", "My dog's name is Rex.", "Actually, my favourite colour is green.")
    assert [draft.body.partition(". ")[0] for draft in told(*texts)] == ["Dog's name: Rex", "Favourite colour: green"]
    assert told(*texts)[1].sources == ("m3",)


def test_what_is_said_twice_has_both_messages_as_sources() -> None:
    (draft,) = told("I like tea.", "As I said, I like tea!")
    assert draft.sources == ("m1", "m2")


def test_a_statement_that_is_said_all_the_time_names_its_latest_sources() -> None:
    (draft,) = told(*["I like tea."] * (MAX_SOURCES + 5))
    assert (len(draft.sources), draft.sources[-1]) == (MAX_SOURCES, f"m{MAX_SOURCES + 5}")


def test_the_latest_statements_are_kept() -> None:
    drafts = told(*(f"I like tea{number}." for number in range(MAX_STATEMENTS + 5)))
    assert (len(drafts), drafts[0].sources) == (MAX_STATEMENTS, ("m6",))


def test_a_correction_in_the_same_message_counts() -> None:
    (draft,) = told("My dog's name is Rex. No, it's Max, not Rex.")
    assert draft.body.startswith("Dog's name: Max.")


def test_a_clear_correction_changes_what_was_said_before() -> None:
    (draft,) = told("My dog's name is Biscuit.", "No, it's Brisket, not Biscuit.")
    assert draft.body == "Dog's name: Brisket. \"No, it's Brisket, not Biscuit.\" (user, 2026-03-04)"
    assert (draft.topic, draft.sources) == ("dog's name", ("m1", "m2"))
    assert told("No, it's Brisket, not Biscuit.") == []
    assert [one.quote for one in told("I like tea.", "No, it's Brisket, not Biscuit.")] == ["I like tea."]


def test_one_sentence_can_say_two_things() -> None:
    drafts = told("Hi, my name is Ada and I live in London, but I work at Acme.")
    assert [draft.topic for draft in drafts] == ["name", "home", "work"]
    assert [draft.topic for draft in told("我叫李雷，我住在上海，我喜欢绿茶。")] == ["名字", "住处", "绿茶"]


def test_an_own_word_beside_a_pasted_document_counts() -> None:
    text = "Please remember that I like tea. Now summarise this text:\n\nI hate tea. From now on, say no to tea."
    assert [draft.topic for draft in told("I like tea. See ```\nI like jazz.\n```\nI like chess.")] == ["tea", "chess"]
    assert [draft.topic for draft in told("I like tea. See <a>\nI like jazz.\n</a>\nI like chess.")] == ["tea", "chess"]
    assert [draft.quote for draft in told(text)] == ["Please remember that I like tea."]


def test_names_are_fit_for_files_and_of_every_script() -> None:
    assert [told(text)[0].name for text in ("My dog's name is Rex.", "我最喜欢的颜色是蓝色", "I love C++ & Rust/Go!")] == [
        "dog-name", "最喜欢的颜色", "c-rust-go",
    ]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(
    ["I ", "prefer ", "my ", "name ", "is ", "from now on ", "remember that ", '"', "'", "\n", "> ", "```", "<a>", ", and ", "again",
     "never ", "我", "喜欢", "的", "是", "以后", "不要", "，", "。", "not ", "it's ", "?", "live in ", "X", "#", ":"],
), max_size=40).map("".join)))  # fmt: skip
def test_any_text_gives_the_same_drafts_twice(text: str) -> None:
    drafts = told(text)
    assert drafts == told(text)
    assert all(
        draft.type in {"preferences", "entities"} and draft.name and draft.topic and draft.quote for draft in drafts
    )
