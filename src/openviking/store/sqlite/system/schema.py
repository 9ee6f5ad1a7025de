"""The tables of the system database, as numbered migrations.

A migration is never changed once it was released; a new one is added behind it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final

APPLICATION: Final = int.from_bytes(b"OVsy")
"""Stands in the header of the database (``PRAGMA application_id``), so that no account's is taken for it."""

_FIRST: Final = """
CREATE TABLE accounts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    settings TEXT NOT NULL
);
CREATE UNIQUE INDEX accounts_any_case ON accounts (account_id COLLATE NOCASE);

CREATE TABLE users (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    settings TEXT NOT NULL,
    deletion TEXT,
    key_form TEXT NOT NULL,
    key_salt BLOB NOT NULL,
    key_value BLOB NOT NULL,
    key_prefix TEXT NOT NULL,
    UNIQUE (account_id, user_id)
);
CREATE INDEX users_deleted ON users (number) WHERE deletion IS NOT NULL;
CREATE INDEX users_plain ON users (number) WHERE key_form = 'plain';

CREATE TABLE former (
    account_id TEXT NOT NULL, user_id TEXT NOT NULL, PRIMARY KEY (account_id, user_id)
) WITHOUT ROWID;

CREATE TABLE places (
    account_id TEXT PRIMARY KEY,
    place TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX places_any_case ON places (place COLLATE NOCASE);

CREATE TABLE removed (place TEXT PRIMARY KEY COLLATE NOCASE, at INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE work (account_id TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE watched (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    at INTEGER NOT NULL
);
"""


def _first(connection: sqlite3.Connection) -> None:
    for statement in _FIRST.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")


MIGRATIONS: Final[tuple[Callable[[sqlite3.Connection], None], ...]] = (_first,)
