"""One search: the passages that the words or the vector of a query select, scored by both, and the best of each record.

The score of each passage that is given is exact, whichever of the two selected it. A selected passage is not even read
where the most that it can reach, by the postings and the codes of the scan, is less than the last of the wanted records
has. The best passage of a record is the best of those that were selected; for the best records that includes the one
nearest to the query.
"""

from __future__ import annotations

import heapq
import math
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from openviking.model.scope import Scope
from openviking.store.port import Analyser, Candidate, Query
from openviking.store.sqlite.candidates import Candidates, Quota, Term
from openviking.store.sqlite.scan.scans import Near, Scans
from openviking.store.sqlite.scoring import Scoring
from openviking.store.sqlite.term_counts import TermCounts
from openviking.store.sqlite.word_search import (
    COMMON_IN_MEMORY,
    POSTINGS_IN_MEMORY,
    SELECTED_POSTINGS,
    WordSearch,
    within,
)

READ_PASSAGES: Final = 100
"""So many passages, or four times the limit, are selected in each of the ways in which terms and vectors select."""

GIVEN_CONTENTS: Final = 30
"""So many different contents are given, or twice the limit, if they were scored: who ranks them anew has some to choose."""

NAMED_PASSAGES: Final = 400
"""So many passages are selected of records that are named so: which of their names are best says little."""

READ_ONCE: Final = 100_000
"""Postings that are read, rarest terms first, where one directory after the other is searched."""

STEP: Final = 100
"""Passages that are scored at a time where terms select only because too little was found."""

SCORED_AT_ONCE: Final = 32
"""Passages that are scored at a time, or the limit, until no other can be among the best."""

GROWTH: Final = 4
"""So many times more passages are taken from the scan each time that there are too few different contents."""

NARROW_PASSAGES: Final = 1000
"""A scope of at most so many passages is scored whole where the query's terms have more postings."""

COSINE_ERROR: Final = 0.005
"""What a cosine by the codes of the scan is off by at most."""

WORD_STEPS: Final = 500
COSINE_STEPS: Final = 500
"""The most that a passage can reach is computed for words and cosines that are rounded up to such a part."""

