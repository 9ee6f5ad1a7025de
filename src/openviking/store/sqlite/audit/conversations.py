"""A piece of the sessions: their directories, the messages that they count and their archives; what of it is lost."""

from __future__ import annotations

import sqlite3
from typing import Final

from openviking.store.audit import Damage
from openviking.store.sqlite.audit.nodes import Segment

SESSIONS: Final = 50

_SESSION: Final = (
    "SELECT s.path, EXISTS (SELECT 1 FROM directories d WHERE d.path = s.path), s.messages, s.total, s.commits,"
    " (SELECT count(*) FROM session_messages m WHERE m.session_id = s.id),"
    " (SELECT coalesce(sum(a.messages), 0) FROM session_archives a WHERE a.session_id = s.id),"
    " (SELECT coalesce(max(a.number), 0) FROM session_archives a WHERE a.session_id = s.id) FROM sessions s"
)
_HOMES: Final = (
    "SELECT d.path FROM directories top JOIN directories u ON u.parent_id = top.id"
    " JOIN directories p ON p.parent_id = u.id AND p.name = 'sessions' JOIN directories d ON d.parent_id = p.id"
    " WHERE top.path = 'user' AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.path = d.path)"
)
"""The directories of sessions that no session has: a new one of that name would write over its archives."""

UNKNOWN: Final = (
    "SELECT CAST(substr(a.name, 9) AS INTEGER) AS number, a.path FROM directories h JOIN directories a ON a.parent_id = h.id"
    " WHERE h.path = :session || '/history' AND a.name GLOB 'archive_[0-9]*' AND NOT EXISTS (SELECT 1 FROM session_archives k"
    " WHERE k.session_id = (SELECT id FROM sessions WHERE path = :session) AND k.number = CAST(substr(a.name, 9) AS INTEGER))"
)
"""The archives in the tree of which the session does not know."""


def look_at_sessions(
    connection: sqlite3.Connection, segment: Segment, after: str
) -> tuple[list[Damage], list[str], str | None]:
    """What is wrong with the sessions of a segment that come after one; their paths; the last of them, None at the end."""
    rows = connection.execute(
        f"{_SESSION} WHERE s.path >= ? AND s.path < ? AND s.path > ? ORDER BY s.path LIMIT ?",
        (segment.low, segment.high, after, SESSIONS),
    ).fetchall()
    found = []
    for path, has_directory, messages, total, commits, live, archived, newest in rows:
        if not has_directory:
            found.append(Damage("session", "it has no directory", path, key=(path,)))
        elif messages != live or total < live + archived or newest != commits:
            detail = (
                f"it counts {messages} live of {total} messages and {commits} commits,"
                f" and has {live} live, {archived} archived and archive {newest}"
            )
            found.append(Damage("session", detail, path, key=(path,)))
        elif unknown := connection.execute(UNKNOWN, {"session": path}).fetchall():
            detail = f"it does not know {len(unknown)} of its archives"
            found.append(Damage("session", detail, path, key=(path,)))
    until = rows[-1][0] if len(rows) == SESSIONS else segment.high
    lost = connection.execute(
        f"{_HOMES} AND d.path >= ? AND d.path < ? AND d.path > ? AND d.path < ?",
        (segment.low, segment.high, after, until),
    )
    found += [Damage("session", "its directory is of no session", path, key=(path,)) for (path,) in lost]
    return found, [row[0] for row in rows], rows[-1][0] if len(rows) == SESSIONS else None
