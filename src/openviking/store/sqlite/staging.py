"""Storing the many passages of a large file ahead of the transaction that shows them, in pieces of bounded time.

They wait under a node of the graveyard, where no reader looks. A process that dies leaves them there; the purge takes
them once nothing was added for `STAGED_MS`, and gives their node another name first: so a writer that was only
suspended never shows what is being cleared away.
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from openviking.clock import now_ms
from openviking.errors import OpenVikingError
from openviking.store.batch import Operation, PutFile
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.files import check_put, prepared_by
from openviking.store.sqlite.jobs import enqueue
from openviking.store.sqlite.passages import FILE_LEVEL, STAGED_PASSAGES, Overtaken, Staged
from openviking.store.sqlite.purge import PURGE_JOB, STAGED_JOB, bury_staged, new_grave
from openviking.store.sqlite.schema import GRAVE, STAGED, STAGED_END
from openviking.store.sqlite.view import get
from openviking.store.sqlite.words import add_passages, unchanged_passages

PIECE_PASSAGES: Final = 1000
"""Passages that are stored in one transaction."""


@contextlib.contextmanager
def staging(connections: Connections, operations: Sequence[Operation], *, whole: bool) -> Iterator[dict[int, Staged]]:
    """The staged passages of the large files among ``operations``, by the operation's number.

    Passages that did not change are not staged, unless ``whole``. What is left when the block fails is given to the
    purge; a block that succeeds must `settle`. Raises `Overtaken`.
    """
    staged: dict[int, Staged] = {}
    try:
        for number, operation in enumerate(operations):
            if isinstance(operation, PutFile) and len(operation.content.passages) > STAGED_PASSAGES:
                first = 0 if whole else _first(connections, operation)
                if first is not None:
                    _stage(connections, operation, first, staged, number)
        yield staged
    except BaseException:
        if staged:
            with contextlib.suppress(OpenVikingError), connections.writing() as connection:
                settle(connection, staged.values())
        raise


def settle(connection: sqlite3.Connection, staged: Iterable[Staged]) -> None:
    """Give what was staged and is not needed to the purge, inside of a write transaction."""
    if bury_staged(connection, [one.node_id for one in staged]):
        enqueue(connection, PURGE_JOB)
    connection.execute(
        "DELETE FROM jobs WHERE kind = ? AND key = ? AND state = 'queued' AND NOT EXISTS ("
        "SELECT 1 FROM nodes WHERE directory_id = ? AND name >= ? AND name < ?)",
        (STAGED_JOB.kind, STAGED_JOB.key, GRAVE, STAGED, STAGED_END),
    )


def _first(connections: Connections, operation: PutFile) -> int | None:
    """The number of the first passage to stage; None if there is nothing to stage, as far as can be seen now."""
    content = operation.content
    with connections.reading() as connection:
        present = get(connection, operation.path)
        try:
            check_put(connection, operation, present)
        except OpenVikingError:
            return None
        same = 0
        if present is not None and prepared_by(connection, present) == content.prepared:
            if present.hash == content.hash and present.text_hash == content.text_hash:
                return None
            same = unchanged_passages(connection, present.id, FILE_LEVEL, content.passages)
    return same if len(content.passages) - same > STAGED_PASSAGES else None


def _stage(connections: Connections, operation: PutFile, first: int, staged: dict[int, Staged], number: int) -> None:
    passages = operation.content.passages
    name = f"{STAGED}{secrets.token_hex(8)}"
    for start in range(first, len(passages), PIECE_PASSAGES):
        with connections.writing() as connection:
            if start == first:
                staged[number] = Staged(new_grave(connection, name), first)
                enqueue(connection, STAGED_JOB)
            node_id = staged[number].node_id
            touched = connection.execute(
                "UPDATE nodes SET updated_at = ? WHERE id = ? AND name = ?", (now_ms(), node_id, name)
            ).rowcount
            if not touched:
                raise Overtaken
            piece = passages[start : start + PIECE_PASSAGES]
            add_passages(connection, node_id, FILE_LEVEL, piece, of=len(passages))
            # What is counted in scores is another state now (`term_counts`).
            connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'change'")
