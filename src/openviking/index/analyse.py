"""Text into terms, the same way for what is stored and for what is asked.

Words are case-folded, stripped of Latin, Greek, Hebrew and Arabic diacritics, and stemmed for English. An identifier,
version or error code (``getUserByEmail``, ``v2.13.7-rc2``, ``ERR_TLS_0x8F``, ``C++``) gives its whole and its parts.
Scripts written without blanks (Chinese, Japanese, Korean, Thai …) give character bigrams and single characters. Stop words
are stored, so that a query of nothing else still finds them, but a query drops them otherwise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import regex
import Stemmer

VERSION: Final = 1
"""Rises with every change of what terms a text gives; stored terms of another version are made anew."""

MAX_TERM_CHARS: Final = 64
MAX_QUERY_TERMS: Final = 64
"""So many of a query's terms are searched for."""


_IRREGULAR_CHARS: Final = 3
"""Stems of up to so many letters can differ from their words (*dying*, *die*)."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f"
    "\U00020000-\U0003134f"
)
_WORD = rf"[[\w\p{{M}}]--[{_UNSPACED}]]"
_TOKEN = regex.compile(rf"(?V1)[{_UNSPACED}]+|{_WORD}+(?:[-.'\u2019]{_WORD}+)*(?:\+\+|#(?!{_WORD}))?")
_ASCII_TOKEN = re.compile(r"[A-Za-z0-9_]+(?:[-.'][A-Za-z0-9_]+)*(?:\+\+|#(?![A-Za-z0-9_]))?")
_IS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_PARTS = regex.compile(
    r"(?V1)[\p{Lu}\p{M}]+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{M}*\p{Ll}[\p{Ll}\p{M}]*|\p{Lu}[\p{Lu}\p{M}]*|\d+|[[\w\p{M}]--[\d_\p{Lu}\p{Ll}]]+"
)
_ENGLISH = regex.compile(r"[a-z]+")
_INSIDE = regex.compile(r"['\u2019\s]+")
_MARKS_ARE_OPTIONAL = regex.compile(r"(?V1)[\p{Latin}\p{Greek}\p{Hebrew}\p{Arabic}\p{Common}\p{Inherited}]+")
_TYPOGRAPHY = {ord(char): " " for char in "\u2013\u2014\u2026\u2022\u00b7\u201c\u201d\u00ab\u00bb\u00a7"} | {
    0x2019: "'"
}
_CLITIC = regex.compile(r"['\u2019](?:s|t|d|m|re|ve|ll)\b", regex.IGNORECASE)

STOP_WORDS: Final = frozenset(
    (
        "a about am an and any are as at be been being but by did do does for from had has have having he her him his how"
        " i if in into is it its me my no not of on or our she so such than that the their them then there these they"
        " this to us was we were what when where which who will with you your"
    ).split()
)

_stemmer = Stemmer.Stemmer("english")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a text joined by blanks, and its ``length`` for BM25: words without stop words and doubles."""

    joined: str
    length: int


def analyse(text: str) -> Terms:
    """The terms of stored ``text`` in order."""
    out: list[str] = []
    length = 0
    for token in _tokens(text):
        terms, count = _stored(token)
        out += terms
        length += count
    return Terms(" ".join(out), length)


def analyse_query(text: str) -> tuple[str, ...]:
    """The terms that ``text`` asks for, with repetitions: those that say most first, single characters last.

    Stop words are left out unless there is nothing else.
    """
    words: list[str] = []
    stops: list[str] = []
    characters: list[str] = []
    for token in _tokens(text):
        terms, pairs = _stored(token)
        if _IS_UNSPACED.match(token):
            words += terms[:pairs]
            characters += terms[pairs:]
        else:
            for term in terms:
                (stops if term in STOP_WORDS else words).append(term)
    return tuple(words + characters or stops)


