"""What is known of a fetched source beside its address: a text that only the import of it reads."""

from __future__ import annotations

import sqlite3


def fetched_column(connection: sqlite3.Connection) -> None:
    """Add the column ``state`` to the sources; sources of the local disk keep it empty."""
    connection.execute("ALTER TABLE sources ADD COLUMN state TEXT NOT NULL DEFAULT ''")
