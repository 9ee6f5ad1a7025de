"""When a walk has found what it will find (contract/retrieval.md §8.4, step 12)."""

from __future__ import annotations

import heapq
from collections.abc import Mapping


class Convergence:
    """Watches the best ``limit`` of a pool; the walk ends after ``rounds`` rounds that changed nothing."""

    def __init__(self, limit: int, rounds: int) -> None:
        self._limit = limit
        self._rounds = rounds
        self._last: frozenset[str] = frozenset()
        self._size = 0
        self.unchanged = 0
        self.stagnant = 0

    def ends(self, pool: Mapping[str, float]) -> bool:
        """Whether the walk ends after a round that left ``pool``, scores by path; equal scores count by path."""
        best = frozenset(heapq.nsmallest(self._limit, pool, key=lambda path: (-pool[path], path)))
        if best == self._last and len(best) >= self._limit:
            self.unchanged += 1
        elif len(pool) <= self._size:
            self.stagnant += 1
        else:
            self.unchanged = self.stagnant = 0
        self._last, self._size = best, len(pool)
        return max(self.unchanged, self.stagnant) >= self._rounds