class TermFinder:
    """Finds some terms in texts, quickly in many that are alike."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = frozenset(wanted)
        self._known: dict[str, tuple[str, ...]] = {}
        # Stemming keeps a word's beginning: the first letter always, of longer stems all but the last.
        self._beginnings = {term[:-1] if len(term) > _IRREGULAR_CHARS else term[:1] for term in self._wanted}

    def within(self, text: str) -> list[str]:
        """Those of the terms of stored ``text`` that are wanted, in order and with repetitions."""
        if not text.isascii():
            text = text.translate(_TYPOGRAPHY)
        if text.isascii():
            plain = text.lower().replace("'", "")
            if not any(beginning in plain for beginning in self._beginnings):
                return []
        found: list[str] = []
        known = self._known
        for token in _tokens(text):
            terms = known.get(token)
            if terms is None:
                terms = known[token] = tuple(term for term in _stored(token)[0] if term in self._wanted)
            found += terms
        return found


def count_unspaced(text: str) -> int:
    """How many characters of ``text`` belong to scripts that are written without blanks."""
    return 0 if text.isascii() else len(_IS_UNSPACED.findall(text))


def words_asked(text: str) -> list[str]:
    """The words of a query as they are spelled, without stop words; a run of an unspaced script is one.

    Each once, though it may stand in different forms (*file*, *files*).
    """
    words: dict[tuple[str, ...], str] = {}
    for token in _tokens(text):
        terms, _ = _stored(token)
        if not STOP_WORDS.issuperset(terms):
            words.setdefault(terms, _CLITIC.sub("", token))
    return list(words.values())


def name_terms(name: str) -> tuple[str, ...]:
    """The distinct terms of one path segment, in order; a file's extension is one of them."""
    return tuple(dict.fromkeys(term for token in _tokens(name) for term in _stored(token)[0]))


def _tokens(text: str) -> list[str]:
    """The words and the unspaced runs of a text."""
    # Most text is ASCII; the same in fewer words is twice as quick there.
    found: list[str] = (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)
    return found


def _stored(token: str) -> tuple[tuple[str, ...], int]:
    """The terms of a token, and its length: the number of pairs of an unspaced run (which come first), else of words."""
    return _remembered(token) if len(token) <= MAX_TERM_CHARS else _made(token)


def _made(token: str) -> tuple[tuple[str, ...], int]:
    if token.isascii() and token.isalpha() and (token.islower() or token.istitle()) and len(token) <= MAX_TERM_CHARS:
        word = token.lower()
        term = word if word in STOP_WORDS else _stemmer.stemWord(word)
        return (term,), 0 if term in STOP_WORDS else 1
    if _IS_UNSPACED.match(token):
        folded = unicodedata.normalize("NFKC", token).casefold()
        pairs = _bigrams(folded)
        return (pairs + tuple(folded) if len(folded) > 1 else pairs), len(pairs)
    whole, parts = _split(token)
    terms = (whole, *parts) if whole else parts
    return terms, sum(1 for part in parts if part not in STOP_WORDS)


_remembered = lru_cache(maxsize=1 << 17)(_made)


def _bigrams(run: str) -> tuple[str, ...]:
    return tuple(run[i : i + 2] for i in range(len(run) - 1)) or (run,)


def _split(token: str) -> tuple[str, tuple[str, ...]]:
    """The whole of a compound ("" for a plain word) and its parts."""
    token = _CLITIC.sub("", token)
    plain = _fold(token)
    if _ENGLISH.fullmatch(token):
        return "", tuple(_cut(_stem(token)))
    found = _PARTS.findall(plain)
    parts = tuple(term for part in found for term in _cut(_stem(part.casefold())))
    whole = _stem(_INSIDE.sub("", plain.casefold()))
    if whole in parts or (len(found) <= 1 and whole.isalnum()):
        return "", parts or tuple(_cut(whole))
    return (whole if len(whole) <= MAX_TERM_CHARS and whole.strip("_") else ""), parts


def _stem(word: str) -> str:
    return _stemmer.stemWord(word) if _ENGLISH.fullmatch(word) and word not in STOP_WORDS else word


def _cut(word: str) -> Iterable[str]:
    for start in range(0, len(word), MAX_TERM_CHARS):
        yield word[start : start + MAX_TERM_CHARS]


def _fold(token: str) -> str:
    if token.isascii():
        return token
    folded = unicodedata.normalize("NFKC", token)
    if _MARKS_ARE_OPTIONAL.fullmatch(folded):
        folded = "".join(char for char in unicodedata.normalize("NFD", folded) if not unicodedata.combining(char))
    return folded
