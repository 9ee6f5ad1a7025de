"""The table of watches in an account's database, and how the end of an import tells its watch.

The rule is a trigger on ``tasks``, as the tasks follow the queue: a task that is over, be it by its process, by a
cancelling caller or because its process died too often, leaves its outcome with its watch in the same transaction.
"""

from __future__ import annotations

import sqlite3
from typing import Final

STEP: Final = "max(interval, 60000)"
"""Milliseconds between two looks; see `openviking.store.watches.SHORTEST_MS`."""

JITTER: Final = "abs(random() % (min(max(interval, 60000) / 20, 300000) + 1))"
"""Up to a twentieth of an interval, at most five minutes: what was added at once is not fetched at once for ever."""

PAUSE: Final = "min(max(interval, 60000) * (1 << min(failures, 20)), max(interval, 86400000))"
"""What follows a failure, with the failures before it; see `openviking.store.watches.LONGEST_PAUSE_MS`."""

_STATEMENTS: Final = (
    """
    CREATE TABLE watches (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        watch_id TEXT NOT NULL UNIQUE,
        path TEXT NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        role TEXT NOT NULL,
        location TEXT NOT NULL,
        interval INTEGER NOT NULL,
        reason TEXT NOT NULL,
        instruction TEXT NOT NULL,
        request TEXT NOT NULL,
        active INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        due INTEGER,
        task TEXT NOT NULL DEFAULT '',
        looked_at INTEGER,
        status TEXT NOT NULL DEFAULT '',
        error TEXT NOT NULL DEFAULT '',
        failures INTEGER NOT NULL DEFAULT 0
    )
    """,
    "CREATE INDEX watches_owner ON watches (owner, id)",
    "CREATE INDEX watches_due ON watches (due) WHERE due IS NOT NULL",
    "CREATE INDEX watches_looked ON watches (looked_at) WHERE due IS NOT NULL",
    "CREATE INDEX watches_task ON watches (task) WHERE task <> ''",
    f"""
    CREATE TRIGGER watches_end AFTER UPDATE OF job_id ON tasks
        WHEN OLD.job_id IS NOT NULL AND NEW.job_id IS NULL BEGIN
        UPDATE watches SET status = NEW.status,
            error = CASE NEW.status WHEN 'failed' THEN NEW.error WHEN 'completed' THEN '' ELSE error END,
            failures = CASE NEW.status WHEN 'failed' THEN failures + 1 WHEN 'completed' THEN 0 ELSE failures END,
            due = CASE
                WHEN NOT active THEN NULL
                WHEN NEW.status = 'failed' THEN NEW.updated_at + {PAUSE} + {JITTER}
                WHEN due IS NULL OR due <= NEW.updated_at THEN NEW.updated_at + {STEP} + {JITTER}
                ELSE due END
            WHERE task = NEW.task_id AND task <> '';
    END
    """,
)


def watches_tables(connection: sqlite3.Connection) -> None:
    """The migration that adds watches to an account's database, inside of a transaction."""
    for statement in _STATEMENTS:
        connection.execute(statement)
