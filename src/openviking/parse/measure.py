"""Weighs any stretch of one text in tokens, in constant time after one linear pass.

Tokens are the estimate of ``openviking.text``. Characters of markup that no reader sees can be made to weigh less.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from openviking.text import token_weight

_BLOCK = 64
_HIDDEN = "\0"
_HIDDEN_WEIGHT = 0.1
_PLAIN_WEIGHT = 0.25


class Scale:
    """The token weights of ``text``; with ``visible`` ranges, all characters outside of them weigh 0.1."""

    def __init__(self, text: str, visible: Sequence[tuple[int, int]] = ()) -> None:
        self._masked = bool(visible)
        self._text = _mask(text, visible) if visible else text
        self._uniform = not visible and text.isascii()
        self._marks: list[float] = [0.0]
        self._known: dict[str, float] = {}
        if not self._uniform:
            total = 0.0
            for start in range(0, len(text), _BLOCK):
                total += self._raw(start, min(start + _BLOCK, len(text)))
                self._marks.append(total)

    def weight(self, start: int, end: int) -> float:
        """Unrounded tokens of the characters from ``start`` to ``end``."""
        if self._uniform:
            return (end - start) * _PLAIN_WEIGHT
        return self._upto(end) - self._upto(start)

    def advance(self, start: int, budget: float, end: int) -> int:
        """The last offset up to ``end`` such that the text from ``start`` to it weighs ``budget`` or less."""
        if self._uniform:
            return min(end, start + int(budget / _PLAIN_WEIGHT))
        goal = self._upto(start) + budget + 1e-6
        block = bisect_right(self._marks, goal) - 1
        at, total = block * _BLOCK, self._marks[block]
        if at >= end:
            return end
        for offset, char in enumerate(self._text[at : min(end, at + _BLOCK)], at):
            weight = self._known.get(char)
            if weight is None:
                weight = self._known[char] = self._raw(offset, offset + 1)
            total += weight
            if total > goal:
                return max(start, offset)
        return min(end, at + _BLOCK)

    def _upto(self, offset: int) -> float:
        block = offset // _BLOCK
        return self._marks[block] + self._raw(block * _BLOCK, offset)

    def _raw(self, start: int, end: int) -> float:
        piece = self._text[start:end]
        weight = token_weight(piece)
        if self._masked:
            weight -= (_PLAIN_WEIGHT - _HIDDEN_WEIGHT) * piece.count(_HIDDEN)
        return weight


def _mask(text: str, visible: Sequence[tuple[int, int]]) -> str:
    """``text`` with every character outside of ``visible`` replaced by NUL, of the same length."""
    parts: list[str] = []
    at = 0
    for start, end in visible:
        parts.append(_HIDDEN * (start - at))
        parts.append(text[start:end].replace(_HIDDEN, " "))
        at = end
    parts.append(_HIDDEN * (len(text) - at))
    return "".join(parts)
