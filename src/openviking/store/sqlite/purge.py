"""Clearing away what was removed: a little at once, more a bounded piece at a time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from openviking.clock import now_ms
from openviking.store.jobs import NewJob
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.jobs import enqueue
from openviking.store.sqlite.loose import LOOSE_JOB, any_loose, forget_loose
from openviking.store.sqlite.models import clear_unused
from openviking.store.sqlite.rows import inside, inside_values
from openviking.store.sqlite.schema import GRAVE, REMOVED, STAGED, STAGED_END
from openviking.store.sqlite.words import drop_passages

PURGED_NODES: Final = 256
PURGED_PASSAGES: Final = 2000
"""What one batch removes up to here is cleared away in its own transaction, so that it stops counting in scores."""

PURGE_JOB: Final = NewJob("purge", "", {}, delay=1000)

STAGED_MS: Final = 600_000
"""A writer that added nothing for so long has died: it adds many times a second."""

STAGED_JOB: Final = NewJob("purge", "staged", {}, delay=STAGED_MS + 60_000)

KEPT_CHANGES: Final = 200_000

_NODES: Final = (
    "SELECT n.id, n.hash, n.text_hash, d.id, n.name FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id"
)
_DEEPEST_FIRST: Final = "ORDER BY d.path DESC, n.name DESC"
"""Descending paths are what is below a directory before itself, its own nameless node last; both indexes give it unsorted."""


def purge(connection: sqlite3.Connection, contents: Contents, limit: int) -> int:
    """Clear up to ``limit`` removed nodes inside of a write transaction; how many were cleared, or shortened.

    It ends sooner where they have many passages, whose postings are what takes time; a node with more than are cleared
    at once is shortened. What a writer is staging is left alone while it is alive, and looked at again later. Where
    no node is left, pieces of what is kept of models out of use and of contents that are gone for long count instead.
    """
    contents.sweep(connection)
    connection.execute(
        "UPDATE nodes SET name = CAST(id AS TEXT) WHERE directory_id = ? AND name >= ? AND name < ? AND updated_at < ?",
        (GRAVE, STAGED, STAGED_END, now_ms() - STAGED_MS),
    )
    rows = connection.execute(
        f"{_NODES} WHERE d.path >= ? AND d.path < ' ' AND NOT (d.id = ? AND n.name >= ? AND n.name < ?) {_DEEPEST_FIRST} LIMIT ?",
        (REMOVED, GRAVE, STAGED, STAGED_END, limit),
    ).fetchall()
    cleared = passages = 0
    for row in rows:
        count = _passages(connection, row[0])
        if count > PURGED_PASSAGES and not cleared:
            _shorten(connection, row[0])
            cleared = 1
            break
        passages += count
        if cleared and passages > PURGED_PASSAGES:
            break
        _clear(connection, contents, [row])
        cleared += 1
    if cleared:
        # What is counted in scores is another state now (`term_counts`).
        connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'change'")
    if connection.execute(
        "SELECT 1 FROM nodes WHERE directory_id = ? AND name >= ? AND name < ? LIMIT 1",
        (GRAVE, STAGED, STAGED_END),
    ).fetchone():
        enqueue(connection, STAGED_JOB)
    cleared = cleared or clear_unused(connection) or forget_loose(connection)
    if any_loose(connection):
        enqueue(connection, LOOSE_JOB)
    return cleared


def new_grave(connection: sqlite3.Connection, name: str) -> int:
    """Make a node in the graveyard that passages can be given to, inside of a write transaction; its id."""
    cursor = connection.execute(
        "INSERT INTO nodes (directory_id, name, created_at, updated_at) VALUES (:grave, :name, :at, :at)",
        {"grave": GRAVE, "name": name, "at": now_ms()},
    )
    connection.execute("INSERT INTO names (rowid, name, tags) VALUES (?, '', '')", (cursor.lastrowid,))
    return int(cursor.lastrowid or 0)


def bury(connection: sqlite3.Connection, node_id: int, start: int) -> None:
    """Leave a file's passages from byte ``start`` on to the purge, inside of a write transaction."""
    grave = new_grave(connection, "")
    connection.execute("UPDATE nodes SET name = CAST(id AS TEXT) WHERE id = ?", (grave,))
    connection.execute("UPDATE passages SET node_id = ? WHERE node_id = ? AND start >= ?", (grave, node_id, start))


