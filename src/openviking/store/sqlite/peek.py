"""Looking into an account's database without opening its store."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path


def has_jobs(directory: Path) -> bool:
    """Whether jobs wait in the store at ``directory``; also where that can't be told without opening it."""
    path = directory / "store.db"
    if not path.is_file():
        return False
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT 1 FROM jobs WHERE state <> 'failed' LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return True
