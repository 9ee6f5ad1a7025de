"""Cutting long texts: into pieces that a tokenizer takes in one go, and tokens into windows that a model can read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence


def pieces(text: str, size: int) -> Iterator[str]:
    """``text`` in pieces of at most ``size`` characters that join to the whole.

    A cut falls before a blank or a line break where there is one in the second half of a piece. There it changes no
    token of a tokenizer that splits at white space first.
    """
    start = 0
    while len(text) - start > size:
        middle, end = start + size // 2, start + size
        cut = max(text.rfind(" ", middle, end), text.rfind("\n", middle, end))
        if cut <= start:
            cut = end
        yield text[start:cut]
        start = cut
    yield text[start:]


def windows(tokens: Sequence[int], size: int, overlap: int) -> list[Sequence[int]]:
    """``tokens`` in runs of at most ``size``, in order; neighbours share at least ``overlap`` tokens.

    As few as possible, and all of one length: a short rest at the end would be the vector of half a sentence. Tokens
    that fit into one window, also none at all, are one window.
    """
    if len(tokens) <= size:
        return [tokens]
    count = math.ceil((len(tokens) - overlap) / (size - overlap))
    length = math.ceil((len(tokens) + (count - 1) * overlap) / count)
    last = len(tokens) - length
    starts = [last * number // (count - 1) for number in range(count)]
    return [tokens[start : start + length] for start in starts]