def bury_staged(connection: sqlite3.Connection, nodes: Sequence[int]) -> bool:
    """Leave staged nodes to the purge, inside of a write transaction; whether some were still there."""
    return (
        connection.execute(
            "UPDATE nodes SET name = CAST(id AS TEXT) WHERE id IN (SELECT value FROM json_each(?))"
            " AND directory_id = ? AND name >= ? AND name < ?",
            (json.dumps(list(nodes)), GRAVE, STAGED, STAGED_END),
        ).rowcount
        > 0
    )


class Budget:
    """How much more one transaction may clear away itself."""

    def __init__(self) -> None:
        self._nodes = PURGED_NODES
        self._passages = PURGED_PASSAGES

    def covers_file(self, connection: sqlite3.Connection, node_id: int) -> bool:
        """Whether a file is within the budget; it is used up by it then."""
        return self._spend(1, _passages(connection, node_id))

    def covers_passages(self, connection: sqlite3.Connection, node_id: int, start: int) -> bool:
        """Whether a file's passages from byte ``start`` on are within the budget; it is used up by them then."""
        (passages,) = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM passages WHERE node_id = ? AND start >= ? LIMIT ?)",
            (node_id, start, self._passages + 1),
        ).fetchone()
        return self._spend(0, passages)

    def covers_directory(self, connection: sqlite3.Connection, path: str, nodes: int) -> bool:
        """Whether a directory of so many ``nodes`` is within the budget; it is used up by them then."""
        if nodes > self._nodes:
            return False
        (passages,) = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id"
            f" CROSS JOIN passages p ON p.node_id = n.id WHERE {inside('d.path')} LIMIT ?)",
            (*inside_values(path), self._passages + 1),
        ).fetchone()
        return self._spend(nodes, passages)

    def _spend(self, nodes: int, passages: int) -> bool:
        if nodes > self._nodes or passages > self._passages:
            return False
        self._nodes -= nodes
        self._passages -= passages
        return True


def clear_file(connection: sqlite3.Connection, contents: Contents, node_id: int) -> None:
    """Clear away a file with all that is derived from it, inside of a write transaction."""
    rows = connection.execute("SELECT id, hash, text_hash, directory_id, name FROM nodes WHERE id = ?", (node_id,))
    _clear(connection, contents, rows.fetchall())


def clear_directory(connection: sqlite3.Connection, contents: Contents, path: str) -> None:
    """Clear away a directory and everything below it, inside of a write transaction."""
    rows = connection.execute(f"{_NODES} WHERE {inside('d.path')} {_DEEPEST_FIRST}", inside_values(path)).fetchall()
    _clear(connection, contents, rows)


def _passages(connection: sqlite3.Connection, node_id: int) -> int:
    return int(connection.execute("SELECT count(*) FROM passages WHERE node_id = ?", (node_id,)).fetchone()[0])


def _shorten(connection: sqlite3.Connection, node_id: int) -> None:
    """Clear away the last `PURGED_PASSAGES` passages of a node that has more."""
    level, start = connection.execute(
        "SELECT level, start FROM passages WHERE node_id = ? ORDER BY level DESC, start DESC LIMIT 1 OFFSET ?",
        (node_id, PURGED_PASSAGES - 1),
    ).fetchone()
    for behind in range(level + 1, 3):
        drop_passages(connection, node_id, behind)
    drop_passages(connection, node_id, level, start)


def _clear(connection: sqlite3.Connection, contents: Contents, rows: Iterable[tuple[Any, ...]]) -> None:
    for node_id, digest, text_digest, directory, name in rows:
        for level in (2,) if name else (0, 1):
            drop_passages(connection, node_id, level)
        connection.execute("DELETE FROM names WHERE rowid = ?", (node_id,))
        connection.execute("DELETE FROM tags WHERE node_id = ?", (node_id,))
        connection.execute("DELETE FROM nodes WHERE id = ?", (node_id,))
        connection.execute("DELETE FROM sources WHERE node_id = ?", (node_id,))
        for old in {digest, text_digest} - {None}:
            contents.release(connection, old)
        if not name:
            connection.execute("DELETE FROM sidecars WHERE directory_id = ?", (directory,))
            connection.execute("DELETE FROM descriptions WHERE directory_id = ?", (directory,))
            connection.execute("DELETE FROM directories WHERE id = ?", (directory,))


def trim_changes(connection: sqlite3.Connection, change: int) -> None:
    """Forget the log of changes that are long past, and note up to which."""
    forgotten = change - KEPT_CHANGES
    if connection.execute("DELETE FROM changes WHERE change <= ?", (forgotten,)).rowcount:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'forgotten'", (forgotten,))
