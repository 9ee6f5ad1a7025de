"""The audit of one account's database, in the order of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from openviking.store.audit import Damage, Piece, Position
from openviking.store.jobs import NewJob
from openviking.store.port import Analyser
from openviking.store.sqlite.audit.conversations import look_at_sessions
from openviking.store.sqlite.audit.mending import Mender, queue_vectors
from openviking.store.sqlite.audit.nodes import NodeLook, segments
from openviking.store.sqlite.audit.tables import PARTS, look_at_part
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.jobs import enqueue

TREE: Final = 0
SESSIONS: Final = 1
TABLES: Final = 2


class SqliteAudit:
    """The `openviking.store.audit.Audit` of one database; what it marks to be made anew is done by the two jobs."""

    def __init__(
        self, connections: Connections, contents: Contents, analyser: Analyser, sidecars: NewJob, prepare: NewJob
    ) -> None:
        self._connections = connections
        self._contents = contents
        self._analyser = analyser
        self._sidecars = sidecars
        self._prepare = prepare

    def look(
        self,
        roots: Sequence[str],
        position: Position,
        *,
        whole: bool,
        bytes_too: bool = True,
        recursive: bool = True,
    ) -> Piece:
        """The next piece of an audit."""
        part, after = position.part, position.after
        if part == TREE:
            return self._of_tree(roots, after, bytes_too=bytes_too, recursive=recursive)
        if part == SESSIONS:
            return self._of_sessions(roots, after, whole=whole)
        with self._connections.reading() as connection:
            found, onward = look_at_part(connection, self._contents, part - TABLES, after)
        return Piece({}, found, _next_table(part, onward))

    def mend(self, found: Sequence[Damage]) -> int:
        """Mend what was found."""
        if not found:
            return 0
        with self._connections.writing() as connection:
            mender = Mender(connection, self._contents, self._analyser)
            count = mender.mend(found)
            if mender.close():
                enqueue(connection, self._sidecars)
            if mender.outdated:
                enqueue(connection, self._prepare)
            return count

    def queue_vectors(self, nodes: Sequence[int], *, force: bool = False) -> int:
        """Queue what lacks a vector."""
        if not nodes:
            return 0
        with self._connections.writing() as connection:
            return sum(queue_vectors(connection, node, force=force) for node in nodes)

    def _of_tree(self, roots: Sequence[str], after: tuple[Any, ...], *, bytes_too: bool, recursive: bool) -> Piece:
        """A piece of a segment of the tree; ``after`` begins with the number of the segment."""
        number, behind = (int(after[0]), after[1:]) if after else (0, ())
        with self._connections.reading() as connection:
            parts = segments(connection, roots, recursive=recursive)
            if number >= len(parts):
                return Piece({}, [], Position(SESSIONS))
            look = NodeLook(connection, self._contents, bytes_too=bytes_too)
            last = look.piece(parts[number], (behind[0], behind[1]) if behind else None)
        onward = Position(TREE, (number, *last) if last else (number + 1,))
        return Piece(dict(look.counts), look.found, onward, nodes=look.nodes, wanting=look.wanting)

    def _of_sessions(self, roots: Sequence[str], after: tuple[Any, ...], *, whole: bool) -> Piece:
        """A piece of the sessions in a segment of the tree."""
        number, behind = (int(after[0]), after[1:]) if after else (0, ())
        with self._connections.reading() as connection:
            parts = segments(connection, roots)
            if number >= len(parts):
                return Piece({}, [], Position(TABLES) if whole else None)
            found, sessions, last = look_at_sessions(connection, parts[number], behind[0] if behind else "")
        onward = Position(SESSIONS, (number, last) if last is not None else (number + 1,))
        return Piece({"sessions": len(sessions)}, found, onward, sessions)


def _next_table(part: int, onward: tuple[Any, ...] | None) -> Position | None:
    if onward is not None:
        return Position(part, onward)
    return Position(part + 1) if part + 1 - TABLES < PARTS else None
