"""The tables of sessions in an account's database.

A session lives and dies with the directory at its path, its rows with its row. Client ids outlive the archiving of
their messages, so that a repetition is known for as long as there is a session.
"""

from __future__ import annotations

import sqlite3
from typing import Final

_STATEMENTS: Final = (
    """
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        path TEXT NOT NULL UNIQUE,
        directory TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        last_message_at INTEGER,
        last_commit_at INTEGER,
        last_auto_commit_at INTEGER,
        messages INTEGER NOT NULL DEFAULT 0,
        total INTEGER NOT NULL DEFAULT 0,
        pending INTEGER NOT NULL DEFAULT 0,
        commits INTEGER NOT NULL DEFAULT 0,
        settings TEXT NOT NULL
    )
    """,
    "CREATE INDEX sessions_directory ON sessions (directory, updated_at DESC)",
    """
    CREATE TABLE session_messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        message TEXT NOT NULL
    )
    """,
    "CREATE INDEX session_messages_session ON session_messages (session_id, id)",
    """
    CREATE TABLE session_client_ids (
        session_id INTEGER NOT NULL, client_id TEXT NOT NULL, message_ids TEXT NOT NULL,
        PRIMARY KEY (session_id, client_id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE session_archives (
        session_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        state TEXT NOT NULL,
        messages INTEGER NOT NULL,
        abstract TEXT NOT NULL DEFAULT '',
        overview TEXT NOT NULL DEFAULT '',
        created_at INTEGER NOT NULL,
        PRIMARY KEY (session_id, number)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE session_tool_results (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id INTEGER NOT NULL,
        result_id TEXT NOT NULL,
        tool_name TEXT NOT NULL,
        mime_type TEXT NOT NULL,
        shown INTEGER NOT NULL,
        size INTEGER NOT NULL,
        content TEXT NOT NULL,
        UNIQUE (session_id, result_id)
    )
    """,
    """
    CREATE TABLE session_uses (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id INTEGER NOT NULL,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        uri TEXT NOT NULL,
        detail TEXT NOT NULL
    )
    """,
    "CREATE INDEX session_uses_session ON session_uses (session_id)",
    """
    CREATE TRIGGER sessions_end AFTER DELETE ON sessions BEGIN
        DELETE FROM session_messages WHERE session_id = OLD.id;
        DELETE FROM session_client_ids WHERE session_id = OLD.id;
        DELETE FROM session_archives WHERE session_id = OLD.id;
        DELETE FROM session_tool_results WHERE session_id = OLD.id;
        DELETE FROM session_uses WHERE session_id = OLD.id;
    END
    """,
)


def sessions_tables(connection: sqlite3.Connection) -> None:
    """The migration that adds sessions to an account's database, inside of a transaction."""
    for statement in _STATEMENTS:
        connection.execute(statement)
