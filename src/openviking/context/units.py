"""Divides a text into what is shown of it whole or not at all: lines of prose and talk, blocks of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from openviking.text import split_lines, token_weight

Kind = Literal["prose", "code", "table"]
"""What a text is made of: lines that stand for themselves, blocks of lines, or rows below a first line that names them."""

LOOKED_AT: Final = 64 * 1024
"""Characters of a text that are looked at: whole lines around the passage that it was found by."""

SHORT: Final = 32
"""A line counts as so many characters at least: there is work for each."""

BLOCK: Final = 150.0
"""Estimated tokens up to which a block of code takes in what is indented below it; a longer one is shown by lines."""

WRAPPED: Final = range(40, 160)
"""Of so many characters is a line of prose that goes on in the next one, if it ends without a full stop."""

_GOES_ON: Final = re.compile(r"[\w,;(&–-]\Z")
_STARTS_ANEW: Final = re.compile(r"\s*(?:[#>|*+`~=<-]|\d+[.)]|\w[\w .'-]{0,40}: )")
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]")
_LINE_END: Final = token_weight("\n")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Unit:
    """Some lines of a text, without the blank ones around them: ``first`` and ``last`` count from 1.

    ``following`` is the next line that is not blank, 0 if there is none. ``weight`` is their token estimate, unrounded,
    with the end of the last line.
    """

    text: str
    first: int
    last: int
    following: int
    weight: float

    def follows(self, other: Unit) -> bool:
        """Whether nothing but blank lines is left out between ``other`` and this."""
        return other.following == self.first


def units_of(text: str, kind: Kind = "prose", around: Span | None = None) -> list[Unit]:
    """The units of ``text`` in order; of a long one those ``around`` some of its lines."""
    lines = split_lines(text)
    start, end = _window(lines, around)
    spans = list(_blocks(lines, start, end) if kind == "code" else _sentences(lines, start, end, kind))
    units = []
    for number, (first, last) in enumerate(spans):
        piece = "\n".join(line.rstrip() for line in lines[first : last + 1])
        following = spans[number + 1][0] + 1 if number + 1 < len(spans) else 0
        units.append(Unit(piece, first + 1, last + 1, following, token_weight(piece) + _LINE_END))
    return units


def _window(lines: Sequence[str], around: Span | None) -> Span:
    """Which lines are looked at, as a half-open range: whole lines of `LOOKED_AT` characters, and one at least."""
    start = end = min(max(around[0] - 1, 0), len(lines)) if around else 0
    room = LOOKED_AT
    while room > 0 and (start > 0 or end < len(lines)):
        if end < len(lines):
            room -= max(len(lines[end]) + 1, SHORT)
            end += 1
        if start > 0 and room > 0:
            start -= 1
            room -= max(len(lines[start]) + 1, SHORT)
    return start, end


def _sentences(lines: Sequence[str], start: int, end: int, kind: Kind) -> Iterator[Span]:
    """Lines that are not blank; those that a wrapped sentence fills belong together, and a heading to what it heads."""
    first: int | None = None
    for number in range(start, end):
        line = lines[number].rstrip()
        if not line:
            continue
        first = number if first is None else first
        if kind == "prose" and _HEADING.match(line):
            continue
        following = lines[number + 1] if number + 1 < end else ""
        if kind == "prose" and _continues(line, following):
            continue
        yield first, number
        first = None
    if first is not None:
        last = max(number for number in range(first, end) if lines[number].strip())
        yield first, last


def _continues(line: str, following: str) -> bool:
    """Whether a sentence goes on in the next line, because it was wrapped."""
    return (
        len(line) in WRAPPED
        and _GOES_ON.search(line) is not None
        and bool(following.strip())
        and _STARTS_ANEW.match(following) is None
    )


def _blocks(lines: Sequence[str], start: int, end: int) -> Iterator[Span]:
    """Runs of lines between blank ones, each with the runs after it that are indented more, as far as `BLOCK` allows."""
    first = last = -1
    weight, indent = 0.0, 0
    for run_start, run_end in _runs(lines, start, end):
        size = sum(token_weight(line) + _LINE_END for line in lines[run_start : run_end + 1])
        deep = _indent(lines[run_start])
        if first >= 0 and deep > indent and weight + size <= BLOCK:
            last, weight = run_end, weight + size
            continue
        if first >= 0:
            yield first, last
        if size > BLOCK:
            yield from ((one, one) for one in range(run_start, run_end + 1))
            first = -1
        else:
            first, last, weight, indent = run_start, run_end, size, deep
    if first >= 0:
        yield first, last


def _runs(lines: Sequence[str], start: int, end: int) -> Iterator[Span]:
    """Lines without a blank one between them."""
    first: int | None = None
    for number in range(start, end):
        if lines[number].strip():
            first = number if first is None else first
        elif first is not None:
            yield first, number - 1
            first = None
    if first is not None:
        yield first, end - 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
