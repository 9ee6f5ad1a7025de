"""How well the words of passages answer a query.

Passages are scored from their stored terms, with idf over the whole account and the terms of their path, so that the
scores are exact and absolute whatever way passages were selected (`openviking.store.sqlite.candidates`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from openviking.store.bm25 import BODY_WEIGHT, HEADING_WEIGHT, NAME_WEIGHT, TAG_WEIGHT, TITLE_WEIGHT, idf, saturation
from openviking.store.port import Analyser
from openviking.store.sqlite.candidates import Term
from openviking.store.sqlite.term_counts import TermCounts

COMMON_SHARE: Final = 0.05
COMMON_PASSAGES: Final = 1000
"""Terms in more than this share of the passages, and in more than so many, are common."""

SELECTED_POSTINGS: Final = 3000
"""Postings, rarest terms first, after which a passage must have two of the terms to be selected. The rarest term
always selects by itself: what it finds is exact."""

POSTINGS_IN_MEMORY: Final = 12_000
"""The same where the lengths of passages are in memory: then a posting costs a tenth."""

COMMON_IN_MEMORY: Final = 30_000
"""Postings up to which a common term is read whole if there is no other."""

Shares = list[tuple[str, float]]
"""The matched terms with what each contributes."""


class WordSearch:
    """The terms of one query in one read transaction: which of them select, and how much they say of a passage."""

    def __init__(
        self, connection: sqlite3.Connection, analyser: Analyser, counts: TermCounts, query: Sequence[str]
    ) -> None:
        self._sql = connection
        self._analyser = analyser
        (passages,) = connection.execute("SELECT value FROM meta WHERE name = 'passages'").fetchone()
        self._passages = max(int(passages), 1)
        self.terms = self._weigh(counts, query)
        # The most that the terms can say of a passage, in weight.
        self.whole = sum(term.weight for term in self.terms)
        self._path_terms: dict[str, frozenset[str]] = {}

    @property
    def matches(self) -> bool:
        """Whether anything can match at all."""
        return self.whole > 0

    @property
    def size(self) -> int:
        """How many postings and names the terms have together."""
        return sum(term.postings + term.names for term in self.terms)

    def selecting(self) -> list[Term]:
        """The terms in text that select, rarest first: those that are not common."""
        return [term for term in self.terms if 0 < term.postings <= self._most]

    def naming(self) -> list[Term]:
        """The terms in names that select."""
        return [term for term in self.terms if 0 < term.names <= self._most]

    def left(self, read: Sequence[Term]) -> list[Term]:
        """All terms, those whose postings were ``read`` to their end already without these."""
        done = {term.text for term in read}
        return [replace(term, postings=0) if term.text in done else term for term in self.terms]

    @property
    def _most(self) -> float:
        return max(COMMON_SHARE * self._passages, COMMON_PASSAGES)

    def _weigh(self, counts: TermCounts, query: Sequence[str]) -> list[Term]:
        """The distinct terms of the query, rarest first."""
        asked: dict[str, int] = {}
        for text in query:
            asked[text] = asked.get(text, 0) + 1
        terms = [
            Term(text, postings, names, asked[text] * idf(self._passages, postings + names))
            for text, (postings, names) in counts.of(self._sql, list(asked)).items()
        ]
        return sorted(terms, key=lambda term: (term.postings, term.text))

    def shares(
        self, node_id: int, length: int, directory: str, name: str, title: str, heading: str, body: str
    ) -> Shares:
        """What the terms say of one passage, as shares of the most that they can: 0 ≤ their sum < 1."""
        padded: str | None = None
        tags: frozenset[str] | None = None
        shares: Shares = []
        for term in self.terms:
            text = term.text
            frequency = 0.0
            # Most terms are not there: a plain look is much quicker than counting.
            if text in body:
                padded = _padded(body) if padded is None else padded
                frequency = BODY_WEIGHT * padded.count(f" {text} ")
            if text in title:
                frequency += TITLE_WEIGHT * _padded(title).count(f" {text} ")
            if text in heading:
                frequency += HEADING_WEIGHT * _padded(heading).count(f" {text} ")
            if term.names:
                frequency += NAME_WEIGHT * (text in self._terms_of_path(directory, name))
                if not frequency:
                    tags = self._tag_terms(node_id) if tags is None else tags
                    frequency = TAG_WEIGHT * (text in tags)
            if frequency:
                shares.append((text, term.weight * saturation(frequency, length) / self.whole))
        return shares

    def covered(self, shares: Iterable[tuple[str, float]]) -> float:
        """The share of the query, by the weights of its terms, that a passage with ``shares`` has at all."""
        matched = {text for text, _ in shares}
        return sum(term.weight for term in self.terms if term.text in matched) / self.whole if matched else 0.0

    def _terms_of_path(self, directory: str, name: str) -> frozenset[str]:
        found = self._path_terms.get(directory)
        if found is None:
            found = frozenset(
                term for segment in _given_names(directory) for term in self._analyser.name_terms(segment)
            )
            self._path_terms[directory] = found
        return found.union(self._analyser.name_terms(name)) if name else found

    def _tag_terms(self, node_id: int) -> frozenset[str]:
        row = self._sql.execute("SELECT tags FROM names WHERE rowid = ?", (node_id,)).fetchone()
        return frozenset(row[0].split()) if row else frozenset()


def _given_names(path: str) -> list[str]:
    """The segments of a path that somebody chose: not its scope, user and area, which all of its kind have."""
    parts = path.split("/")
    return parts[{"user": 3, "agent": 2}.get(parts[0], 1) :]


def within(terms: Sequence[Term], postings: int) -> int:
    """How many of ``terms`` have together at most so many postings; the first one counts in any case."""
    total = 0
    for number, term in enumerate(terms):
        total += term.postings
        if number and total > postings:
            return number
    return len(terms)


def _padded(terms: str) -> str:
    """Terms with two blanks between them, so that counting `` term `` also counts neighbours that are equal."""
    return f" {terms.replace(' ', '  ')} "
