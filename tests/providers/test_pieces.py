"""Cutting texts, and putting them into requests."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.providers.pieces import MAX_REQUEST_BYTES, beginning, group_end, sendable, windows
from openviking.providers.retry import retry_after_of
from openviking.text import token_weight

ANY = st.text(st.sampled_from("ab c\n漢字𝒳é "), max_size=300)


@given(ANY, st.integers(2, 40))
def test_windows_add_up_and_fit(text: str, tokens: int) -> None:
    found = windows(text, tokens)
    assert "".join(found) == text
    assert all(token_weight(one) <= tokens for one in found)
    assert all(found) or found == [""]
    assert found[0] == beginning(text, tokens)


def test_windows_are_cut_between_words() -> None:
    assert windows("one two three four", 2) == ["one two ", "three ", "four"]
    assert windows("x" * 20, 2) == ["x" * 8, "x" * 8, "x" * 4]


def test_a_window_of_nothing_takes_a_character_all_the_same() -> None:
    assert windows("漢字", 1) == ["漢", "字"]


@given(st.lists(st.integers(1, 400_000), max_size=12), st.integers(1, 5))
def test_requests_are_bounded_and_go_on(sizes: list[int], size: int) -> None:
    texts = ["x" * one for one in sizes]
    start = 0
    while start < len(texts):
        end = group_end(texts, start, size)
        assert start < end <= start + size
        assert end == start + 1 or sum(sizes[start:end]) <= min(MAX_REQUEST_BYTES, 240_000)
        start = end


@given(st.text(st.characters()))
def test_whatever_is_sent_is_utf_8(text: str) -> None:
    sent = sendable(text + "\ud800")
    assert sent.encode().decode().endswith("\ufffd")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("2", 2),
        (" 0.5 ", 0.5),
        ("-3", 0),
        ("1e9", 600),
        ("inf", 600),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Mon, 30 Nov 2026 12:00:30 GMT", 30),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0),
        ("Mon, 30 Nov 2026 12:00:30", 30),
        ("Mon, 30 Nov 9999999 12:00:30 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_of(value, now=datetime(2026, 11, 30, 12, tzinfo=UTC)) == seconds
