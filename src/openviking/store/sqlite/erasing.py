"""Overwrites the bytes of what was removed, where SQLite leaves them: free pages, the index of words, the log, files.

SQLite clears what is deleted within its page (``secure_delete``), but a page that becomes free keeps its bytes, the
index of words keeps the words of removed passages until its segments are merged, and pages whose rows were moved to
others keep pieces in their gaps. Only writing every page anew (``VACUUM``) clears those gaps; it holds the write lock
for as long as that takes, so it is done for what is small or where it is asked for. All else is done in transactions
that hold the lock for some hundredths of a second.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Final

from openviking.errors import UnavailableError
from openviking.store.erasure import Erased
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.contents import SWEPT_AT_ONCE, Contents
from openviking.store.sqlite.loose import forget_loose
from openviking.store.sqlite.scan.scans import Scans

REWRITTEN_BYTES: Final = 512 * 1024 * 1024
"""A database of at most so many bytes is written anew unless it is said not to be."""

MERGED_PAGES: Final = 500
"""Pages of the index of words that one transaction merges."""

OVERWRITTEN_PAGES: Final = 512
"""Free pages that one transaction takes."""

PATIENCE_S: Final = 30.0
LONGEST_S: Final = 1.0
"""The longest that one attempt waits for readers; writers wait meanwhile, for new ones would begin behind each write."""

_LOOK_S: Final = 0.05
_INDEXES: Final = ("words", "names")


class Eraser:
    """Erases in one account's database and in the files beside it."""

    def __init__(self, connections: Connections, contents: Contents, scans: Scans) -> None:
        self._connections = connections
        self._contents = contents
        self._scans = scans

    def erase(self, stopped: Callable[[], bool], *, rewrite: bool | None) -> Erased | None:
        """As `openviking.store.port.AccountStore.erase`."""
        before = self._bytes()
        whole = before <= REWRITTEN_BYTES if rewrite is None else rewrite
        # Whoever reads one state for long is met before all is written anew, not after it.
        written = [self._truncate, self._rewrite] if whole else [self._overwrite]
        steps = [self._forget, self._sweep, self._merge, *written, self._truncate]
        for step in steps:
            if not step(stopped):
                return None
        self._scans.forget()
        return Erased(whole, before, self._bytes())

    def _bytes(self) -> int:
        with self._connections.reading() as connection:
            return _number(connection, "page_count") * _number(connection, "page_size")

    def _forget(self, stopped: Callable[[], bool]) -> bool:
        """Let go at once of what is kept for a while: vectors of contents that are gone, files of large contents."""
        left = 1
        while left:
            if stopped():
                return False
            with self._connections.writing() as connection:
                self._contents.sweep(connection, at_once=True)
                (released,) = connection.execute("SELECT count(*) FROM released").fetchone()
                left = forget_loose(connection, at_once=True) + released
        return True

    def _sweep(self, stopped: Callable[[], bool]) -> bool:
        """Delete the files of large contents that were refused, or whose writers died: no row ever named them."""
        with self._connections.reading() as connection:
            found = self._contents.strays(connection, at_once=True)
        for first in range(0, len(found), SWEPT_AT_ONCE):
            if stopped():
                return False
            with self._connections.writing() as connection:
                self._contents.sweep_strays(connection, found[first : first + SWEPT_AT_ONCE])
        return True

    def _merge(self, stopped: Callable[[], bool]) -> bool:
        """Merge the segments of each index into one: only there removed words have no place."""
        for index in _INDEXES:
            pages = -MERGED_PAGES
            while True:
                if stopped():
                    return False
                with self._connections.writing() as connection:
                    before = connection.total_changes
                    connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))
                    # The statement itself counts as a change; without another one there was nothing to merge.
                    merged = connection.total_changes - before > 1
                if pages > 0 and not merged:
                    break
                pages = MERGED_PAGES
        return True

    def _overwrite(self, stopped: Callable[[], bool]) -> bool:
        """Fill the free pages with zeros by making them pages of a table, and free them again."""
        free = 1
        while free and not stopped():
            with self._connections.writing() as connection:
                free = _number(connection, "freelist_count")
                size = _number(connection, "page_size")
                for length in _rows(min(free, OVERWRITTEN_PAGES), size):
                    connection.execute("INSERT INTO overwriting (data) VALUES (zeroblob(?))", (length,))
        deleted = 1
        while deleted:
            # Also when stopped: pages that nothing else can use would be left.
            with self._connections.writing() as connection:
                deleted = connection.execute(
                    "DELETE FROM overwriting WHERE id IN (SELECT id FROM overwriting LIMIT 64)"
                ).rowcount
        return not free

    def _rewrite(self, stopped: Callable[[], bool]) -> bool:
        """Write every page anew."""

        def attempt(connection: sqlite3.Connection) -> bool:
            try:
                connection.execute("VACUUM")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                    raise
                return False
            return True

        return self._patiently(stopped, attempt, "others have been writing")

    def _truncate(self, stopped: Callable[[], bool]) -> bool:
        """Bring the log into the database and cut it off."""
        return self._patiently(
            stopped,
            lambda connection: not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0],
            "others have been reading one state",
        )

    def _patiently(self, stopped: Callable[[], bool], attempt: Callable[[sqlite3.Connection], bool], why: str) -> bool:
        """Try until it succeeds, each time for longer; raises `UnavailableError` where others are in its way for too long."""
        deadline = time.monotonic() + PATIENCE_S
        pause = threading.Event()
        wait = _LOOK_S
        while not stopped():
            with self._connections.alone(wait) as connection:
                if attempt(connection):
                    return True
            if time.monotonic() >= deadline:
                raise UnavailableError(f"The store is busy: {why} for {PATIENCE_S:g} s", service="store", reason="busy")
            # As long as they waited, writers have their turn.
            pause.wait(wait)
            wait = min(wait * 2, LONGEST_S)
        return False


def _rows(pages: int, size: int) -> list[int]:
    """Lengths of rows that take ``pages`` pages of ``size`` bytes: long ones of overflow pages, then one a page."""
    long, rest = divmod(pages, 64)
    return [63 * (size - 4)] * long + [size - 96] * rest


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
