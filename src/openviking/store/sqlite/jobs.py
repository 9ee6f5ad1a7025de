"""The job queue in the account's database."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Sequence

from openviking.clock import now_ms
from openviking.store.jobs import Job, NewJob
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.rows import marks


def enqueue(connection: sqlite3.Connection, job: NewJob) -> int:
    """Queue a job inside of a write transaction; one that waits already under the same key stays as it is."""
    row = connection.execute(
        "INSERT INTO jobs (kind, key, payload, state, due) VALUES (?, ?, ?, 'queued', ?)"
        " ON CONFLICT (kind, key) WHERE state = 'queued' DO NOTHING RETURNING id",
        (job.kind, job.key, json.dumps(job.payload), now_ms() + job.delay),
    ).fetchone()
    if row is None:
        row = connection.execute(
            "SELECT id FROM jobs WHERE kind = ? AND key = ? AND state = 'queued'", (job.kind, job.key)
        ).fetchone()
    return int(row[0])


class SqliteJobs:
    """The `openviking.store.jobs.JobQueue` of one database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def enqueue(self, job: NewJob) -> int:
        """The id of the queued job, or of the one that waits already."""
        with self._connections.writing() as connection:
            return enqueue(connection, job)

    def claim(
        self, kinds: Sequence[str], lease_ms: int, *, only: int | None = None, due_only: bool = True
    ) -> Job | None:
        """The next job to work on, oldest first."""
        now = now_ms()
        wanted = (
            f"kind IN ({marks(kinds)}) AND (state = 'queued' AND due <= ? OR state = 'running' AND lease_until < ?)"
            + (" AND id = ?" if only is not None else "")
        )
        values = (*kinds, now if due_only else 1 << 62, now, *(() if only is None else (only,)))
        with self._connections.reading() as connection:
            if connection.execute(f"SELECT 1 FROM jobs WHERE {wanted} LIMIT 1", values).fetchone() is None:
                return None
        with self._connections.writing() as connection:
            lease = secrets.token_hex(8)
            row = connection.execute(
                f"UPDATE jobs SET state = 'running', attempt = attempt + 1, lease = ?, lease_until = ?"
                f" WHERE id = (SELECT id FROM jobs WHERE {wanted} ORDER BY due, id LIMIT 1)"
                " RETURNING id, kind, key, payload, attempt",
                (lease, now + lease_ms, *values),
            ).fetchone()
        return Job(row[0], row[1], row[2], json.loads(row[3]), row[4], lease) if row else None

    def renew(self, job: Job, lease_ms: int) -> bool:
        """Keep the lease; False if it was lost."""
        with self._connections.writing() as connection:
            return (
                connection.execute(
                    "UPDATE jobs SET lease_until = ? WHERE id = ? AND lease = ?",
                    (now_ms() + lease_ms, job.id, job.lease),
                ).rowcount
                > 0
            )

    def finish(self, job: Job) -> None:
        """Forget a job that is done."""
        with self._connections.writing() as connection:
            connection.execute("DELETE FROM jobs WHERE id = ? AND lease = ?", (job.id, job.lease))

    def fail(self, job: Job, error: str, *, retry_in: int | None) -> None:
        """Note a failed attempt."""
        with self._connections.writing() as connection:
            waiting = connection.execute(
                "SELECT 1 FROM jobs WHERE kind = ? AND key = ? AND state = 'queued'", (job.kind, job.key)
            ).fetchone()
            if retry_in is not None and waiting is not None:
                connection.execute("DELETE FROM jobs WHERE id = ? AND lease = ?", (job.id, job.lease))
                return
            connection.execute(
                "UPDATE jobs SET state = ?, due = ?, error = ?, lease = NULL, lease_until = NULL WHERE id = ? AND lease = ?",
                ("failed" if retry_in is None else "queued", now_ms() + (retry_in or 0), error, job.id, job.lease),
            )

    def waiting(self, up_to: int | None = None) -> dict[str, int]:
        """Jobs that are not done, by kind."""
        with self._connections.reading() as connection:
            return dict(
                connection.execute(
                    "SELECT kind, count(*) FROM jobs WHERE state <> 'failed' AND id <= ? GROUP BY kind ORDER BY kind",
                    (1 << 62 if up_to is None else up_to,),
                ).fetchall()
            )

    def newest(self) -> int:
        """The highest job id ever given."""
        with self._connections.reading() as connection:
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'").fetchone()
            return int(row[0]) if row else 0

    def next_due(self) -> int | None:
        """When the next job may be claimed."""
        with self._connections.reading() as connection:
            row = connection.execute(
                "SELECT min(CASE WHEN state = 'queued' THEN due ELSE lease_until END) FROM jobs WHERE state <> 'failed'"
            ).fetchone()
            return None if row[0] is None else int(row[0])

    def failed(self) -> list[tuple[Job, str]]:
        """Jobs that were given up."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                "SELECT id, kind, key, payload, attempt, error FROM jobs WHERE state = 'failed' ORDER BY id"
            )
            return [(Job(row[0], row[1], row[2], json.loads(row[3]), row[4], ""), row[5]) for row in rows]
