"""The watches in the account's database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any, Final

from openviking.clock import now_ms
from openviking.errors import ConflictError
from openviking.model.watch import NewWatch, Watch, WatchChange
from openviking.store.jobs import NewJob
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.jobs import enqueue
from openviking.store.sqlite.rows import inside, inside_values
from openviking.store.sqlite.watches_schema import JITTER, PAUSE, STEP
from openviking.store.watches import CLOCK_SLACK_MS
from openviking.uri import from_path

_RUNNING: Final = (
    "EXISTS (SELECT 1 FROM tasks t WHERE t.task_id = watches.task AND t.job_id IS NOT NULL AND watches.task <> '')"
)
_COLUMNS: Final = (
    "id, watch_id, path, owner, role, location, interval, reason, instruction, request, active, created_at, due, task,"
    f" looked_at, status, error, failures, {_RUNNING}"
)
_WAITING: Final = f"(due <= ? OR due IS NOT NULL AND looked_at > ?) AND NOT {_RUNNING}"
"""Whose time has come, given twice, the second time with `CLOCK_SLACK_MS` on top."""

_REMOVED: Final = "what this watch fills was removed: add the source again, or make the watch active"


def move_watches(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Have the watches at and below ``old`` fill ``new`` instead, inside of the transaction that moves it."""
    moved = f"SELECT ? || substr(path, ?) FROM watches WHERE {inside('path')}"
    values = (new, len(old) + 1, *inside_values(old))
    # Nothing was at the new place, so whatever watched it has lost what it filled.
    connection.execute(f"DELETE FROM watches WHERE path IN ({moved})", values)
    connection.execute(f"UPDATE watches SET path = ? || substr(path, ?) WHERE {inside('path')}", values)


def pause_watches(connection: sqlite3.Connection, path: str) -> None:
    """Pause the watches at and below ``path``, inside of the transaction that removes it."""
    connection.execute(
        f"UPDATE watches SET active = 0, due = NULL, error = ? WHERE active AND {inside('path')}",
        (_REMOVED, *inside_values(path)),
    )


