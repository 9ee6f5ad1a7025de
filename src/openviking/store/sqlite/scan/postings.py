"""What the postings of terms say of the passages of a scope, by the lengths that the scan keeps in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from openviking.store.bm25 import BODY_WEIGHT, FIXED, HEADING_WEIGHT, PER_WORD, SHORTEST, TITLE_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openviking.store.sqlite.scan.rows import Rows

DECIMALS: Final = 9
"""Scores that are equal to so many decimals are equal: the order in which they were summed up must not decide."""

_FIELDS: Final = 4
_WEIGHTS: Final = np.array([BODY_WEIGHT, TITLE_WEIGHT, HEADING_WEIGHT], np.float64)
# One text for all postings of a term: a row for each takes ten times longer.
_OF_TERM: Final = (
    f"SELECT group_concat(doc * {_FIELDS} + CASE col WHEN 'title' THEN 1 WHEN 'heading' THEN 2 ELSE 0 END)"
    " FROM temp.word_instances WHERE term = ?"
)

Row = tuple[float, int, int, int, int]
"""A passage with its score: score, id, node, level, and the id again in place of where it starts."""


class Passages:
    """The passages of a scope, each once, in no particular order."""

    def __init__(self, parts: Sequence[tuple[Rows, NDArray[np.intp]]]) -> None:
        self.ids = np.concatenate([rows.passage[places] for rows, places in parts])
        self.nodes = np.concatenate([rows.node[places] for rows, places in parts])
        self.levels = np.concatenate([rows.level[places] for rows, places in parts])
        lengths = np.concatenate([rows.length[places] for rows, places in parts])
        self.fixed = FIXED + PER_WORD * np.maximum(lengths, SHORTEST).astype(np.float64)
        self.places = np.full(int(self.ids.max(initial=0)) + 2, -1, np.int32)
        self.places[self.ids] = np.arange(len(self.ids))

    def at(self, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """The place of each passage, -1 of one that is not in the scope."""
        return np.take(self.places, np.minimum(ids, len(self.places) - 1))


class Said:
    """What some terms say of the passages of a scope; `fetchmany` gives the best first."""

    def __init__(self, connection: sqlite3.Connection, scope: Passages, terms: Sequence[tuple[str, float]]) -> None:
        """``terms`` come with their weights; the connection has the table ``word_instances``."""
        self._scope = scope
        scores = np.zeros(len(scope.ids), np.float64)
        for term, weight in terms:
            (joined,) = connection.execute(_OF_TERM, (term,)).fetchone()
            if joined is None:
                continue
            postings = np.fromstring(joined, np.int64, sep=",")
            ids = postings // _FIELDS
            first = np.flatnonzero(np.diff(ids, prepend=-1))
            frequencies = np.add.reduceat(_WEIGHTS[postings % _FIELDS], first)
            places = scope.at(ids[first])
            inside = places >= 0
            places, frequencies = places[inside], frequencies[inside]
            scores[places] += weight * (frequencies / (frequencies + scope.fixed[places]))
        there = np.flatnonzero(scores)
        scores[there] = np.round(scores[there], DECIMALS)
        self._scores = scores
        self._ordered = there[np.argsort(-scores[there], kind="stable")]
        self._next = 0

    def fetchmany(self, size: int) -> list[Row]:
        """The next ``size`` passages by their scores, fewer only at the end."""
        some = self._ordered[self._next : self._next + size]
        self._next += len(some)
        scope = self._scope
        ids = scope.ids[some].tolist()
        return list(
            zip(
                self._scores[some].tolist(),
                ids,
                scope.nodes[some].tolist(),
                scope.levels[some].tolist(),
                ids,
                strict=True,
            )
        )

    def of(self, passages: Collection[int]) -> dict[int, float]:
        """The scores of those of ``passages`` that are in the scope."""
        ids = np.array(list(passages), np.int64)
        places = self._scope.at(ids)
        inside = places >= 0
        return dict(zip(ids[inside].tolist(), self._scores[places[inside]].tolist(), strict=True))
