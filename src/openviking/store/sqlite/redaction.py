"""Taking messages out of a session for ever, inside of a write transaction."""

from __future__ import annotations

import sqlite3

from openviking.clock import now_ms
from openviking.errors import ConflictError, NotFoundError
from openviking.store.batch import Outcome
from openviking.store.sessions import RedactMessages
from openviking.store.sqlite.idle import note_idle
from openviking.store.sqlite.rows import marks
from openviking.uri import from_path


def redact(connection: sqlite3.Connection, operation: RedactMessages) -> Outcome:
    """Carry out a `RedactMessages`: rows of live messages, what an archive says of its own, and long outputs of tools.

    The ids of clients stay, so that a message which is sent again does not come back.
    """
    row = connection.execute("SELECT id FROM sessions WHERE path = ?", (operation.path,)).fetchone()
    if row is None:
        raise NotFoundError(operation.path.rpartition("/")[2], "session")
    session = int(row[0])
    count, tokens = _of_archive(connection, session, operation) if operation.archive else (0, 0)
    if operation.numbers:
        count, tokens = _live(connection, session, operation)
    if operation.results:
        connection.execute(
            f"DELETE FROM session_tool_results WHERE session_id = ? AND result_id IN ({marks(operation.results)})",
            (session, *operation.results),
        )
    connection.executemany(
        "INSERT OR IGNORE INTO redactions VALUES (?, ?)", [(session, path) for path in operation.notes]
    )
    live = 0 if operation.archive else count
    connection.execute(
        "UPDATE sessions SET messages = messages - :live, total = total - :count, pending = max(pending - :tokens, 0),"
        " updated_at = :now WHERE id = :id",
        {"live": live, "count": count, "tokens": tokens, "now": now_ms(), "id": session},
    )
    note_idle(connection, session)
    return Outcome("removed", count)


def _live(connection: sqlite3.Connection, session: int, operation: RedactMessages) -> tuple[int, int]:
    where = f"session_id = ? AND id IN ({marks(operation.numbers)})"
    values = (session, *operation.numbers)
    (count,) = connection.execute(f"SELECT count(*) FROM session_messages WHERE {where}", values).fetchone()
    if count != len(operation.numbers):
        raise _gone(operation)
    # A message that the last commit left is not among the pending ones, which are the newest.
    (tokens,) = connection.execute(
        f"SELECT coalesce(sum(tokens), 0) FROM session_messages one WHERE {where} AND tokens + (SELECT coalesce(sum(tokens), 0)"
        " FROM session_messages WHERE session_id = one.session_id AND id > one.id)"
        " <= (SELECT pending FROM sessions WHERE id = one.session_id)",
        values,
    ).fetchone()
    connection.execute(f"DELETE FROM session_messages WHERE {where}", values)
    return int(count), int(tokens)


def _of_archive(connection: sqlite3.Connection, session: int, operation: RedactMessages) -> tuple[int, int]:
    changed = connection.execute(
        "UPDATE session_archives SET messages = messages - :count,"
        " abstract = CASE abstract WHEN '' THEN '' ELSE :abstract END,"
        " overview = CASE overview WHEN '' THEN '' ELSE :overview END"
        " WHERE session_id = :id AND number = :number AND messages >= :count",
        {
            "count": operation.count, "abstract": operation.abstract, "overview": operation.overview, "id": session,
            "number": operation.archive,
        },
    ).rowcount  # fmt: skip
    if not changed:
        raise _gone(operation)
    connection.execute(
        "UPDATE descriptions SET description = ? WHERE directory_id = (SELECT id FROM directories WHERE path = ?)",
        (operation.abstract, operation.directory),
    )
    return operation.count, 0


def _gone(operation: RedactMessages) -> ConflictError:
    uri = str(from_path(operation.path))
    return ConflictError(f"The messages of {uri} were changed by another meanwhile", resource=uri, retryable=True)
