"""The column in which an account's database counts what the commits of a session made, and what that took."""

from __future__ import annotations

import sqlite3


def extracted_column(connection: sqlite3.Connection) -> None:
    """The migration that gives sessions their counts, as an object of numbers."""
    connection.execute("ALTER TABLE sessions ADD COLUMN extracted TEXT NOT NULL DEFAULT '{}'")
