"""The tables of erasing: what takes free pages to overwrite them, and which notes still name what was redacted.

``overwriting`` is empty in between (`erasing`). ``redactions`` has the paths of notes in which changes made of a redacted
message are named until their memories are gone; it lives and dies with the session.
"""

from __future__ import annotations

import sqlite3
from typing import Final

_STATEMENTS: Final = (
    "CREATE TABLE overwriting (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE TABLE redactions (session_id INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY (session_id, path)) WITHOUT ROWID",
    "CREATE TRIGGER redactions_end AFTER DELETE ON sessions BEGIN DELETE FROM redactions WHERE session_id = OLD.id; END",
)


def erasing_tables(connection: sqlite3.Connection) -> None:
    """The migration that adds them, inside of a transaction."""
    for statement in _STATEMENTS:
        connection.execute(statement)
