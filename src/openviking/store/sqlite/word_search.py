"""Scoring the passages that may answer a query, and the best one of each record.

They are scored from their stored terms, with idf over the whole account and the terms of their path, so that the scores
are exact and absolute whatever way passages were selected (`openviking.store.sqlite.candidates`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from openviking.model.scope import Scope
from openviking.store.bm25 import BODY_WEIGHT, HEADING_WEIGHT, NAME_WEIGHT, TAG_WEIGHT, TITLE_WEIGHT, idf, saturation
from openviking.store.port import Analyser, Candidate
from openviking.store.sqlite.candidates import Candidates, Quota, Term
from openviking.store.sqlite.rows import COLUMN_COUNT, COLUMNS, node
from openviking.store.sqlite.term_counts import TermCounts

COMMON_SHARE: Final = 0.05
COMMON_PASSAGES: Final = 1000
"""Terms in more than this share of the passages, and in more than so many, are common."""

READ_PASSAGES: Final = 100
"""So many passages, or four times the limit, are scored of each of the ways in which terms select.

As many different contents are given if they were found: who ranks them anew needs some to choose from.
"""

NAMED_PASSAGES: Final = 400
"""So many passages are scored of records that are named so: which of their names are best says little."""

STEP: Final = 100
"""Passages that are scored at a time where terms select only because too little was found."""

SELECTED_POSTINGS: Final = 3000
"""Postings, rarest terms first, after which a passage must have two of the terms to be selected. The rarest term
always selects by itself: what it finds is exact."""

SCORE_DECIMALS: Final = 12
"""Scores that differ by less are equal: in what order they were summed up must not decide."""

NARROW_PASSAGES: Final = 1000
"""A scope of at most so many passages is scored whole where the query's terms have more postings."""


class _Scored(NamedTuple):
    """A passage with its score, in the order of ranking; ``content`` is what equal contents have in common."""

    behind: float
    path: str
    level: int
    start: int
    id: int
    node_id: int
    content: bytes | int
    shares: list[tuple[str, float]]