CONTEXT_TYPES: Final = ("memory", "resource", "skill")


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
        fingerprint: str | None,
    ) -> None:
        self._query = query
        self._context_types = scope.context_types or CONTEXT_TYPES
        self._words = WordSearch(connection, analyser, counts, query.terms)
        self._near: Near | None = None
        if query.vector is not None and not scope.nothing:
            self._near = scans.near(connection, query.vector, scope, file_roots)
        passages = None if fingerprint is None else scans.passages(connection, fingerprint, scope, file_roots)
        self._candidates = Candidates(connection, scope, file_roots, passages)
        self._scoring = Scoring(connection, query.score, self._words, self._near, scope, file_roots)
        self._by_vector: set[int] = set()
        self._unread = self._words.whole
        self._most: dict[tuple[int, int | None], float] = {}
        self._read = False

    def best(self, limit: int) -> list[Candidate]:
        """The best passage of each record, as the port's ``search`` gives them.

        Terms in more than 5 % (and more than 1,000) of the passages score but do not select, nor do the more frequent
        of the others by themselves, unless fewer than ``limit`` different contents were found without them. The vector
        selects until there are so many, too. Where each passage of the scope has one, common terms need not; if few have
        none, all of these are selected.
        """
        quota = Quota(max(READ_PASSAGES, 4 * limit), limit)
        given = max(GIVEN_CONTENTS, 2 * limit)
        if self._words.matches and self._score_narrow():
            return self._scoring.records(given)
        near = self._near
        selected, read = self._selected_by_terms(quota) if self._words.matches else ([], [])
        if near is None or near.without is None:
            self._score_best(selected, limit)
            self._select_by_common_terms(read, limit)
        if near is not None:
            self._select_by_vector(near, [*selected, *(near.without or ())], quota)
            if near.without is not None:
                self._select_by_common_terms(read, limit)
            self._add_nearest(near, limit)
        return self._scoring.records(given)

    def best_of(self, passages: Sequence[int], limit: int) -> list[Candidate]:
        """The best of ``passages``, which are of the scope and in memory, as `best` gives those of all.

        May be asked again and again: the postings are read once.
        """
        if not self._read:
            self._read = True
            if self._words.matches:
                # Many directories have use for it, so that common terms are read too.
                written = [term for term in self._words.terms if term.postings]
                read = written[: within(written, READ_ONCE)]
                self._candidates.best(read, Quota(1, 1))
                unwritten = [term for term in self._words.terms if not term.postings]
                known = {term.text for term in [*read, *unwritten] if not term.names}
                self._unread = sum(term.weight for term in self._words.terms if term.text not in known)
        cosines = self._near.passages.likeness_of(passages) if self._near is not None else {}
        said = self._candidates.said(passages)
        promising = sorted((-self._most_of(said.get(one, 0.0), cosines.get(one)), one) for one in passages)
        contents: dict[bytes | int, float] = {}
        step = max(SCORED_AT_ONCE, limit)
        for start in range(0, len(promising), step):
            least = heapq.nlargest(limit, contents.values())[-1] if len(contents) >= limit else 0.0
            if -promising[start][0] < least:
                break
            some = [one for _, one in promising[start : start + step]]
            self._scoring.add(some)
            for one in some:
                scored = self._scoring.known.get(one)
                if scored is not None:
                    contents[scored.content] = max(-scored.behind, contents.get(scored.content, 0.0))
        return self._scoring.records(limit, passages)

    def _score_narrow(self) -> bool:
        """Score a narrow scope whole where that is less work than to look at the terms' postings; whether it was done."""
        if self._words.size <= NARROW_PASSAGES:
            return False
        few = self._candidates.whole_scope(NARROW_PASSAGES)
        if few is not None:
            self._scoring.add(few)
        return few is not None

    def _selected_by_terms(self, quota: Quota) -> tuple[list[int], list[Term]]:
        """What the terms select that are not common, and the terms whose postings were read to their end."""
        named = NAMED_PASSAGES
        covered = self._near is not None and self._near.without is not None
        if covered:
            # What ranks low by its words and is not among the nearest either is not among the best.
            named = NAMED_PASSAGES // 4
            quota = Quota(max(quota.passages // 2, quota.contents), quota.contents)
        selecting = self._words.selecting()
        if not selecting and self._candidates.in_memory and not covered:
            # Of common terms the rarest is read whole where that is quicker than to look for good passages of it.
            selecting = [term for term in self._words.terms if 0 < term.postings <= COMMON_IN_MEMORY][:1]
        first = within(selecting, POSTINGS_IN_MEMORY if self._candidates.in_memory else SELECTED_POSTINGS)
        read = selecting[:first]
        ids = self._candidates.named(self._words.naming(), Quota(max(named, quota.passages), quota.contents))
        ids += self._candidates.best(read, quota)
        # A name adds to what a passage's text says, so that of terms in names the postings do not tell all.
        known = {term.text for term in read if not term.names}
        self._unread = sum(term.weight for term in self._words.terms if term.text not in known)
        ids += self._candidates.pairs(selecting, first, Quota(quota.passages // 2, quota.contents))
        return ids, read

    def _select_by_common_terms(self, read: Sequence[Term], limit: int) -> None:
        """Score what the other terms select, as far as there are too few contents."""
        if not self._words.matches:
            return
        more = self._candidates.more(self._words.left(read), Quota(STEP, limit))
        while self._scoring.contents < limit and (ids := next(more, None)) is not None:
            self._scoring.add(ids)

    def _select_by_vector(self, near: Near, selected: Sequence[int], quota: Quota) -> None:
        """Score the best of the ``selected`` and the nearest passages, more of these as far as there are too few contents."""
        count = quota.passages
        while ids := near.passages.take(count):
            before = len(self._scoring.scored)
            self._by_vector.update(ids)
            self._score_best([*selected, *ids], quota.contents)
            # What is farther away than passages that score nothing scores nothing either.
            if self._scoring.contents >= quota.contents or len(self._scoring.scored) == before:
                break
            count *= GROWTH

    def _add_nearest(self, near: Near, limit: int) -> None:
        """Score the nearest passage of each of the best records: it may be better than what selected the record."""
        records: set[tuple[int, int]] = set()
        contents: set[bytes | int] = set()
        for scored in sorted(self._scoring.scored):
            records.add((scored.node_id, scored.level))
            contents.add(scored.content)
            if len(contents) == limit:
                break
        # Of what the vector selected it is the nearest already.
        records.difference_update((one.node_id, one.level) for one in self._scoring.scored if one.id in self._by_vector)
        if records:
            self._score_best(near.passages.best_of(records), limit)

    def _score_best(self, ids: Iterable[int], limit: int) -> None:
        """Score those of the passages that may be among the best of ``limit`` contents, the most promising first."""
        new = {*ids} - self._scoring.seen
        cosines = self._near.passages.likeness_of(new) if self._near is not None else {}
        said, unsaid = self._candidates.said(new), self._candidates.unsaid
        promising = sorted((-self._most_of(said.get(one, unsaid), cosines.get(one)), one) for one in new)
        step = max(SCORED_AT_ONCE, limit)
        for start in range(0, len(promising), step):
            if -promising[start][0] < self._scoring.lowest(limit):
                break
            self._scoring.add([one for _, one in promising[start : start + step]])

    def _most_of(self, said: float, cosine: float | None) -> float:
        """The most that a passage can score of which the terms that were read say ``said``, in weight.

        ``cosine`` is as the scan has it, None if the passage has no vector.
        """
        words = min((said + self._unread) / self._words.whole, 1.0) if self._words.matches else 0.0
        key = (math.ceil(words * WORD_STEPS), None if cosine is None else math.ceil(cosine * COSINE_STEPS))
        found = self._most.get(key)
        if found is None:
            said = min(key[0] / WORD_STEPS, 1.0)
            near = None if key[1] is None else key[1] / COSINE_STEPS + COSINE_ERROR
            found = self._most[key] = max(self._query.score(kind, said, near) for kind in self._context_types)
        return found
