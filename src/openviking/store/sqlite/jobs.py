"""The job queue in the account's database."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from openviking.clock import now_ms
from openviking.store.jobs import LATER, MAX_ATTEMPTS, TIDY, Job, NewJob
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.rows import marks
from openviking.store.sqlite.tasks import add_task

_CLAIMED: Final = "RETURNING id, kind, key, payload, attempt"
_ENDED: Final = f"the process ended in each of {MAX_ATTEMPTS} attempts before the job was done"


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
    if job.task is not None:
        add_task(connection, job.task, int(row[0]), "pending")
    return int(row[0])


def clear_up(connection: sqlite3.Connection, ended: Iterable[tuple[int, str]]) -> None:
    """Queue what clears up after jobs that ended undone, given by id and payload, inside of that write transaction."""
    for number, payload in ended:
        told = json.loads(payload)
        if told.get(TIDY):
            enqueue(connection, NewJob(told[TIDY], f"{number}", {**told, TIDY: None}))


class SqliteJobs:
    """The `openviking.store.jobs.JobQueue` of one database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def enqueue(self, job: NewJob) -> int:
        """The id of the queued job, or of the one that waits already."""
        with self._connections.writing() as connection:
            return enqueue(connection, job)

    def start(self, job: NewJob, lease_ms: int) -> Job:
        """``job``, queued and claimed at once."""
        now, lease, payload = now_ms(), secrets.token_hex(8), json.dumps(job.payload)
        with self._connections.writing() as connection:
            row = connection.execute(
                "UPDATE jobs SET state = 'running', payload = ?, attempt = 1, lease = ?, lease_until = ?"
                f" WHERE kind = ? AND key = ? AND state = 'queued' {_CLAIMED}",
                (payload, lease, now + lease_ms, job.kind, job.key),
            ).fetchone()
            if row is None:
                row = connection.execute(
                    "INSERT INTO jobs (kind, key, payload, state, attempt, due, lease, lease_until)"
                    f" VALUES (?, ?, ?, 'running', 1, ?, ?, ?) {_CLAIMED}",
                    (job.kind, job.key, payload, now, lease, now + lease_ms),
                ).fetchone()
            if job.task is not None:
                add_task(connection, job.task, row[0], "running")
        return _job(row, lease)

    def claim(
        self, kinds: Sequence[str], lease_ms: int, *, up_to: int | None = None, due_only: bool = True
    ) -> Job | None:
        """The next job to work on, the one that is due for longest."""
        now = now_ms()
        due = "due <= ?" if due_only else "(due <= ? OR attempt = 0)"
        wanted = (
            f"kind IN ({marks(kinds)}) AND id <= ?"
            f" AND (state = 'queued' AND {due} OR state = 'running' AND lease_until < ?)"
        )
        values = (*kinds, 1 << 62 if up_to is None else up_to, now, now)
        with self._connections.reading() as connection:
            if connection.execute(f"SELECT 1 FROM jobs WHERE {wanted} LIMIT 1", values).fetchone() is None:
                return None
        with self._connections.writing() as connection:
            given_up = connection.execute(
                f"UPDATE jobs SET state = 'failed', error = ?, lease = NULL, lease_until = NULL"
                f" WHERE kind IN ({marks(kinds)}) AND state = 'running' AND lease_until < ? AND attempt >= ?"
                " RETURNING id, payload",
                (_ENDED, *kinds, now, MAX_ATTEMPTS),
            ).fetchall()
            clear_up(connection, given_up)
            lease = secrets.token_hex(8)
            row = connection.execute(
                f"UPDATE jobs SET state = 'running', attempt = attempt + 1, lease = ?, lease_until = ?"
                f" WHERE id = (SELECT id FROM jobs WHERE {wanted} ORDER BY due, id LIMIT 1) {_CLAIMED}",
                (lease, now + lease_ms, *values),
            ).fetchone()
        return _job(row, lease) if row else None

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

    def finish(self, job: Job, *, succeeded: bool = True) -> None:
        """Forget a job that is over."""
        with self._connections.writing() as connection:
            held = connection.execute("DELETE FROM jobs WHERE id = ? AND lease = ?", (job.id, job.lease)).rowcount
            if held and succeeded:
                connection.execute(
                    "DELETE FROM jobs WHERE kind = ? AND key = ? AND state = 'failed' AND id < ?",
                    (job.kind, job.key, job.id),
                )

    def fail(self, job: Job, error: str, *, retry_in: int, counts: bool = True) -> None:
        """Note a failed attempt."""
        with self._connections.writing() as connection:
            if job.attempt < MAX_ATTEMPTS or not counts:
                attempt = job.attempt if counts else job.attempt - 1
                _requeue(connection, job, due=now_ms() + retry_in, attempt=attempt, error=error)
            else:
                given_up = connection.execute(
                    "UPDATE jobs SET state = 'failed', error = ?, lease = NULL, lease_until = NULL"
                    " WHERE id = ? AND lease = ? RETURNING id, payload",
                    (error, job.id, job.lease),
                ).fetchall()
                clear_up(connection, given_up)

    def give_back(self, job: Job) -> None:
        """Queue an interrupted job again."""
        with self._connections.writing() as connection:
            _requeue(connection, job, due=now_ms(), attempt=job.attempt - 1, error="")

    def waiting(self, up_to: int | None = None) -> dict[str, int]:
        """Jobs that are not done, by kind."""
        with self._connections.reading() as connection:
            return dict(
                connection.execute(
                    "SELECT kind, count(*) FROM jobs WHERE state <> 'failed' AND id <= ? AND key <> ?"
                    " GROUP BY kind ORDER BY kind",
                    (1 << 62 if up_to is None else up_to, LATER),
                ).fetchall()
            )

    def newest(self) -> int:
        """The highest job id ever given."""
        with self._connections.reading() as connection:
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'").fetchone()
            return int(row[0]) if row else 0

    def next_due(self, kinds: Sequence[str] | None = None) -> int | None:
        """When the next job may be claimed."""
        narrowed = "" if kinds is None else f" AND kind IN ({marks(kinds)})"
        with self._connections.reading() as connection:
            row = connection.execute(
                "SELECT min(CASE WHEN state = 'queued' THEN due ELSE lease_until END) FROM jobs"
                f" WHERE state <> 'failed'{narrowed}",
                tuple(kinds or ()),
            ).fetchone()
            return None if row[0] is None else int(row[0])

    def failed(self) -> list[tuple[Job, str]]:
        """Jobs that were given up."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                "SELECT id, kind, key, payload, attempt, error FROM jobs WHERE state = 'failed' ORDER BY id"
            )
            return [(Job(row[0], row[1], row[2], json.loads(row[3]), row[4], ""), row[5]) for row in rows]


def _job(row: tuple[int, str, str, str, int], lease: str) -> Job:
    return Job(row[0], row[1], row[2], json.loads(row[3]), row[4], lease)


def _requeue(connection: sqlite3.Connection, job: Job, *, due: int, attempt: int, error: str) -> None:
    """Queue a job again that its holder did not finish.

    The same work that was asked for meanwhile joins it, and not the reverse: whoever waits for this id must not take
    the work for done, and what was asked for again and again must be given up at last.
    """
    if connection.execute("SELECT 1 FROM jobs WHERE id = ? AND lease = ?", (job.id, job.lease)).fetchone() is None:
        return
    twin = connection.execute(
        "DELETE FROM jobs WHERE kind = ? AND key = ? AND state = 'queued' RETURNING payload", (job.kind, job.key)
    ).fetchone()
    connection.execute(
        "UPDATE jobs SET state = 'queued', due = ?, attempt = ?, error = ?, payload = coalesce(?, payload),"
        " lease = NULL, lease_until = NULL WHERE id = ?",
        (due, attempt, error, twin[0] if twin else None, job.id),
    )
    # Its task was cancelled meanwhile: that ends it (`tasks_schema`).
    if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (job.id,)).fetchone() is None:
        clear_up(connection, [(job.id, twin[0] if twin else json.dumps(job.payload))])
