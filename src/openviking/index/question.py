"""What kind of question a query is: how many words it has, and how many of them are names to be found as they are spelled.

A model of meaning needs a sentence. It makes little of a single word and nothing of ``ERR_TLS_0x8F``, where the words of
the text are all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import regex

from openviking.index.analyse import count_unspaced, words_asked

MOSTLY: Final = 1 / 3
"""The share of unspaced letters from which on a text is mostly in such a script: one letter says as much as a syllable
or a word of another."""

UNSPACED_LETTERS: Final = 2
"""Letters of an unspaced script that count as a word."""

SENTENCE: Final = 3
"""Words from which on a query says enough for a model of meaning."""

_LETTER = regex.compile(r"\p{L}")
_DIGIT = regex.compile(r"\d")
_IDENTIFIER = regex.compile(r"\d\.\d|_|\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}{2}|\p{L}\.\p{L}{2}|[+#]$")
_ORDINAL = regex.compile(r"\d+(?:st|nd|rd|th|s)", regex.IGNORECASE)
_QUOTED = regex.compile(r'"([^"]+)"|\u201c([^\u201c\u201d]+)\u201d|\u300c([^\u300c\u300d]+)\u300d|`([^`]+)`')


@dataclass(frozen=True, slots=True)
class Question:
    """A query as its words show it.

    ``words`` are its different words without stop words, ``exact`` those of them that are identifiers, versions or
    codes, or stand in quotation marks. ``phrases`` are the quoted parts of several words. ``unspaced`` says that it is
    mostly written in a script without blanks, such as Chinese.
    """

    words: float
    exact: float
    phrases: tuple[str, ...]
    unspaced: bool

    @property
    def fullness(self) -> float:
        """How much there is for a model of meaning: from 0 (a word, nothing but exact names) to 1 (a sentence without)."""
        if not self.words:
            return 0.0
        return min(max((self.words - 1) / (SENTENCE - 1), 0.0), 1.0) * (1 - self.exact / self.words)


def question(text: str) -> Question:
    """The kind of question that the query ``text`` is."""
    quoted = ["".join(found.groups("")) for found in _QUOTED.finditer(text)]
    named = {word for part in quoted for word in words_asked(part)}
    words = exact = 0.0
    for word in words_asked(text):
        worth = max(count_unspaced(word) / UNSPACED_LETTERS, 1.0)
        words += worth
        if word in named or _is_exact(word):
            exact += worth
    return Question(words, exact, tuple(part for part in quoted if len(part.split()) > 1), mostly_unspaced(text))


def mostly_unspaced(text: str) -> bool:
    """Whether ``text`` is mostly written in a script without blanks, such as Chinese."""
    if text.isascii():
        return False
    return count_unspaced(text) > MOSTLY * sum(1 for char in text if char.isalnum())


def _is_exact(word: str) -> bool:
    mixed = _LETTER.search(word) is not None and _DIGIT.search(word) is not None
    return (mixed or _IDENTIFIER.search(word) is not None) and _ORDINAL.fullmatch(word) is None