class WordSearch:
    """One search for words in one read transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        analyser: Analyser,
        counts: TermCounts,
        scope: Scope,
        file_roots: frozenset[str],
    ) -> None:
        self._sql = connection
        self._analyser = analyser
        self._counts = counts
        self._candidates = Candidates(connection, scope, file_roots)
        (passages,) = connection.execute("SELECT value FROM meta WHERE name = 'passages'").fetchone()
        self._passages = max(int(passages), 1)
        self._terms: list[Term] = []
        self._whole = 0.0
        self._seen: set[int] = set()
        self._scored: list[_Scored] = []
        self._contents: set[bytes | int] = set()
        self._path_terms: dict[str, frozenset[str]] = {}

    def best(self, query: Sequence[str], limit: int) -> list[Candidate]:
        """The best passage of each record, as the port's ``search`` gives them.

        Terms in more than 5 % (and more than 1,000) of the passages score but do not select, nor do the more frequent
        of the others by themselves, unless fewer than ``limit`` different contents were found without them.
        """
        self._terms = terms = self._weigh(query)
        self._whole = sum(term.weight for term in terms)
        if self._whole <= 0:
            return []
        quota = Quota(max(READ_PASSAGES, 4 * limit), limit)
        if sum(term.postings + term.names for term in terms) > NARROW_PASSAGES:
            few = self._candidates.whole_scope(NARROW_PASSAGES)
            if few is not None:
                self._score_all(few)
                return self._records(quota.passages)
        most = max(COMMON_SHARE * self._passages, COMMON_PASSAGES)
        selecting = [term for term in terms if 0 < term.postings <= most]
        self._score_all(
            self._candidates.named(
                [term for term in terms if 0 < term.names <= most], Quota(max(NAMED_PASSAGES, quota.passages), limit)
            )
        )
        first = _within(selecting, SELECTED_POSTINGS)
        self._score_all(self._candidates.best(selecting[:first], quota))
        self._score_all(self._candidates.pairs(selecting, first, Quota(quota.passages // 2, limit)))
        more = self._candidates.more(_left(terms, selecting[:first]), Quota(STEP, limit))
        while len(self._contents) < limit and (ids := next(more, None)) is not None:
            self._score_all(ids)
        return self._records(quota.passages)

    def _weigh(self, query: Sequence[str]) -> list[Term]:
        """The distinct terms of the query, rarest first."""
        asked: dict[str, int] = {}
        for text in query:
            asked[text] = asked.get(text, 0) + 1
        counts = self._counts.of(self._sql, list(asked))
        terms = [
            Term(text, postings, names, asked[text] * idf(self._passages, postings + names))
            for text, (postings, names) in counts.items()
        ]
        return sorted(terms, key=lambda term: (term.postings, term.text))

    def _score_all(self, ids: Sequence[int]) -> None:
        """Score passages that were not scored before."""
        new = [one for one in dict.fromkeys(ids) if one not in self._seen]
        if not new:
            return
        self._seen.update(new)
        cursor = self._sql.execute(
            "SELECT p.id, p.node_id, p.level, p.start, p.length, d.path, n.name, coalesce(n.hash, n.id),"
            " w.title, w.heading, w.body FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value"
            " CROSS JOIN words w ON w.rowid = p.id CROSS JOIN nodes n ON n.id = p.node_id"
            " CROSS JOIN directories d ON d.id = n.directory_id",
            (json.dumps(new),),
        )
        for row in cursor:
            scored = self._score(*row)
            if scored is not None:
                self._scored.append(scored)
                self._contents.add(scored.content)

    def _score(
        self, passage: int, node_id: int, level: int, start: int, length: int, directory: str, name: str,
        content: bytes | int, title: str, heading: str, body: str,
    ) -> _Scored | None:  # fmt: skip
        path = directory if name == "" else f"{directory}/{name}" if directory else name
        padded: str | None = None
        tags: frozenset[str] | None = None
        shares: list[tuple[str, float]] = []
        for term in self._terms:
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
                shares.append((text, term.weight * saturation(frequency, length) / self._whole))
        if not shares:
            return None
        score = round(sum(share for _, share in shares), SCORE_DECIMALS)
        return _Scored(-score, path, level, start, passage, node_id, content, shares) if score > 0 else None

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

    def _records(self, most: int) -> list[Candidate]:
        """The best passage of each record, of ``most`` different contents."""
        best: dict[tuple[int, int], _Scored] = {}
        contents: set[bytes | int] = set()
        for scored in sorted(self._scored):
            if len(contents) == most and scored.content not in contents:
                break
            if best.setdefault((scored.node_id, scored.level), scored) is scored:
                contents.add(scored.content)
        cursor = self._sql.execute(
            f'SELECT {COLUMNS}, p.id, p."end", p.first_line, p.last_line, p.breadcrumb, p.symbol'
            " FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value CROSS JOIN nodes n ON n.id = p.node_id"
            " CROSS JOIN directories d ON d.id = n.directory_id",
            (json.dumps([scored.id for scored in best.values()]),),
        )
        rows = {row[COLUMN_COUNT]: (node(row), row[COLUMN_COUNT + 1 :]) for row in cursor}
        found = []
        for scored in best.values():
            its_node, place = rows[scored.id]
            shares = tuple(scored.shares)
            found.append(Candidate(scored.id, its_node, scored.level, -scored.behind, shares, scored.start, *place))
        return found


def _given_names(path: str) -> list[str]:
    """The segments of a path that somebody chose: not its scope, user and area, which all of its kind have."""
    parts = path.split("/")
    return parts[{"user": 3, "agent": 2}.get(parts[0], 1) :]


def _within(terms: Sequence[Term], postings: int) -> int:
    """How many of ``terms`` have together at most so many postings; the first one counts in any case."""
    total = 0
    for number, term in enumerate(terms):
        total += term.postings
        if number and total > postings:
            return number
    return len(terms)


def _left(terms: Sequence[Term], read: Sequence[Term]) -> list[Term]:
    """``terms`` without the postings that were ``read`` to their end already."""
    done = {term.text for term in read}
    return [replace(term, postings=0) if term.text in done else term for term in terms]


def _padded(terms: str) -> str:
    """Terms with two blanks between them, so that counting `` term `` also counts neighbours that are equal."""
    return f" {terms.replace(' ', '  ')} "
