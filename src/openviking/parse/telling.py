"""Chooses the sentences of a text that tell most, by what they hold, without any model."""

from __future__ import annotations

import re
from typing import Final

from openviking.text import shorten

GAP: Final = " … "

_SENTENCE = re.compile(r".+?(?:[.!?][)\"'\]]*(?=\s|$)|[。！？]|$)")
_ASKED = re.compile(r"[?？]")
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w'-]+|\b\w+[._/@-]\w+|`[^`]+`|\"[^\"]+\"")
_WANTED = re.compile(
    r"(?i)\b(?:please|must|never|always|don't|do not|should|need|want|prefer|like|hate|remember|call me|my name|decid\w+"
    r"|agree\w*|because|instead|deadline|allergic)\b|请|必须|不要|总是|记住|喜欢|需要"
)


def telling(text: str, limit: int) -> str:
    """At most ``limit`` characters of a one-line text, all of it if it fits.

    Else its beginning, then the sentences that ask, want, or hold numbers and names, as many as there is room for, in
    their order; an ellipsis stands for what is left out.
    """
    if len(text) <= limit:
        return text
    parts = sentences(text)
    first = shorten(parts[0], max(limit // 2, min(limit, 60))) if len(parts) > 1 else shorten(text, limit)
    chosen = {0: first}
    room = limit - len(first)
    for number in sorted(range(1, len(parts)), key=lambda one: (-weight(parts[one]), one)):
        if len(parts[number]) + len(GAP) <= room:
            chosen[number] = parts[number]
            room -= len(parts[number]) + len(GAP)
    shown, before = first, 0
    for number in sorted(chosen)[1:]:
        shown += (" " if number == before + 1 else GAP) + chosen[number]
        before = number
    return shown if before == len(parts) - 1 or shown.endswith("…") or len(shown) + 2 > limit else shown + " …"


def sentences(text: str) -> list[str]:
    """The sentences of a one-line text, of languages without blanks too."""
    return [found[0].strip() for found in _SENTENCE.finditer(text) if found[0].strip()]


def weight(sentence: str) -> float:
    """How much a sentence tells for its length, 0 to about 0.3: it asks, wants, or holds numbers and names."""
    held = 3.0 * bool(_ASKED.search(sentence)) + 3.0 * bool(_WANTED.search(sentence))
    held += min(len(_NUMBER.findall(sentence)), 3) + min(len(_NAME.findall(sentence)), 3)
    return held / (40 + len(sentence))
