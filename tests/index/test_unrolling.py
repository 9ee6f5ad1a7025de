"""What a regular expression becomes is known before it takes the memory."""

from __future__ import annotations

import pytest
import regex

from openviking.errors import InvalidArgumentError
from openviking.index.filter import parse_filter
from openviking.index.line_pattern import LinePattern
from openviking.index.unrolling import MAX_PARTS, fault_of_size, parts

HUGE = (
    "(?:(?:(?:ab|cd){100}){100}){100}", "(?:(?:(?:a{500}){500}){500}){500}", "a{9999999999999}", "(?:a+){10001}",
    "(?:(?:(?:[a-z]){100,}){100,}){2,}", "((((a{99}){99}){99}){99})", "(?P<n>(?:\\d{1000}){1000})", "(?:\\p{Lu}{101}){100}",
)  # fmt: skip
FINE = (
    "", "a", "a{1000}", "[a-z]{3,5}", "(?:\\d{1,3}\\.){3}\\d{1,3}", "a{0,100000}", "(?:(?:a{0,500}){0,500}){0,500}", "\\(\\({99}",
    "[{99999}]", "[]{99999}]", "x" * 4_096, "(?#{99999}) a", "(a|b)*c+?", "\\p{L}{100}", ")" * 50, "(" * 100, "{99999}", "a{,99999}",
)  # fmt: skip


@pytest.mark.parametrize("pattern", HUGE)
def test_what_becomes_huge_is_refused_at_once(pattern: str) -> None:
    assert f"more than {MAX_PARTS:,} parts" in fault_of_size(pattern)
    with pytest.raises(InvalidArgumentError, match="does not compile: its counted repetitions"):
        LinePattern(pattern)
    with pytest.raises(InvalidArgumentError, match="does not compile: its counted repetitions"):
        parse_filter({"op": "regex", "field": "uri", "pattern": pattern}, lambda uri: uri, "default")


@pytest.mark.parametrize("pattern", FINE, ids=lambda pattern: pattern[:12])
def test_what_stays_small_is_not(pattern: str) -> None:
    assert fault_of_size(pattern) == ""


def test_groups_that_are_nested_too_deeply() -> None:
    for pattern in ("(" * 101 + ")" * 101, "(?:" * 1_000 + ")" * 1_000):
        with pytest.raises(InvalidArgumentError, match="nested more than 100 deep"):
            LinePattern(pattern)
    regex.compile("(?:" * 100 + "a" + ")" * 100)


def test_parts_are_counted() -> None:
    assert [parts(one) for one in ("ab", "(?:ab){3}", "a{2}b", "(a|b){2}", "a{2,9}", "(?:a{2}){3}")] == [
        2,
        9,
        3,
        8,
        2,
        9,
    ]
