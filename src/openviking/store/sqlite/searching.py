"""One search: the passages that the words or the vector of a query select, scored by both, and the best of each record.

Each selected passage gets the exact score of its words and the exact cosine of its vector, whichever of the two found
it. The best passage of a record is the best of those that were selected; for the best records that includes the one
nearest to the query.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple

from openviking.model.scope import Scope
from openviking.store.port import Analyser, Candidate, Query
from openviking.store.sqlite.candidates import Candidates, Quota, Term, passage_conditions
from openviking.store.sqlite.rows import COLUMN_COUNT, COLUMNS, node
from openviking.store.sqlite.scan.scans import Near, Scans
from openviking.store.sqlite.term_counts import TermCounts
from openviking.store.sqlite.word_search import COVERED_POSTINGS, SELECTED_POSTINGS, Shares, WordSearch, within

READ_PASSAGES: Final = 100
"""So many passages, or four times the limit, are scored of each of the ways in which terms and vectors select.

As many different contents are given if they were found: who ranks them anew needs some to choose from.
"""

NAMED_PASSAGES: Final = 400
"""So many passages are scored of records that are named so: which of their names are best says little."""

STEP: Final = 100
"""Passages that are scored at a time where terms select only because too little was found."""

GROWTH: Final = 4
"""So many times more passages are taken from the scan each time that there are too few different contents."""

NARROW_PASSAGES: Final = 1000
"""A scope of at most so many passages is scored whole where the query's terms have more postings."""

SCORE_DECIMALS: Final = 12
"""Scores that differ by less are equal: in what order they were summed up must not decide."""


class _Scored(NamedTuple):
    """A passage with its score, in the order of ranking; ``content`` is what equal contents have in common."""

    behind: float
    path: str
    level: int
    start: int
    id: int
    node_id: int
    content: bytes | int
    words: float
    shares: Shares
    cosine: float | None


