"""The token estimate, lines, shortening, and what messages show."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openviking.text import (
    counted,
    estimate_tokens,
    quoted,
    seconds_told,
    shorten,
    split_lines,
    token_weight,
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=60)
WIDE = [
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2EBEF), (0x3040, 0x30FF), (0x31F0, 0x31FF),
    (0xAC00, 0xD7AF), (0x1100, 0x11FF), (0x3130, 0x318F), (0xFF00, 0xFFEF), (0x3000, 0x303F),
]  # fmt: skip


def weight_by_the_table(text: str) -> float:
    total = 0.0
    for char in text:
        code = ord(char)
        if any(low <= code <= high for low, high in WIDE):
            total += 1.5
        else:
            total += 2.0 if code > 0xFFFF else 0.25
    return total


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 3),
        ("你好世界", 6),
        ("OAuth 登录", 5),
        ("🚀", 2),
        ("a" * 400, 100),
        ("é", 1),
        ("안녕", 3),
    ],
)
def test_the_examples_of_the_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("code", [edge + step for pair in WIDE for edge in pair for step in (-1, 0, 1)])
def test_the_edges_of_every_range(code: int) -> None:
    assert token_weight(chr(code)) == weight_by_the_table(chr(code))


@given(ANY_TEXT | st.text("a中🚀\U00020000é\ud800"), ANY_TEXT)
def test_the_estimate_is_the_table_and_adds_up(first: str, second: str) -> None:
    assert token_weight(first) == weight_by_the_table(first)
    assert token_weight(first + second) == token_weight(first) + token_weight(second)
    assert estimate_tokens(first) == math.ceil(token_weight(first))


@pytest.mark.parametrize("unit", ["a", "中", "é", "中a", "🚀", "𠀀a"])
def test_the_estimate_takes_time_linear_in_the_text(unit: str) -> None:
    def cost(size: int) -> float:
        text = unit * (size // len(unit))
        began = time.thread_time()
        token_weight(text)
        return time.thread_time() - began

    small = min(cost(20_000) for _ in range(3))
    assert min(cost(200_000) for _ in range(3)) < 40 * small + 0.005


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("\n", [""]),
        ("a\n\n", ["a", ""]),
        ("a\r\nb\x0bc\u2028d", ["a\r", "b\x0bc\u2028d"]),
    ],
)
def test_only_a_newline_ends_a_line(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


@given(st.text("a\n\r", max_size=10))
def test_lines_joined_are_the_text(text: str) -> None:
    assert "".join(f"{line}\n" for line in split_lines(text)) == (
        text if text.endswith("\n") or not text else text + "\n"
    )


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [
        ("short", 5, "short"),
        ("", 0, ""),
        ("abc", 0, ""),
        ("abc", -1, ""),
        ("abc", 1, "…"),
        ("abcdef", 4, "abc…"),
        ("one two three", 9, "one two…"),
        ("one two three", 8, "one two…"),
        ("line one\nline two", 9, "line one…"),
        ("cafe\u0301s", 5, "caf…"),
        ("ab👩\u200d👩\u200d👧x", 6, "ab…"),
    ],
)
def test_a_short_form_ends_where_a_reader_would_end_it(text: str, limit: int, short: str) -> None:
    assert shorten(text, limit) == short


@given(ANY_TEXT, st.integers(-2, 70))
@example("e" + "\u0301" * 500, 300)
@example("\u200d" * 500, 300)
def test_a_short_form_never_exceeds_its_limit(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= max(limit, 0)
    assert short == text or not short or (short[-1] == "…" and text.startswith(short[:-1]))


@given(st.one_of(ANY_TEXT, st.integers(), st.lists(ANY_TEXT), st.none()), st.integers(5, 80))
@example("x" * 10_000, 80)
def test_what_a_message_shows_is_short_and_fits_every_encoding(value: object, limit: int) -> None:
    shown = quoted(value, limit)
    shown.encode()
    assert "\n" not in shown
    assert len(shown) <= 10 * limit + 3


def test_counts_and_durations_as_people_read_them() -> None:
    assert [counted(count, "vectors") for count in (0, 1, 2, 1000)] == [
        "0 vectors",
        "1 vector",
        "2 vectors",
        "1,000 vectors",
    ]
    told = [seconds_told(seconds) for seconds in (60, 58.6616, 1.0, 0.254, 0.0, 86400.0)]
    assert told == ["60 s", "58.7 s", "1 s", "0.25 s", "0 s", "86400 s"]
