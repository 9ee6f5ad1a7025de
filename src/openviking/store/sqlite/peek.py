"""Looking into an account's database without opening its store."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path


def has_jobs(directory: Path) -> bool:
    """Whether jobs, watches or idle sessions wait in the store at ``directory``; also where that can't be told without opening it."""
    path = directory / "store.db"
    if not path.is_file():
        return False
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            waiting = "jobs WHERE state <> 'failed' UNION ALL SELECT 1 FROM watches WHERE due IS NOT NULL"
            waiting += " UNION ALL SELECT 1 FROM sessions WHERE idle_at IS NOT NULL"
            return connection.execute(f"SELECT 1 FROM {waiting} LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return True