class Search:
    """One search in one read transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        analyser: Analyser,
        counts: TermCounts,
        scans: Scans,
        query: Query,
        scope: Scope,
        file_roots: frozenset[str],
    ) -> None:
        self._sql = connection
        self._query = query
        self._words = WordSearch(connection, analyser, counts, query.terms)
        self._candidates = Candidates(connection, scope, file_roots)
        self._where = passage_conditions(scope, file_roots)
        self._near: Near | None = None
        if query.vector is not None and not scope.nothing:
            self._near = scans.near(connection, query.vector, scope, file_roots)
        self._seen: set[int] = set()
        self._scored: list[_Scored] = []
        self._contents: set[bytes | int] = set()
        self._by_vector: set[int] = set()

    def best(self, limit: int) -> list[Candidate]:
        """The best passage of each record, as the port's ``search`` gives them.

        Terms in more than 5 % (and more than 1,000) of the passages score but do not select, nor do the more frequent
        of the others by themselves, unless fewer than ``limit`` different contents were found without them. The vector
        selects until there are so many, too. Where each passage of the scope has one, common terms need not.
        """
        quota = Quota(max(READ_PASSAGES, 4 * limit), limit)
        if self._words.matches and self._score_narrow():
            return self._records(quota.passages)
        near = self._near
        read = self._select_by_terms(quota) if self._words.matches else []
        if near is None or not near.complete:
            self._select_by_common_terms(read, limit)
        if near is not None:
            self._select_by_vector(near, quota)
            if near.complete:
                self._select_by_common_terms(read, limit)
            self._add_nearest(near, limit)
        return self._records(quota.passages)

    def _score_narrow(self) -> bool:
        """Score a narrow scope whole where that is less work than to look at the terms' postings; whether it was done."""
        if self._words.size <= NARROW_PASSAGES:
            return False
        few = self._candidates.whole_scope(NARROW_PASSAGES)
        if few is not None:
            self._score_all(few)
        return few is not None

    def _select_by_terms(self, quota: Quota) -> list[Term]:
        """Score what the terms select that are not common; the terms whose postings were read to their end."""
        named, postings = NAMED_PASSAGES, SELECTED_POSTINGS
        if self._near is not None and self._near.complete:
            # What ranks low by its words and is not among the nearest either is not among the best.
            named, postings = NAMED_PASSAGES // 4, COVERED_POSTINGS
            quota = Quota(max(quota.passages // 2, quota.contents), quota.contents)
        selecting = self._words.selecting()
        first = within(selecting, postings)
        self._score_all(self._candidates.named(self._words.naming(), Quota(max(named, quota.passages), quota.contents)))
        self._score_all(self._candidates.best(selecting[:first], quota))
        self._score_all(self._candidates.pairs(selecting, first, Quota(quota.passages // 2, quota.contents)))
        return selecting[:first]

    def _select_by_common_terms(self, read: Sequence[Term], limit: int) -> None:
        """Score what the other terms select, as far as there are too few contents."""
        if not self._words.matches:
            return
        more = self._candidates.more(self._words.left(read), Quota(STEP, limit))
        while len(self._contents) < limit and (ids := next(more, None)) is not None:
            self._score_all(ids)

    def _select_by_vector(self, near: Near, quota: Quota) -> None:
        """Score the nearest passages, more of them as far as there are too few contents."""
        count = quota.passages
        while ids := near.passages.take(count):
            before = len(self._scored)
            self._score_all(ids)
            self._by_vector.update(ids)
            # What is farther away than passages that score nothing scores nothing either.
            if len(self._contents) >= quota.contents or len(self._scored) == before:
                break
            count *= GROWTH

    def _add_nearest(self, near: Near, limit: int) -> None:
        """Score the nearest passage of each of the best records: it may be better than what selected the record."""
        records: set[tuple[int, int]] = set()
        for scored in sorted(self._scored):
            records.add((scored.node_id, scored.level))
            if len(records) == limit:
                break
        # Of what the vector selected it is the nearest already.
        records.difference_update((one.node_id, one.level) for one in self._scored if one.id in self._by_vector)
        if records:
            self._score_all(near.passages.best_of(records))

    def _score_all(self, ids: Sequence[int]) -> None:
        """Score those of the passages that are in the scope and were not scored before."""
        new = sorted({*ids} - self._seen)
        if not new:
            return
        self._seen.update(new)
        where, values = self._where
        near = self._near
        terms, words = ("w.title, w.heading, w.body", "CROSS JOIN words w ON w.rowid = p.id")
        if not self._words.matches:
            terms, words = "'', '', ''", ""
        vector, vectors = "NULL", ""
        models: tuple[int, ...] = ()
        if near is not None:
            vector, vectors = "v.vector", "LEFT JOIN vectors v ON v.hash = p.hash AND v.model_id = ?"
            models = (near.model_id,)
        rows = self._sql.execute(
            f"SELECT p.id, p.node_id, p.level, p.start, p.length, d.path, n.name, coalesce(n.hash, n.id),"
            f" d.context_type, {terms}, {vector} FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value"
            " CROSS JOIN nodes n ON n.id = p.node_id CROSS JOIN directories d ON d.id = n.directory_id"
            f" {words} {vectors} WHERE {where}",
            (json.dumps(new), *models, *values),
        ).fetchall()
        cosines: Sequence[float | None] = [None] * len(rows)
        if near is not None:
            cosines = near.cosines([row[-1] for row in rows])
        for row, cosine in zip(rows, cosines, strict=True):
            passage, node_id, level, start, length, directory, name, content, context_type, *terms_of, _ = row
            shares = self._words.shares(node_id, length, directory, name, *terms_of)
            if not shares and cosine is None:
                continue
            said = round(sum(share for _, share in shares), SCORE_DECIMALS)
            score = round(self._query.score(context_type, said, cosine), SCORE_DECIMALS)
            if score > 0:
                path = directory if name == "" else f"{directory}/{name}" if directory else name
                self._scored.append(
                    _Scored(-score, path, level, start, passage, node_id, content, said, shares, cosine)
                )
                self._contents.add(content)

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
        for one in best.values():
            its_node, place = rows[one.id]
            shares = tuple(one.shares)
            found.append(
                Candidate(one.id, its_node, one.level, -one.behind, one.words, shares, one.cosine, one.start, *place)
            )
        return found
