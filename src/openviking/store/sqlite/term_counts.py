"""How many passages and names have a term: read from the postings once for each state of an account."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from typing import Final

MOST_TERMS: Final = 20_000


class TermCounts:
    """Counts of terms in the newest state that any view of a store has asked for.

    SQLite walks all postings of a term to count them. A change number stands for one state of the whole account, so
    what was counted in it is right for all views of it, in whatever thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._change = -1
        self._known: dict[str, tuple[int, int]] = {}

    @property
    def remembered(self) -> int:
        """How many terms' counts are kept; a little more than `MOST_TERMS` at most."""
        return len(self._known)

    def of(self, connection: sqlite3.Connection, terms: Sequence[str]) -> dict[str, tuple[int, int]]:
        """By term, how many passages and how many names have it in the state that ``connection`` sees."""
        (change,) = connection.execute("SELECT value FROM meta WHERE name = 'change'").fetchone()
        with self._lock:
            if change > self._change or len(self._known) > MOST_TERMS:
                self._change, self._known = max(change, self._change), {}
            known = self._known if change == self._change else {}
        counts = {term: known.get(term) or _count(connection, term) for term in terms}
        known.update(counts)
        return counts


def _count(connection: sqlite3.Connection, term: str) -> tuple[int, int]:
    passages, names = (
        connection.execute(f"SELECT doc FROM {table} WHERE term = ?", (term,)).fetchone()
        for table in ("word_counts", "name_counts")
    )
    return (int(passages[0]) if passages else 0, int(names[0]) if names else 0)
