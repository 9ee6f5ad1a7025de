"""The column that tells when a session is to be committed because nobody speaks in it any more (`idle`)."""

from __future__ import annotations

import sqlite3

from openviking.store.sqlite.idle import note_idle


def idle_column(connection: sqlite3.Connection) -> None:
    """The migration that adds it, and fills it for the sessions that have a policy, inside of a transaction."""
    connection.execute("ALTER TABLE sessions ADD COLUMN idle_at INTEGER")
    connection.execute("CREATE INDEX sessions_idle ON sessions (idle_at) WHERE idle_at IS NOT NULL")
    for (session,) in connection.execute("SELECT id FROM sessions WHERE messages > 0").fetchall():
        note_idle(connection, session)
