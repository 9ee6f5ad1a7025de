"""Searching one directory after the other with one query: what it says of the whole scope is found out once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from openviking.model.scope import Scope
from openviking.store.port import Candidate, Query
from openviking.store.sqlite.scan.scans import Scans
from openviking.store.sqlite.searching import Search

MOST_PASSAGES: Final = 4_000
"""Directories with more passages are searched as a scope of their own: to look at each of them takes longer."""

Make = Callable[[Query, Scope], Search]
"""A search of a query in a scope."""


class Inside:
    """The searches right in directories of one view, as far as the passages of the scope are in memory."""

    def __init__(self, connection: sqlite3.Connection, scans: Scans) -> None:
        self._sql = connection
        self._scans = scans
        self._last: tuple[Query, Scope, Search] | None = None

    def best(
        self, query: Query, scope: Scope, limit: int, fingerprint: str, file_roots: frozenset[str], make: Make
    ) -> list[Candidate] | None:
        """The best of ``scope``, which is within a directory; None where it is to be searched by itself."""
        if scope.within is None:
            return None
        whole = replace(scope, within=None)
        passages = self._scans.right_in(self._sql, fingerprint, whole, file_roots, scope.within)
        if passages is None or len(passages) > MOST_PASSAGES:
            return None
        if self._last is None or self._last[0] is not query or self._last[1] != whole:
            self._last = (query, whole, make(query, whole))
        return self._last[2].best_of(passages, limit)
