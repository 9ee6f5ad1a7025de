"""The sessions in the account's database: reading them, and what a batch does to them."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from openviking.clock import now_ms
from openviking.errors import AlreadyExistsError, ConflictError, NotFoundError
from openviking.model.message import Message
from openviking.model.session import Archive, Session, Settings, ToolResult
from openviking.store.batch import Outcome
from openviking.store.sessions import (
    AddMessages,
    ArchiveMessages,
    CountUses,
    EndArchive,
    Live,
    MakeSession,
    RedactMessages,
    Sent,
    Use,
)
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.idle import idle, next_idle, note_idle, put_off
from openviking.store.sqlite.redaction import redact
from openviking.store.sqlite.rows import inside, inside_values, marks
from openviking.store.sqlite.uses import count_uses
from openviking.uri import from_path

_COLUMNS: Final = (
    "path, created_at, updated_at, last_message_at, last_commit_at, last_auto_commit_at, messages, total, pending,"
    " commits, settings, extracted"
)
_OF: Final = "session_id = (SELECT id FROM sessions WHERE path = ?)"
_ARCHIVE: Final = "SELECT number, state, messages, abstract, overview, created_at FROM session_archives"


def session_operations(connection: sqlite3.Connection) -> Mapping[type, Callable[[Any], Outcome]]:
    """What each operation on sessions does inside of a write transaction."""
    return {
        MakeSession: lambda operation: _make(connection, operation),
        AddMessages: lambda operation: _add(connection, operation),
        ArchiveMessages: lambda operation: _archive(connection, operation),
        EndArchive: lambda operation: _end(connection, operation),
        RedactMessages: lambda operation: redact(connection, operation),
        CountUses: lambda operation: count_uses(connection, operation),
    }


def forget_sessions(connection: sqlite3.Connection, path: str) -> None:
    """Remove the sessions at and below a directory that is removed."""
    connection.execute(f"DELETE FROM sessions WHERE {inside('path')}", inside_values(path))


def _make(connection: sqlite3.Connection, operation: MakeSession) -> Outcome:
    now = now_ms()
    row = connection.execute(
        "INSERT INTO sessions (path, directory, created_at, updated_at, settings) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (path) DO NOTHING RETURNING id",
        (operation.path, operation.path.rpartition("/")[0], now, now, json.dumps(operation.settings.to_dict())),
    ).fetchone()
    if row is None and not operation.exist_ok:
        raise AlreadyExistsError(operation.path.rpartition("/")[2], "session")
    return Outcome("unchanged" if row is None else "created", row is not None)


def _add(connection: sqlite3.Connection, operation: AddMessages) -> Outcome:
    session, _ = _known(connection, operation.path)
    added = tokens = 0
    for sent in operation.sent:
        if _is_repeated(connection, session, sent):
            continue
        rows = [(session, one.tokens, one.to_json()) for one in sent.messages]
        connection.executemany("INSERT INTO session_messages (session_id, tokens, message) VALUES (?, ?, ?)", rows)
        connection.executemany(
            "INSERT INTO session_tool_results (session_id, result_id, tool_name, mime_type, shown, size, content)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(session, one.id, one.tool_name, one.mime_type, one.shown, one.size, one.content) for one in sent.results],
        )
        ids = json.dumps([one.id for one in sent.messages])
        connection.executemany(
            "INSERT INTO session_client_ids VALUES (?, ?, ?)", [(session, one, ids) for one in sent.client_ids]
        )
        added += len(rows)
        tokens += sum(row[1] for row in rows)
    if added:
        connection.execute(
            "UPDATE sessions SET messages = messages + :added, total = total + :added, pending = pending + :tokens,"
            " updated_at = :now, last_message_at = :now WHERE id = :id",
            {"added": added, "tokens": tokens, "now": now_ms(), "id": session},
        )
        note_idle(connection, session)
    return Outcome("updated" if added else "unchanged", added)


def _is_repeated(connection: sqlite3.Connection, session: int, sent: Sent) -> bool:
    if not sent.client_ids:
        return False
    return (
        connection.execute(
            f"SELECT 1 FROM session_client_ids WHERE session_id = ? AND client_id IN ({marks(sent.client_ids)})",
            (session, *sent.client_ids),
        ).fetchone()
        is not None
    )


def _archive(connection: sqlite3.Connection, operation: ArchiveMessages) -> Outcome:
    session, commits = _known(connection, operation.path)
    taken = 0
    if commits + 1 == operation.archive:
        taken = connection.execute(
            "DELETE FROM session_messages WHERE session_id = ? AND id <= ?", (session, operation.number)
        ).rowcount
    if taken != operation.count:
        uri = str(from_path(operation.path))
        raise ConflictError(f"{uri} was committed by another meanwhile", resource=uri, retryable=True)
    now = now_ms()
    connection.execute(
        "INSERT INTO session_archives (session_id, number, state, messages, created_at) VALUES (?, ?, 'pending', ?, ?)",
        (session, operation.archive, taken, now),
    )
    settings = Settings.from_dict(
        json.loads(connection.execute("SELECT settings FROM sessions WHERE id = ?", (session,)).fetchone()[0])
    )
    kept = {**settings.to_dict(), "retention": operation.retention}
    connection.execute(
        "UPDATE sessions SET messages = messages - :taken, pending = 0, commits = commits + 1, updated_at = :now,"
        " last_commit_at = :now, last_auto_commit_at = CASE WHEN :automatic THEN :now ELSE last_auto_commit_at END,"
        " settings = :settings WHERE id = :id",
        {"taken": taken, "now": now, "automatic": operation.automatic, "settings": json.dumps(kept), "id": session},
    )
    note_idle(connection, session)
    return Outcome("moved", taken)


def _end(connection: sqlite3.Connection, operation: EndArchive) -> Outcome:
    session, _ = _known(connection, operation.path)
    if operation.of is not None:
        row = connection.execute(
            "SELECT messages FROM session_archives WHERE session_id = ? AND number = ?", (session, operation.archive)
        ).fetchone()
        if row is not None and row[0] != operation.of:
            uri = str(from_path(operation.path))
            raise ConflictError(
                f"A message of archive {operation.archive} of {uri} was redacted meanwhile",
                resource=uri,
                retryable=True,
            )
    changed = connection.execute(
        "UPDATE session_archives SET state = ?, abstract = ?, overview = ?"
        " WHERE session_id = ? AND number = ? AND state <> 'done'",
        (operation.state, operation.abstract, operation.overview, session, operation.archive),
    ).rowcount
    if not changed and operation.once:
        uri = str(from_path(operation.path))
        raise ConflictError(f"Archive {operation.archive} of {uri} is done already", resource=uri, retryable=True)
    if changed and operation.counts:
        told = connection.execute("SELECT extracted FROM sessions WHERE id = ?", (session,)).fetchone()[0]
        counts = Counter(json.loads(told))
        counts.update(operation.counts)
        connection.execute("UPDATE sessions SET extracted = ? WHERE id = ?", (json.dumps(counts), session))
    return Outcome("updated" if changed else "unchanged", changed)


def _known(connection: sqlite3.Connection, path: str) -> tuple[int, int]:
    """The row and the number of commits of a session; raises `NotFoundError`."""
    row = connection.execute("SELECT id, commits FROM sessions WHERE path = ?", (path,)).fetchone()
    if row is None:
        raise NotFoundError(path.rpartition("/")[2], "session")
    return int(row[0]), int(row[1])


class SqliteSessions:
    """The `openviking.store.sessions.SessionStore` of one database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def get(self, path: str) -> Session | None:
        """A session."""
        with self._connections.reading() as connection:
            row = connection.execute(f"SELECT {_COLUMNS} FROM sessions WHERE path = ?", (path,)).fetchone()
        return _session(row) if row else None

    def find(self, directory: str, limit: int) -> list[Session]:
        """Sessions in a directory, the one that changed last first."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM sessions WHERE directory = ? ORDER BY updated_at DESC, id DESC LIMIT ?",
                (directory, limit),
            ).fetchall()
        return [_session(row) for row in rows]

    def live(self, path: str) -> list[Live]:
        """The messages of a session that are in no archive, in order."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                f"SELECT id, message, tokens FROM session_messages WHERE {_OF} ORDER BY id", (path,)
            ).fetchall()
        return [Live(row[0], Message.from_dict(json.loads(row[1])), row[2]) for row in rows]

    def newest(self, path: str, limit: int) -> list[Message]:
        """The last messages of a session that are in no archive, the last first."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                f"SELECT message FROM session_messages WHERE {_OF} ORDER BY id DESC LIMIT ?", (path, limit)
            ).fetchall()
        return [Message.from_dict(json.loads(row[0])) for row in rows]

    def next_idle(self) -> int | None:
        """When the next session is to be committed because nobody speaks in it any more."""
        with self._connections.reading() as connection:
            return next_idle(connection)

    def idle(self, now: int, limit: int) -> list[str]:
        """The sessions for which that time has come."""
        with self._connections.reading() as connection:
            return idle(connection, now, limit)

    def put_off(self, path: str, until: int) -> None:
        """Look at an idle session again later."""
        with self._connections.writing() as connection:
            put_off(connection, path, until)

    def redacted_notes(self) -> list[str]:
        """The paths of files that redactions left with names in them."""
        with self._connections.reading() as connection:
            return [row[0] for row in connection.execute("SELECT DISTINCT path FROM redactions ORDER BY path")]

    def forget_redacted_note(self, path: str) -> None:
        """Such a file names nothing any more."""
        with self._connections.writing() as connection:
            connection.execute("DELETE FROM redactions WHERE path = ?", (path,))

    def sent_as(self, path: str, client_ids: tuple[str, ...]) -> tuple[str, ...]:
        """The ids of the messages that were stored under one of these client ids."""
        with self._connections.reading() as connection:
            for client_id in client_ids:
                row = connection.execute(
                    f"SELECT message_ids FROM session_client_ids WHERE {_OF} AND client_id = ?", (path, client_id)
                ).fetchone()
                if row is not None:
                    return tuple(json.loads(row[0]))
        return ()

    def archives(self, path: str) -> list[Archive]:
        """The archives of a session, the first first."""
        with self._connections.reading() as connection:
            rows = connection.execute(f"{_ARCHIVE} WHERE {_OF} ORDER BY number", (path,)).fetchall()
        return [Archive(*row) for row in rows]

    def archive(self, path: str, number: int) -> Archive | None:
        """One of them."""
        with self._connections.reading() as connection:
            row = connection.execute(f"{_ARCHIVE} WHERE {_OF} AND number = ?", (path, number)).fetchone()
        return Archive(*row) if row else None

    def tool_results(self, path: str, tool_name: str, limit: int) -> list[ToolResult]:
        """The long outputs of a session without their content, the newest first."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                f"SELECT result_id, tool_name, mime_type, shown, size FROM session_tool_results WHERE {_OF}"
                " AND (? = '' OR tool_name = ?) ORDER BY id DESC LIMIT ?",
                (path, tool_name, tool_name, limit),
            ).fetchall()
        return [ToolResult(*row) for row in rows]

    def tool_result(self, path: str, result_id: str) -> ToolResult | None:
        """One of them with its content."""
        with self._connections.reading() as connection:
            row = connection.execute(
                "SELECT result_id, tool_name, mime_type, shown, size, content FROM session_tool_results"
                f" WHERE {_OF} AND result_id = ?",
                (path, result_id),
            ).fetchone()
        return ToolResult(*row) if row else None

    def configure(self, path: str, change: Callable[[Settings], Settings]) -> Session:
        """Change the settings of a session."""
        with self._connections.writing() as connection:
            session, _ = _known(connection, path)
            row = connection.execute("SELECT settings FROM sessions WHERE id = ?", (session,)).fetchone()
            changed = change(Settings.from_dict(json.loads(row[0])))
            row = connection.execute(
                f"UPDATE sessions SET settings = ?, updated_at = ? WHERE id = ? RETURNING {_COLUMNS}",
                (json.dumps(changed.to_dict()), now_ms(), session),
            ).fetchone()
            note_idle(connection, session)
        return _session(row)

    def note_uses(self, path: str, uses: list[Use]) -> None:
        """Record what was used."""
        with self._connections.writing() as connection:
            session, _ = _known(connection, path)
            connection.executemany(
                "INSERT INTO session_uses (session_id, at, kind, uri, detail) VALUES (?, ?, ?, ?, ?)",
                [(session, now_ms(), use.kind, use.uri, json.dumps(use.detail)) for use in uses],
            )

    def uncounted(self, path: str) -> tuple[tuple[str, ...], int]:
        """The distinct URIs that were used and are not counted yet, and the number of the last use."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                f"SELECT uri, max(id) FROM session_uses WHERE {_OF} AND counted = 0 GROUP BY uri ORDER BY uri", (path,)
            ).fetchall()
        return tuple(row[0] for row in rows), max((row[1] for row in rows), default=0)


def _session(row: tuple[Any, ...]) -> Session:
    values: list[Any] = [*row[:10], Settings.from_dict(json.loads(row[10])), json.loads(row[11])]
    return Session(*values)
