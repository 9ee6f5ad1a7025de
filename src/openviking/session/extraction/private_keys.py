"""Masks private keys in PEM, also those whose end or beginning is cut off or whose lines are joined."""

from __future__ import annotations

import re
from typing import Final

_MAX_BLOCK: Final = 32_768
_MARK: Final = re.compile("PRIVATE KEY", re.IGNORECASE)
_EDGE: Final = re.compile(r"-{4,5} ?(BEGIN|END) (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}", re.IGNORECASE)
_LINE_END: Final = r"(?:\r?\n|\\{1,3}r\\{1,3}n|\\{1,3}n)"
_BREAK: Final = rf"(?:{_LINE_END}|[\s>|+\"',])"
_CUT_OFF: Final = re.compile(
    rf"(?:{_BREAK}{{0,8}}+[A-Z][A-Za-z-]{{1,20}}+: [^\r\n\\]{{1,128}}+)*+"
    rf"(?:{_BREAK}{{0,16}}+[A-Za-z0-9+/=]{{16,}}+)++(?:{_BREAK}{{1,8}}+[A-Za-z0-9+/=]{{1,64}}+(?=\s*\Z))?"
)
_LINE_ENDS: Final = re.compile(_LINE_END)
_OF_KEY: Final = re.compile(r"[\s>|+\"',]{0,8}[A-Za-z0-9+/=]+\s?")
_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_LEAST_LINE: Final = 16


def without_private_keys(text: str) -> tuple[str, int]:
    """``text`` with a mark in place of each private key, and how many there were."""
    if not _MARK.search(text):
        return text, 0
    edges = list(_EDGE.finditer(text))
    parts: list[str] = []
    at = number = 0
    while number < len(edges):
        edge = edges[number]
        after = edges[number + 1] if number + 1 < len(edges) else None
        number += 1
        start, end = edge.span()
        if edge[1].upper() == "END":
            start = _beginning(text, max(at, start - _MAX_BLOCK), start)
        elif after is not None and after[1].upper() == "END" and after.start() - end <= _MAX_BLOCK:
            end = after.end()
            number += 1
        elif rest := _CUT_OFF.match(text, end):
            end = rest.end()
        if (start, end) != edge.span():
            parts += (text[at:start], "[masked: private key]")
            at = end
    if not parts:
        return text, 0
    # Edges that are left begin and end nothing; beside a mark they could be taken for a block.
    text, left = _EDGE.subn("[masked: private key]", "".join(parts) + text[at:])
    return text, len(parts) // 2 + left


def _beginning(text: str, least: int, end: int) -> int:
    """Where the lines of a key begin that end at ``end``: all but the last are long."""
    start = edge = end
    for line_end in (*reversed(list(_LINE_ENDS.finditer(text, least, end))), None):
        line = text[line_end.end() if line_end else least : edge]
        is_last = start == end
        if line and not (_OF_KEY.fullmatch(line) and (is_last or len(line) >= _LEAST_LINE)):
            run = len(line) - len(line.rstrip(_ALPHABET))
            return edge - run if run >= _LEAST_LINE and not is_last else start
        if line:
            start = edge - len(line)
        elif not is_last:
            break
        edge = line_end.start() if line_end else least
    return start
