"""The table of tasks in an account's database, and how the queue of jobs tells them what becomes of their work.

The rules are triggers on ``jobs``: whoever changes a job, its task follows in the same transaction, also where a
claim gives up what a dead process left. ``job_id`` is NULL when a task is over, and a job that has a task never stays
in the queue as given up: its task says why.
"""

from __future__ import annotations

import sqlite3
from typing import Final

_NOW: Final = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
"""Milliseconds since the epoch; ``unixepoch('subsec')`` came after the oldest SQLite that is supported."""

_STATEMENTS: Final = (
    """
    CREATE TABLE tasks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        task_id TEXT NOT NULL UNIQUE,
        type TEXT NOT NULL,
        owner TEXT NOT NULL,
        internal INTEGER NOT NULL,
        status TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        resource_id TEXT NOT NULL,
        meta TEXT NOT NULL,
        stage TEXT NOT NULL DEFAULT '',
        progress TEXT NOT NULL DEFAULT 'null',
        result TEXT NOT NULL DEFAULT 'null',
        error TEXT NOT NULL DEFAULT '',
        job_id INTEGER
    )
    """,
    "CREATE INDEX tasks_owner ON tasks (owner, id)",
    "CREATE UNIQUE INDEX tasks_job ON tasks (job_id) WHERE job_id IS NOT NULL",
    "CREATE INDEX tasks_over ON tasks (updated_at) WHERE job_id IS NULL",
    f"""
    CREATE TRIGGER tasks_run AFTER UPDATE OF state ON jobs WHEN NEW.state = 'running' BEGIN
        UPDATE tasks SET status = 'running', error = '', updated_at = {_NOW}
            WHERE job_id = NEW.id AND status = 'pending';
    END
    """,
    f"""
    CREATE TRIGGER tasks_wait AFTER UPDATE OF state ON jobs WHEN NEW.state = 'queued' BEGIN
        UPDATE tasks SET status = 'pending', error = NEW.error, updated_at = {_NOW}
            WHERE job_id = NEW.id AND status = 'running';
        DELETE FROM jobs WHERE id = NEW.id
            AND EXISTS (SELECT 1 FROM tasks WHERE job_id = NEW.id AND status = 'cancelling');
    END
    """,
    f"""
    CREATE TRIGGER tasks_fail AFTER UPDATE OF state ON jobs WHEN NEW.state = 'failed' BEGIN
        UPDATE tasks SET status = CASE status WHEN 'cancelling' THEN 'cancelled' ELSE 'failed' END,
            error = CASE status WHEN 'cancelling' THEN '' ELSE NEW.error END, updated_at = {_NOW}
            WHERE job_id = NEW.id;
        DELETE FROM jobs WHERE id = NEW.id AND EXISTS (SELECT 1 FROM tasks WHERE job_id = NEW.id);
    END
    """,
    f"""
    CREATE TRIGGER tasks_end AFTER DELETE ON jobs BEGIN
        UPDATE tasks SET job_id = NULL, updated_at = {_NOW}, status = CASE status
            WHEN 'running' THEN 'completed' WHEN 'pending' THEN 'cancelled' WHEN 'cancelling' THEN 'cancelled'
            ELSE status END
            WHERE job_id = OLD.id;
    END
    """,
)


def tasks_tables(connection: sqlite3.Connection) -> None:
    """The migration that adds tasks to an account's database, inside of a transaction."""
    for statement in _STATEMENTS:
        connection.execute(statement)
