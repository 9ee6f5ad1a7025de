"""Measures of text: the token estimate, lines, and pieces fit to be shown.

A line ends at ``\\n`` and nowhere else, so that a line number means the same in every tool.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Final

_WIDE = re.compile(
    "[\u1100-\u11ff\u3000-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0002ebef]+"
)
_BLANK = re.compile(r"\s(?=\S*\Z)")
_JOINER: Final = "\u200d"
_MAX_CLUSTER: Final = 32


def token_weight(text: str) -> float:
    """The unrounded token estimate of ``text``; weights add up over concatenation."""
    if text.isascii():
        return len(text) / 4
    wide_runs = "".join(_WIDE.findall(text))
    wide = len(wide_runs)
    astral = _beyond_bmp(text) - _beyond_bmp(wide_runs)
    return 1.5 * wide + 2.0 * astral + 0.25 * (len(text) - wide - astral)


def estimate_tokens(text: str) -> int:
    """Estimated tokens of ``text``, rounded up (contract/retrieval.md §5.7).

    CJK ideographs, kana, Hangul, full-width forms and CJK punctuation count 1.5, other code points
    above U+FFFF 2, all others 0.25.
    """
    return math.ceil(token_weight(text))


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` without their ``\\n``; a final ``\\n`` ends the last line and adds no empty one."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def shorten(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` characters.

    A cut shows as ``…`` and falls on white space where there is some in the last quarter, else between two
    characters as a reader sees them (no accent or joined emoji is torn off its base).
    """
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    blank = _BLANK.search(text, limit * 3 // 4, limit)
    end = blank.start() if blank else _cluster_start(text, limit - 1)
    return text[:end].rstrip() + "…"


def counted(count: int, things: str) -> str:
    """A count with its noun: ``1 vector``, ``2 vectors``; ``things`` is a plural in s."""
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}"


def seconds_told(seconds: float) -> str:
    """A duration as people read it, to a tenth of a second from one on: ``60 s``, ``58.7 s``, ``0.25 s``."""
    return f"{round(seconds, 1):.10g} s" if seconds >= 1 else f"{seconds:.2g} s"


def quoted(value: object, limit: int = 80) -> str:
    """``value`` as an error message may show it: in quotes, one line, shortened, fit for every encoding."""
    shown = value[: limit + 1] if isinstance(value, str) else value
    spelled = repr(shown)
    if isinstance(value, str) and len(value) > limit:
        return repr(value[:limit]) + "…"
    return spelled if isinstance(value, str) or len(spelled) <= limit else spelled[:limit] + "…"


def _beyond_bmp(text: str) -> int:
    # A code point above U+FFFF takes two units of UTF-16: counting them needs no look at each character.
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 - len(text)


def _cluster_start(text: str, end: int) -> int:
    for position in range(end, max(end - _MAX_CLUSTER, 0), -1):
        if text[position - 1] != _JOINER and not _joins(text[position]):
            return position
    return end


def _joins(char: str) -> bool:
    return char == _JOINER or unicodedata.category(char).startswith("M") or "\U0001f3fb" <= char <= "\U0001f3ff"
