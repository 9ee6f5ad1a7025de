"""What an archive's overview keeps of a conversation, and what a context of few tokens keeps of that."""

from __future__ import annotations

import pytest

from openviking.model.message import Message
from openviking.parse.telling import telling
from openviking.session.summary import OVERVIEW_CHARS, overview_of, shortened
from openviking.text import estimate_tokens

from .conftest import ALICE, Desk


def message(number: int, text: str, role: str = "user") -> Message:
    return Message(f"m{number}", role, ({"type": "text", "text": text},), "2026-01-01T00:00:00.000Z")


def test_a_conversation_that_has_room_is_kept_whole(desk: Desk) -> None:
    said = "Good morning. I moved to Lisbon in 2019. Never send mail to my old address! What is the deadline?"
    desk.say("s", said)
    desk.say("s", "Noted. The deadline is May 3. Anything else?", role="assistant")
    desk.sessions.commit(ALICE, "s")
    desk.work()
    context = desk.sessions.context(ALICE, "s")
    assert (
        f"- user: {said}\n- assistant: Noted. The deadline is May 3. Anything else?"
        in context["latest_archive_overview"]
    )
    assert context["messages"] == []
    assert context["stats"]["archiveTokens"] == context["estimatedTokens"] > 25


def test_of_an_overview_as_much_is_given_as_has_room(desk: Desk) -> None:
    desk.say("s", *(f"I saw {number} penguins on the ice today." for number in range(20)))
    desk.sessions.commit(ALICE, "s")
    desk.work()
    full = desk.sessions.context(ALICE, "s")["estimatedTokens"]
    small = desk.sessions.context(ALICE, "s", full // 2)
    assert full // 4 < small["estimatedTokens"] <= full // 2
    assert small["latest_archive_overview"].endswith("I saw 19 penguins on the ice today.")
    assert "more messages" in small["latest_archive_overview"]
    assert (small["stats"]["droppedArchives"], desk.sessions.context(ALICE, "s", 3)["stats"]["droppedArchives"]) == (
        0,
        1,
    )


def test_of_a_long_message_what_tells_most_is_kept() -> None:
    filler = "And then we talked about this and that for quite a while without any result. "
    text = filler * 20 + "My brother Tobias has 14 goats. " + filler * 20 + "Which one should I take? " + filler * 20
    many = [message(number, f"Number {number} begins. {text}") for number in range(24)]
    told = overview_of(many)
    assert len(told) <= OVERVIEW_CHARS
    for number in range(24):
        assert f"Number {number} begins." in told
    assert told.count("Tobias has 14 goats.") == told.count("Which one should I take?") == 24


@pytest.mark.parametrize("tokens", [0, 1, 20, 100, 1_000, 3_999])
def test_a_shortened_overview_fits(tokens: int) -> None:
    told = overview_of([message(number, f"message {number} über 価格 " * 30) for number in range(500)])
    assert len(told) <= OVERVIEW_CHARS
    cut = shortened(told, tokens)
    assert estimate_tokens(cut) <= tokens
    assert bool(cut) == (tokens >= 100)


@pytest.mark.parametrize("text", ["", "x" * 900, "Short one. " * 90, "没有空格的句子。" * 200, "? ! . " * 300])
@pytest.mark.parametrize("limit", [60, 61, 240, 5_000])
def test_no_more_is_told_than_has_room(text: str, limit: int) -> None:
    told = telling(text, limit)
    assert len(told) <= limit
    assert (told == text) == (len(text) <= limit)
