"""Lines that match a regular expression: grep's matching, exact per line, interruptible, fast on whole texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import regex

from openviking.errors import InvalidArgumentError
from openviking.index.match_budget import MatchBudget, MatchMeter, TooSlowError
from openviking.index.unrolling import fault_of_size
from openviking.text import quoted

MAX_PATTERN_CHARS: Final = 9_999

# The engine looks at its clock about once in a thousand starting positions, so a call overruns its timeout by up to
# a thousand times the length of what one attempt runs over: blocks, and the first look at a long line, stay short.
_BLOCK_CHARS: Final = 65_536
_BLOCK_LIMIT_S: Final = 0.05
_TRUSTED_FAILURES: Final = 2

_QUANTIFIER = re.compile(r"\{(?=[0-9,])[0-9]*(?:,[0-9]*)?\}")
_BRACED_ESCAPE = re.compile(r"\\[NpP]\{[^{}]*\}")
_SAFE_GROUP = re.compile(r"\(\?(?::|P<|P=|[aimu]+[:)])")
_SAFE_ESCAPES: Final = frozenset("dDwWsSbBntrfvaxuU0123456789")
_SPECIAL: Final = frozenset(".^$*+?[()|")


class LineMatch(NamedTuple):
    """A line that matches: its number (0-based) and the offsets of its first character and of its end.

    The text of the line is ``text[start:end]``; its ``\\n`` stands at ``end``, unless it is the last line and has none.
    """

    number: int
    start: int
    end: int


class LinePattern:
    """A compiled pattern for single lines: the dialect of `re`, on the `regex` engine, which can be stopped.

    ``\\n`` is the only line separator and belongs to no line, so nothing in a pattern matches it. Classes such as
    ``\\w`` follow the Unicode tables of the `regex` package, and what only that package knows (``\\p{Han}``,
    ``[[:alpha:]]``) works too. A brace that is no quantifier is a literal, as in `re`; fuzzy matching does not exist.

    Raises `InvalidArgumentError` that names the fault for a pattern that is empty, has 10,000 characters or more, or
    does not compile.
    """

    def __init__(self, pattern: object, *, case_insensitive: bool = False) -> None:
        if not isinstance(pattern, str):
            raise InvalidArgumentError(f"pattern must be a string, not {type(pattern).__name__}", field="pattern")
        if not pattern:
            raise InvalidArgumentError("pattern must not be empty", field="pattern")
        if len(pattern) > MAX_PATTERN_CHARS:
            raise InvalidArgumentError(
                f"pattern has {len(pattern)} characters, at most {MAX_PATTERN_CHARS} are allowed", field="pattern"
            )
        self.pattern = pattern
        spelled, literal, scannable = _translate(pattern)
        flags = regex.V0 | (regex.IGNORECASE if case_insensitive else 0)
        self._line: Any = _compile(pattern, spelled, flags)
        self._literal = None if case_insensitive else literal
        self._scan: Any = _compile(pattern, spelled, flags | regex.MULTILINE) if scannable else None

    @property
    def literal(self) -> str | None:
        """The text that a line has to contain, where the pattern is nothing else; None for other patterns."""
        return self._literal

    def matching_lines(self, text: str, budget: MatchBudget | None = None) -> Iterator[LineMatch]:
        """The lines of ``text`` that match, ascending; a final ``\\n`` ends the last line and adds none.

        Work is done block by block as the caller takes lines, so stopping early saves the rest. Raises
        `DeadlineExceededError` that names the pattern once ``budget`` (default: one second for this text alone) is
        used up, and `ResourceExhaustedError` where the engine needs too much memory.
        """
        budget = budget or MatchBudget()
        number = 0
        counted = 0
        for start, end in _blocks(text):
            for line_start, line_end in self._matches_in_block(text, start, end, budget):
                number += text.count("\n", counted, line_start)
                counted = line_start
                yield LineMatch(number, line_start, line_end)

    def _matches_in_block(self, text: str, start: int, end: int, budget: MatchBudget) -> list[tuple[int, int]]:
        if self._literal is not None:
            return list(_lines_with(self._literal, text, start, end))
        with MatchMeter(budget, self.pattern, end - start) as meter:
            stop = end - 1 if text[end - 1] == "\n" else end
            several = text.find("\n", start, stop) >= 0
            if several and self._scan is not None and budget.scan_failures <= _TRUSTED_FAILURES:
                meter.allow(stop - start)
                try:
                    found = list(self._scanned(text[start:stop], meter))
                except TooSlowError:
                    # One attempt may run over the lines that follow; line by line the pattern may be harmless.
                    budget.scan_failures += 1
                else:
                    return [(start + first, start + last) for first, last in found]
            return [(first, last) for first, last in _lines(text, start, stop) if self._hits(text[first:last], meter)]

    def _scanned(self, block: str, meter: MatchMeter) -> Iterator[tuple[int, int]]:
        # Without look-around a match inside of one line is a match of that line alone, and a line that matches alone
        # has a match that starts in it here: so only a match that runs into the next line is looked at again.
        position = 0
        while position <= len(block):
            meter.allow(0)
            found = meter.search(self._scan, block, position, _BLOCK_LIMIT_S)
            if found is None:
                return
            first = block.rfind("\n", position, found.start()) + 1 or position
            last = block.find("\n", found.start())
            last = len(block) if last < 0 else last
            if found.end() <= last or self._hits(block[first:last], meter):
                yield first, last
            position = last + 1

    def _hits(self, line: str, meter: MatchMeter) -> bool:
        meter.allow(len(line))
        try:
            size = _BLOCK_CHARS
            while size < len(line):
                # A pattern that is slow on a long line shows it at the beginning, where a call can be stopped.
                meter.search(self._line, line[:size], 0)
                size *= 2
            return meter.search(self._line, line, 0) is not None
        except TooSlowError:
            raise meter.exceeded() from None


def _compile(pattern: str, spelled: str, flags: int) -> Any:
    fault = fault_of_size(spelled)
    try:
        if not fault:
            return regex.compile(spelled, flags)
    except RecursionError:
        fault = "its groups are nested too deeply"
    except (regex.error, OverflowError, ValueError) as error:
        fault = str(error)
    raise InvalidArgumentError(f"pattern {quoted(pattern)} does not compile: {fault}", field="pattern")


def _translate(pattern: str) -> tuple[str, str | None, bool]:
    """The pattern as `regex` must see it; the text it stands for if it is a literal; whether it may scan blocks.

    A block may be scanned unless some construct sees beyond a match (look-around, ``\\A``) or forbids the engine to
    find another way to match (atomic and possessive groups, conditions, verbs). Inside of a character class a sign
    may be taken for such a construct; that costs speed, never a match.
    """
    spelled: list[str] = []
    literal: list[str] | None = []
    scannable = True
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            braced = _BRACED_ESCAPE.match(pattern, position)
            piece = braced[0] if braced else pattern[position : position + 2]
            kind = piece[1:2]
            scannable = scannable and bool(braced or kind in _SAFE_ESCAPES or not (kind.isascii() and kind.isalnum()))
            if literal is not None and kind and not kind.isalnum():
                literal.append(kind)
            else:
                literal = None
        elif char == "{":
            quantifier = _QUANTIFIER.match(pattern, position)
            if quantifier:
                piece, literal = quantifier[0], None
                scannable = scannable and pattern[quantifier.end() : quantifier.end() + 1] != "+"
            else:
                spelled.append("\\")
                piece = char
                if literal is not None:
                    literal.append(char)
        else:
            piece = char
            follower = pattern[position + 1 : position + 2]
            if char == "(" and follower in {"?", "*"}:
                scannable = scannable and bool(_SAFE_GROUP.match(pattern, position))
            elif char in "*+?" and follower == "+":
                scannable = False
            if char in _SPECIAL:
                literal = None
            elif literal is not None:
                literal.append(char)
        spelled.append(piece)
        position += len(piece)
    return "".join(spelled), None if literal is None else "".join(literal), scannable


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Ranges of whole lines, each of at least 64 Ki characters but the last, with their final ``\\n``."""
    start = 0
    while start < len(text):
        newline = text.find("\n", min(start + _BLOCK_CHARS, len(text)) - 1)
        end = len(text) if newline < 0 else newline + 1
        yield start, end
        start = end


def _lines(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    while True:
        newline = text.find("\n", start, stop)
        if newline < 0:
            yield start, stop
            return
        yield start, newline
        start = newline + 1


def _lines_with(needle: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if "\n" in needle:
        return
    while True:
        found = text.find(needle, start, end)
        if found < 0:
            return
        first = text.rfind("\n", start, found) + 1 or start
        last = text.find("\n", found, end)
        last = end if last < 0 else last
        yield first, last
        start = last + 1
