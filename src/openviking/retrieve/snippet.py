"""The few lines of a passage that show best why it was found."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from openviking.index.analyse import terms_within
from openviking.text import shorten

LENGTH: Final = 300

_TAGS = re.compile(r"<!--.*?(?:-->|$)|</?[A-Za-z][^<>]*(?:>|$)", re.DOTALL)
_BLANKS = re.compile(r"\s+")


def snippet(text: str, terms: Sequence[str]) -> str:
    """At most 300 characters of ``text`` that hold the most different ``terms``, then the most of them, on one line."""
    wanted = frozenset(terms)
    pieces = [piece for piece in (_BLANKS.sub(" ", line).strip() for line in _pieces(text)) if piece]
    if not pieces:
        return ""
    found = [terms_within(piece, wanted) for piece in pieces]
    best, best_gain = 0, (0, 0)
    inside: Counter[str] = Counter()
    end = used = 0
    for start, piece in enumerate(pieces):
        while end < len(pieces) and (end == start or used + len(pieces[end]) <= LENGTH):
            inside.update(found[end])
            used += len(pieces[end]) + 1
            end += 1
        gain = (len(inside), inside.total())
        if found[start] and gain > best_gain:
            best, best_gain = start, gain
        inside -= Counter(found[start])
        used -= len(piece) + 1
    shown = pieces[best]
    for piece in pieces[best + 1 :]:
        if len(shown) + 1 + len(piece) > LENGTH:
            break
        shown = f"{shown} {piece}"
    return shorten(shown, LENGTH)


def without_tags(markup: str) -> str:
    """``markup`` as it is read: tags and comments left out, character references resolved."""
    return html.unescape(_TAGS.sub(" ", markup))


def _pieces(text: str) -> list[str]:
    """Lines; a long one is cut into windows that overlap no word."""
    pieces: list[str] = []
    for line in text.split("\n"):
        while len(line) > LENGTH:
            blank = line.rfind(" ", LENGTH // 2, LENGTH)
            cut = blank if blank > 0 else LENGTH
            pieces.append(line[:cut])
            line = line[cut:]
        pieces.append(line)
    return pieces
