"""When sessions are to be committed because nobody speaks in them any more: a moment with each, in an index."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from openviking.clock import now_ms


def idle_at(
    now: int, policy: dict[str, int] | None, messages: int, last_message_at: int | None, last_commit_at: int | None
) -> int | None:
    """The moment for a session of so many live ``messages``; None if there is nothing to archive, or no idle time.

    What lies ahead of ``now`` was noted by a clock that was set back since.
    """
    if not policy or not policy["idle_timeout_seconds"] or last_message_at is None:
        return None
    if messages <= policy["keep_recent_count"]:
        return None
    return max(
        min(last_message_at, now) + policy["idle_timeout_seconds"] * 1000,
        min(last_commit_at or 0, now) + policy["min_commit_interval_seconds"] * 1000,
    )


def note_idle(connection: sqlite3.Connection, session: int) -> None:
    """Note the moment of a session that was changed, inside of a write transaction."""
    row: tuple[Any, ...] = connection.execute(
        "SELECT settings, messages, last_message_at, last_commit_at FROM sessions WHERE id = ?", (session,)
    ).fetchone()
    connection.execute(
        "UPDATE sessions SET idle_at = :at WHERE id = :id AND idle_at IS NOT :at",
        {"at": idle_at(now_ms(), json.loads(row[0])["auto_commit"], *row[1:]), "id": session},
    )


def next_idle(connection: sqlite3.Connection) -> int | None:
    """The next moment of any session."""
    row = connection.execute("SELECT min(idle_at) FROM sessions WHERE idle_at IS NOT NULL").fetchone()
    return None if row[0] is None else int(row[0])


def idle(connection: sqlite3.Connection, now: int, limit: int) -> list[str]:
    """The paths of sessions whose moment has come, the earliest first."""
    rows = connection.execute("SELECT path FROM sessions WHERE idle_at <= ? ORDER BY idle_at LIMIT ?", (now, limit))
    return [str(row[0]) for row in rows]


def put_off(connection: sqlite3.Connection, path: str, until: int) -> None:
    """Give a session that could not be committed a later moment, inside of a write transaction."""
    connection.execute("UPDATE sessions SET idle_at = ? WHERE path = ? AND idle_at < ?", (until, path, until))
