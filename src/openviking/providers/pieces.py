"""Texts cut into pieces that a model can read, and pieces put together into requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openviking.text import token_weight

MAX_REQUEST_TOKENS: Final = 60_000
MAX_REQUEST_BYTES: Final = 1_000_000


def windows(text: str, tokens: int) -> list[str]:
    """``text`` in pieces of at most ``tokens`` estimated tokens that add up to it, cut between words where there are any."""
    pieces = []
    start = 0
    while start < len(text):
        end = _reach(text, start, tokens)
        pieces.append(text[start:end])
        start = end
    return pieces or [text]


def beginning(text: str, tokens: int) -> str:
    """As much of the start of ``text`` as ``tokens`` allow."""
    return text[: _reach(text, 0, tokens)]


def group_end(texts: Sequence[str], start: int, size: int) -> int:
    """Where a request that begins with ``texts[start]`` ends: at most ``size`` texts, and not too many tokens or bytes."""
    tokens = width = 0.0
    for number in range(start, min(start + size, len(texts))):
        tokens += token_weight(texts[number])
        width += len(texts[number].encode())
        if number > start and (tokens > MAX_REQUEST_TOKENS or width > MAX_REQUEST_BYTES):
            return number
    return min(start + size, len(texts))


def sendable(text: str) -> str:
    """``text`` as JSON in UTF-8 can hold it: a lone surrogate becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _reach(text: str, start: int, tokens: int) -> int:
    """Where a piece that begins at ``start`` ends."""
    # No character weighs less than a quarter of a token.
    low, high = start + 1, min(start + 4 * tokens, len(text))
    while low < high:
        middle = (low + high + 1) // 2
        if token_weight(text[start:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    if low >= len(text):
        return len(text)
    earliest = start + (low - start) // 2
    return next((place for place in range(low, earliest, -1) if text[place - 1].isspace()), low)
