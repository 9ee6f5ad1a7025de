"""The tasks in the account's database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any, Final, cast

from openviking.clock import now_ms
from openviking.errors import ConflictError, FailedPreconditionError, NotFoundError
from openviking.model.task import NewTask, Status, Task
from openviking.store.sqlite.connection import Connections
from openviking.store.tasks import FAILED_MS, FINISHED_MS, Ending, TaskFilter

_COLUMNS: Final = (
    "id, task_id, type, owner, status, created_at, updated_at, resource_id, meta, stage, progress, result, error,"
    " internal"
)
_KEPT: Final = "(job_id IS NOT NULL OR updated_at > CASE status WHEN 'failed' THEN ? ELSE ? END)"


def add_task(connection: sqlite3.Connection, task: NewTask, job_id: int, status: Status) -> None:
    """Make the task of a job inside of the transaction that queues it.

    Raises `ConflictError` if the job has a task already, or the task a job: the same work is under way.
    """
    now = now_ms()
    _prune(connection, now)
    other = connection.execute(
        "SELECT task_id FROM tasks WHERE job_id = ? OR task_id = ?", (job_id, task.id)
    ).fetchone()
    if other is not None:
        raise ConflictError(
            f"The same work is under way already, as task {other[0]}", resource=task.resource_id, task_id=other[0]
        )
    connection.execute(
        "INSERT INTO tasks (task_id, type, owner, internal, status, created_at, updated_at, resource_id, meta, job_id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            task.id, task.type, task.owner, task.internal, status, now, now, task.resource_id, json.dumps(task.meta),
            job_id,
        ),
    )  # fmt: skip


class SqliteTasks:
    """The `openviking.store.tasks.TaskStore` of one database."""

    def __init__(
        self,
        connections: Connections,
        clock: Callable[[], int] = now_ms,
        clear_up: Callable[[sqlite3.Connection, list[tuple[int, str]]], None] = lambda _connection, _ended: None,
    ) -> None:
        self._connections = connections
        self._clear_up = clear_up
        self._clock = clock

    def get(self, task_id: str, owner: str | None) -> Task | None:
        """A task of ``owner`` (None: of anybody)."""
        with self._connections.reading() as connection:
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM tasks WHERE task_id = ? AND (? OR owner = ?) AND {_KEPT}",
                (task_id, owner is None, owner or "", *_limits(self._clock())),
            ).fetchone()
        return _task(row) if row else None

    def find(self, owner: str, wanted: TaskFilter, limit: int, before: int | None = None) -> list[Task]:
        """Tasks of an owner, newest first."""
        conditions = ["owner = ?", _KEPT]
        values: list[Any] = [owner, *_limits(self._clock())]
        for column, value in (("type", wanted.type), ("status", wanted.status), ("resource_id", wanted.resource_id)):
            if value:
                conditions.append(f"{column} = ?")
                values.append(value)
        if wanted.text:
            conditions.append("(instr(lower(resource_id), ?) OR instr(type, ?) OR instr(task_id, ?))")
            values += [wanted.text.lower()] * 3
        if not wanted.internal:
            conditions.append("NOT internal")
        if before is not None:
            conditions.append("id < ?")
            values.append(before)
        with self._connections.reading() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM tasks WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
        return [_task(row) for row in rows]

    def under_way(self, kind: str, resource_id: str) -> Task | None:
        """A task that is not over."""
        with self._connections.reading() as connection:
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM tasks WHERE job_id IS NOT NULL AND type = ? AND resource_id = ? LIMIT 1",
                (kind, resource_id),
            ).fetchone()
        return _task(row) if row else None

    def note(self, task_id: str, stage: str, progress: dict[str, Any] | None) -> Status | None:
        """Say how far a task is; its status."""
        with self._connections.writing() as connection:
            connection.execute(
                "UPDATE tasks SET stage = ?, progress = ?, updated_at = ? WHERE task_id = ? AND job_id IS NOT NULL",
                (stage, json.dumps(progress), self._clock(), task_id),
            )
            return _status(connection, task_id)

    def status(self, task_id: str) -> Status | None:
        """The status of a task."""
        with self._connections.reading() as connection:
            return _status(connection, task_id)

    def end(self, task_id: str, ending: Ending, *, result: Any = None, error: str = "") -> bool:
        """End a task together with its job."""
        with self._connections.writing() as connection:
            row = connection.execute("SELECT job_id FROM tasks WHERE task_id = ?", (task_id,)).fetchone()
            if row is None or row[0] is None:
                return False
            connection.execute(
                "UPDATE tasks SET status = ?, result = ?, error = ?, job_id = NULL, updated_at = ? WHERE task_id = ?",
                (ending, json.dumps(result), error, self._clock(), task_id),
            )
            connection.execute("DELETE FROM jobs WHERE id = ?", row)
            return True

    def cancel(self, task_id: str) -> Task:
        """Cancel a task."""
        with self._connections.writing() as connection:
            row = connection.execute("SELECT status, job_id FROM tasks WHERE task_id = ?", (task_id,)).fetchone()
            if row is None:
                raise NotFoundError(task_id, "task")
            if row[1] is None:
                raise FailedPreconditionError(f"Task {task_id} is {row[0]} already", resource=task_id, status=row[0])
            self._clear_up(connection, self._cancel(connection, row[1]))
            return _task(connection.execute(f"SELECT {_COLUMNS} FROM tasks WHERE task_id = ?", (task_id,)).fetchone())

    def cancel_all(self, owner: str, *, but: str) -> int:
        """Cancel every active task of an owner except ``but``; how many are still worked on."""
        active = "FROM tasks WHERE owner = ? AND task_id <> ? AND job_id IS NOT NULL"
        with self._connections.writing() as connection:
            for (job_id,) in connection.execute(f"SELECT job_id {active}", (owner, but)).fetchall():
                self._clear_up(connection, self._cancel(connection, job_id))
            return int(connection.execute(f"SELECT count(*) {active}", (owner, but)).fetchone()[0])

    def forget(self, owner: str, *, but: str) -> None:
        """Remove the tasks of an owner that are over, except ``but``."""
        with self._connections.writing() as connection:
            connection.execute("DELETE FROM tasks WHERE owner = ? AND task_id <> ? AND job_id IS NULL", (owner, but))

    def _cancel(self, connection: sqlite3.Connection, job_id: int) -> list[tuple[int, str]]:
        """Cancel the task of a job; with a job that nobody works on it is over by that: that job with its payload."""
        connection.execute(
            "UPDATE tasks SET status = 'cancelling', updated_at = ? WHERE job_id = ?", (self._clock(), job_id)
        )
        return connection.execute(
            "DELETE FROM jobs WHERE id = ? AND (state = 'queued' OR lease_until < ?) RETURNING id, payload",
            (job_id, self._clock()),
        ).fetchall()


def _limits(now: int) -> tuple[int, int]:
    return now - FAILED_MS, now - FINISHED_MS


def _prune(connection: sqlite3.Connection, now: int) -> None:
    connection.execute(f"DELETE FROM tasks WHERE job_id IS NULL AND updated_at < ? AND NOT {_KEPT}",
                       (now - FINISHED_MS, *_limits(now)))  # fmt: skip


def _status(connection: sqlite3.Connection, task_id: str) -> Status | None:
    row = connection.execute("SELECT status FROM tasks WHERE task_id = ?", (task_id,)).fetchone()
    return cast("Status", row[0]) if row else None


def _task(row: tuple[Any, ...]) -> Task:
    return Task(
        number=row[0], id=row[1], type=row[2], owner=row[3], status=row[4], created_at=row[5], updated_at=row[6],
        resource_id=row[7], meta=json.loads(row[8]), stage=row[9], progress=json.loads(row[10]),
        result=json.loads(row[11]), error=row[12], internal=bool(row[13]),
    )  # fmt: skip