class SqliteWatches:
    """The `openviking.store.watches.WatchStore` of one database."""

    def __init__(self, connections: Connections, clock: Callable[[], int] = now_ms) -> None:
        self._connections = connections
        self._clock = clock

    def check(self, path: str, owner: str, location: str) -> None:
        """Raises `ConflictError` if the path is watched otherwise."""
        with self._connections.reading() as connection:
            _check(connection, path, owner, location)

    def put(self, new: NewWatch) -> Watch:
        """Watch a source."""
        now = self._clock()
        with self._connections.writing() as connection:
            _check(connection, new.path, new.owner, new.location)
            connection.execute(
                "DELETE FROM watches WHERE path = ? AND (owner <> ? OR location <> ?)",
                (new.path, new.owner, new.location),
            )
            connection.execute(
                "INSERT INTO watches (watch_id, path, owner, role, location, interval, reason, instruction, request,"
                " active, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET"
                " role = excluded.role, interval = excluded.interval, reason = excluded.reason,"
                " instruction = excluded.instruction, request = excluded.request, active = excluded.active",
                (
                    new.id, new.path, new.owner, new.role, new.location, new.interval, new.reason, new.instruction,
                    json.dumps(dict(new.request)), new.active, now,
                ),
            )  # fmt: skip
            connection.execute(
                f"UPDATE watches SET failures = 0, due = CASE WHEN active THEN ? + {STEP} + {JITTER} END,"
                " task = CASE ? WHEN '' THEN task ELSE ? END, looked_at = ? WHERE path = ?",
                (now, new.task, new.task, now, new.path),
            )
            return _one(connection, "path = ?", new.path)

    def get(self, watch_id: str, owner: str | None) -> Watch | None:
        """A watch by its id."""
        return self._get("watch_id", watch_id, owner)

    def at(self, path: str, owner: str | None) -> Watch | None:
        """The watch that fills a path."""
        return self._get("path", path, owner)

    def _get(self, column: str, value: str, owner: str | None) -> Watch | None:
        with self._connections.reading() as connection:
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM watches WHERE {column} = ? AND (? OR owner = ?)",
                (value, owner is None, owner or ""),
            ).fetchone()
        return _watch(row) if row else None

    def find(self, owner: str | None, *, active_only: bool = False) -> list[Watch]:
        """Watches, the oldest first."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM watches WHERE (? OR owner = ?) AND (active OR NOT ?) ORDER BY id",
                (owner is None, owner or "", active_only),
            ).fetchall()
        return [_watch(row) for row in rows]

    def change(self, watch_id: str, change: WatchChange) -> Watch | None:
        """A watch after a change."""
        now = self._clock()
        with self._connections.writing() as connection:
            row = connection.execute("SELECT active, interval FROM watches WHERE watch_id = ?", (watch_id,)).fetchone()
            if row is None:
                return None
            connection.execute(
                "UPDATE watches SET interval = coalesce(?, interval), active = coalesce(?, active),"
                " reason = coalesce(?, reason), instruction = coalesce(?, instruction) WHERE watch_id = ?",
                (change.interval, change.active, change.reason, change.instruction, watch_id),
            )
            if change.active and not row[0]:
                connection.execute("UPDATE watches SET failures = 0, error = '' WHERE watch_id = ?", (watch_id,))
            if change.interval is not None or change.active is not None:
                connection.execute(
                    "UPDATE watches SET due = CASE WHEN active THEN"
                    f" max(?, coalesce(looked_at, ?) + {STEP}) + {JITTER} END WHERE watch_id = ?",
                    (now, now, watch_id),
                )
            return _one(connection, "watch_id = ?", watch_id)

    def remove(self, watch_id: str) -> bool:
        """Forget a watch."""
        with self._connections.writing() as connection:
            return connection.execute("DELETE FROM watches WHERE watch_id = ?", (watch_id,)).rowcount > 0

    def forget(self, owner: str) -> int:
        """Forget all watches of a user."""
        with self._connections.writing() as connection:
            return connection.execute("DELETE FROM watches WHERE owner = ?", (owner,)).rowcount

    def pause(self, watch_id: str, error: str = "") -> None:
        """Look no more."""
        with self._connections.writing() as connection:
            connection.execute(
                "UPDATE watches SET active = 0, due = NULL, status = CASE ? WHEN '' THEN status ELSE 'failed' END,"
                " error = CASE ? WHEN '' THEN error ELSE ? END WHERE watch_id = ?",
                (error, error, error, watch_id),
            )

    def put_off(self, watch_id: str, error: str) -> None:
        """A look could not even begin."""
        with self._connections.writing() as connection:
            connection.execute(
                f"UPDATE watches SET status = 'failed', error = ?, failures = failures + 1, looked_at = ?,"
                f" due = CASE WHEN active THEN ? + {PAUSE} + {JITTER} END WHERE watch_id = ?",
                (error, self._clock(), self._clock(), watch_id),
            )

    def due(self, limit: int) -> list[Watch]:
        """Watches whose time has come."""
        now = self._clock()
        with self._connections.reading() as connection:
            running = connection.execute(
                "SELECT count(*) FROM tasks JOIN watches ON watches.task = tasks.task_id"
                " WHERE tasks.job_id IS NOT NULL AND watches.task <> ''"
            ).fetchone()[0]
            if running >= limit:
                return []
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM watches WHERE {_WAITING} ORDER BY due, id LIMIT ?",
                (now, now + CLOCK_SLACK_MS, limit - running),
            ).fetchall()
        return [_watch(row) for row in rows]

    def next_due(self) -> int | None:
        """When the next watch is due."""
        now = self._clock()
        with self._connections.reading() as connection:
            if connection.execute(
                f"SELECT 1 FROM watches WHERE due IS NOT NULL AND looked_at > ? AND NOT {_RUNNING} LIMIT 1",
                (now + CLOCK_SLACK_MS,),
            ).fetchone():
                return now
            row = connection.execute(
                f"SELECT due FROM watches WHERE due IS NOT NULL AND NOT {_RUNNING} ORDER BY due LIMIT 1"
            ).fetchone()
        return None if row is None else int(row[0])

    def begin(self, watch: Watch, job: NewJob, *, asked: bool = False) -> str:
        """Queue an import as the next look."""
        if job.task is None:
            raise ValueError(f"The job {job.kind} {job.key} of a look has no task")
        now = self._clock()
        with self._connections.writing() as connection:
            row = connection.execute(
                f"SELECT {_WAITING}, path, {_RUNNING}, task FROM watches WHERE watch_id = ?",
                (now, now + CLOCK_SLACK_MS, watch.id),
            ).fetchone()
            if row is None or row[1] != watch.path:
                return ""
            if row[2]:
                return str(row[3]) if asked else ""
            if not asked and not row[0]:
                return ""
            enqueue(connection, job)
            connection.execute(
                f"UPDATE watches SET task = ?, looked_at = ?, due = CASE WHEN active THEN ? + {STEP} + {JITTER} END"
                " WHERE watch_id = ?",
                (job.task.id, now, now, watch.id),
            )
            return job.task.id


def _check(connection: sqlite3.Connection, path: str, owner: str, location: str) -> None:
    row = connection.execute(
        "SELECT owner, location FROM watches WHERE path = ? AND active AND (owner <> ? OR location <> ?)",
        (path, owner, location),
    ).fetchone()
    if row is not None:
        uri = str(from_path(path))
        whose = "another source" if row[0] == owner else "another user"
        raise ConflictError(
            f"{uri} is watched already, for {whose}: pause or remove that watch, or choose another target", resource=uri
        )


def _one(connection: sqlite3.Connection, condition: str, value: str) -> Watch:
    return _watch(connection.execute(f"SELECT {_COLUMNS} FROM watches WHERE {condition}", (value,)).fetchone())


def _watch(row: tuple[Any, ...]) -> Watch:
    return Watch(
        number=row[0], id=row[1], path=row[2], owner=row[3], role=row[4], location=row[5], interval=row[6],
        reason=row[7], instruction=row[8], request=json.loads(row[9]), active=bool(row[10]), created_at=row[11],
        due=row[12], task=row[13], looked_at=row[14], status=row[15], error=row[16], failures=row[17],
        running=bool(row[18]),
    )  # fmt: skip
