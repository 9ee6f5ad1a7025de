"""What of a conversation may be learned from, and what is left out of it."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openviking.context.rendering import attribute, defused
from openviking.session.extraction.transcript import LEFT_OUT, turns_of, without_recalled

from .conftest import message

BLOCK = '<memory uri="viking://user/a/memories/preferences/tea.md" type="preferences" score="0.91" detail="full">\nLikes tea.\n</memory>'
DIGEST = "OpenViking memory digest:\n- Likes tea. source: viking://user/a/memories/preferences/tea.md\n* Lives in Oslo. source: viking://user/a/x.md"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{BLOCK}\nMy cat is called Tom.", f"{LEFT_OUT}\nMy cat is called Tom."),
        (f"Before. {BLOCK} After.", f"Before. {LEFT_OUT} After."),
        (f"{BLOCK}\n{BLOCK}\n\nHi", f"{LEFT_OUT}\n\nHi"),
        ('<memory uri="viking://resources/a.md" type="resources" score="0.50" detail="uri" /> Hi', f"{LEFT_OUT} Hi"),
        (f'<MEMORY uri="x">\n{defused("a </memory> <memory> b")}\n</Memory> c', f"{LEFT_OUT} c"),
        (f'<memory uri="{attribute("viking://a<>b.md")}" type="x">y</memory> c', f"{LEFT_OUT} c"),
        ('Hi <memory uri="viking://a">cut off, I prefer tea', f"Hi {LEFT_OUT}"),
        ("Hi <memory uri='viking://a' type=events>I prefer tea</memory>", f"Hi {LEFT_OUT}"),
        ("> " + BLOCK.replace("\n", "\n> ") + "\nHi", f"> {LEFT_OUT}\nHi"),
        ("<relevant-memories>\n- Likes tea\n</relevant-memories>\nHi", f"{LEFT_OUT}\nHi"),
        (f"{DIGEST}\n\nMy cat is called Tom.", f"{LEFT_OUT}\n\nMy cat is called Tom."),
        ("> " + DIGEST.replace("\n", "\n> ") + "\nHi", f"{LEFT_OUT}\nHi"),
        ("See:\n- Likes tea. source: viking://user/a/tea.md\nHi", f"See:\n{LEFT_OUT}\nHi"),
        ("- 喜欢茶 来源：viking://user/a/tea.md\n你好", f"{LEFT_OUT}\n你好"),
        ("I have a memory of <memory leaks> in C.", "I have a memory of <memory leaks> in C."),
        ("My memory is bad.", "My memory is bad."),
        ("Look at viking://resources/a.md", "Look at viking://resources/a.md"),
    ],
)
def test_recalled_memories_are_left_out_of_a_text(text: str, left: str) -> None:
    (turn,) = turns_of([message(text)])
    assert turn.text == left


def test_of_a_message_its_words_are_kept_and_what_tools_and_memories_brought_is_not() -> None:
    parts = (
        {"type": "context", "uri": "viking://user/a/memories/preferences/tea.md", "context_type": "memory", "abstract": "Likes tea."},
        {"type": "text", "text": "I'll order tea."},
        {"type": "tool", "tool_id": "1", "tool_name": "shop", "tool_status": "completed", "tool_output": "I prefer milk."},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    )  # fmt: skip
    (turn,) = turns_of([message(role="assistant", peer="ana", parts=parts)])
    assert (turn.text, turn.tools, turn.words) == (f"{LEFT_OUT}\nI'll order tea.", ("shop",), "I'll order tea.")
    assert (turn.id, turn.role, turn.speaker, turn.day, turn.is_persons) == (
        "m1",
        "assistant",
        "ana",
        "2026-03-04",
        False,
    )


def test_what_repeats_the_abstract_of_a_recalled_memory_is_left_out() -> None:
    said = "The user likes tea with lemon and no sugar."
    parts = ({"type": "context", "uri": "viking://user/a/t.md", "context_type": "memory", "abstract": said},)
    turns = turns_of(
        [message(role="assistant", parts=parts), message(f"You know: {said} And I am new here.", number=2)]
    )
    assert [turn.text for turn in turns] == [LEFT_OUT, f"You know: {LEFT_OUT} And I am new here."]


def test_messages_of_the_system_and_of_tools_are_left_out_and_secrets_are_masked() -> None:
    given = [
        message("Obey.", role="system"),
        message("x", role="tool"),
        message(""),
        message("key sk-abcdefghijklmnopqrstuvwx", number=4),
    ]
    assert [(turn.id, turn.text) for turn in turns_of(given)] == [("m4", "key [masked: API key]")]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["<memory", ' a="', '"', ">", "/>", "</memory>", "x", "\n", "- ", "OpenViking memory digest:", " source: viking://a"]),
                max_size=30).map("".join))  # fmt: skip
def test_leaving_out_twice_changes_nothing(text: str) -> None:
    left = without_recalled(text)
    assert without_recalled(left) == left


@pytest.mark.parametrize(
    "piece",
    [
        "<memory ",
        '<memory a="',
        "<memory a='",
        "<memory a=",
        "</memory>",
        '<memory a="">',
        "OpenViking memory digest:\n- ",
        "\n> ",
        "- x source: viking://",
    ],
)
def test_no_text_takes_more_than_its_length(piece: str) -> None:
    text = '<memory a="">memory viking://' + piece * (200_000 // len(piece))
    began = process_time()
    without_recalled(text)
    assert process_time() - began < 0.3
