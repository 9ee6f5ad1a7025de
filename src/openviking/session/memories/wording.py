"""Compares texts by their words, whatever case, marks and line breaks they have; pure."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = re.compile(r"\w+")
_UNSTORABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def spoken(text: str) -> str:
    """The words of ``text`` in lower case, a blank between two."""
    return " ".join(_WORDS.findall(text.casefold()))


def holds(text: str, words: str) -> bool:
    """Whether ``text`` says ``words``, both of `spoken`: whole ones, where words are written apart."""
    return f" {words} " in f" {text} " if words.isascii() else words in text


def storable(text: str) -> str:
    """``text`` without characters that no file of text should have: controls, lone surrogates, overrides of direction."""
    return _UNSTORABLE.sub("", text)


def plain(text: str) -> str:
    """`storable` in one line."""
    return " ".join(storable(text).split())
