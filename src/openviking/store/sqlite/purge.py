"""Clearing away what was removed, a bounded piece at a time."""

from __future__ import annotations

import sqlite3
from typing import Final

from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.schema import GRAVE, REMOVED
from openviking.store.sqlite.words import drop_passages

KEPT_CHANGES: Final = 200_000


def purge(connection: sqlite3.Connection, contents: Contents, limit: int) -> int:
    """Clear up to ``limit`` removed nodes inside of a write transaction; how many there were."""
    contents.sweep(connection)
    rows = connection.execute(
        "SELECT n.id, n.hash, n.text_hash, d.id, n.name FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id"
        " WHERE d.path >= ? AND d.path < ' ' AND d.path <> '' ORDER BY n.name = '', d.path DESC, n.id LIMIT ?",
        (REMOVED, limit),
    ).fetchall()
    for node_id, digest, text_digest, directory, name in rows:
        for level in (0, 1, 2):
            drop_passages(connection, node_id, level)
        connection.execute("DELETE FROM names WHERE rowid = ?", (node_id,))
        connection.execute("DELETE FROM tags WHERE node_id = ?", (node_id,))
        connection.execute("DELETE FROM nodes WHERE id = ?", (node_id,))
        connection.execute("DELETE FROM sources WHERE node_id = ?", (node_id,))
        for old in {digest, text_digest} - {None}:
            contents.release(connection, old)
        if name == "" and directory != GRAVE:
            connection.execute("DELETE FROM sidecars WHERE directory_id = ?", (directory,))
            connection.execute("DELETE FROM descriptions WHERE directory_id = ?", (directory,))
            connection.execute("DELETE FROM directories WHERE id = ?", (directory,))
    connection.execute(
        "DELETE FROM changes WHERE change <= (SELECT value FROM meta WHERE name = 'change') - ?", (KEPT_CHANGES,)
    )
    return len(rows)
