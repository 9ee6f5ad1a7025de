"""The few lines of a passage that show best why it was found."""

from __future__ import annotations

import html
import re
from collections import Counter, deque
from typing import Final

from openviking.index.analyse import TermFinder
from openviking.parse import said_in
from openviking.text import shorten

LENGTH: Final = 300
SHORTEST_PART: Final = 40
"""Room that a part of a line is worth being shown in."""

TAGS: Final = re.compile(r"<!--.*?(?:-->|$)|</?[A-Za-z][^<>]*(?:>|$)", re.DOTALL)
"""Tags and comments of markup, also those that are cut off at the end."""


def snippet(text: str, finder: TermFinder) -> str:
    """At most 300 characters of ``text`` that hold the most different terms, then the most of them, on one line."""
    pieces = [piece for line in _pieces(text) if (piece := " ".join(line.split()))]
    if not pieces:
        return ""
    best, best_gain = 0, (0, 0)
    # Those windows that begin with one of the terms, by what is in them: the pieces with terms that are near.
    near: deque[tuple[int, int, list[str]]] = deque()
    inside: Counter[str] = Counter()
    place = 0
    for number, piece in enumerate(pieces):
        found = finder.within(piece)
        if found:
            while near and place + len(piece) - near[0][1] > LENGTH:
                best, best_gain = _better(best, best_gain, near, inside)
            near.append((number, place, found))
            inside.update(found)
        place += len(piece) + 1
    while near:
        best, best_gain = _better(best, best_gain, near, inside)
    return _joined(pieces[best:])


def _joined(pieces: list[str]) -> str:
    """As many ``pieces`` as there is room for, the last one in part; a heading does not stand at the end."""
    shown = [pieces[0]]
    room = LENGTH - len(pieces[0])
    for piece in pieces[1:]:
        if len(piece) >= room:
            if room > SHORTEST_PART:
                shown.append(shorten(piece, room - 1))
            break
        shown.append(piece)
        room -= len(piece) + 1
    while len(shown) > 1 and shown[-1].startswith("#"):
        shown.pop()
    return shorten(" ".join(shown), LENGTH)


def _better(
    best: int, gain: tuple[int, int], near: deque[tuple[int, int, list[str]]], inside: Counter[str]
) -> tuple[int, tuple[int, int]]:
    """The better of two starts, the best until now and the first that is ``near``, which is given up."""
    number, _, found = near.popleft()
    own = (len(inside), inside.total())
    inside.subtract(found)
    for term in found:
        if not inside[term]:
            del inside[term]
    return (number, own) if own > gain else (best, gain)


def readable(text: str, kind: str) -> str:
    """A piece of a file of this ``kind`` as it is read: of markup without its tags, of a conversation what was said."""
    if kind == "conversation":
        return said_in(text)
    return without_tags(text) if kind == "html" else text


def without_tags(markup: str) -> str:
    """``markup`` as it is read: tags and comments left out, character references resolved."""
    return html.unescape(TAGS.sub(" ", markup))


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
