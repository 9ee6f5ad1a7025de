"""The columns that count uses in an account's database: with each node, so that they live, move and die with it."""

from __future__ import annotations

import sqlite3


def uses_columns(connection: sqlite3.Connection) -> None:
    """The migration that gives nodes their count, and what sessions tell whether it was counted."""
    connection.execute("ALTER TABLE nodes ADD COLUMN active_count INTEGER NOT NULL DEFAULT 0")
    connection.execute("ALTER TABLE session_uses ADD COLUMN counted INTEGER NOT NULL DEFAULT 0")
