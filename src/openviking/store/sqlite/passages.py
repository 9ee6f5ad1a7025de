"""Replacing the passages of a file: few are written in the transaction itself, many were staged before it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openviking.store.batch import StoredPassage
from openviking.store.sqlite.purge import Budget, bury
from openviking.store.sqlite.schema import GRAVE, STAGED, STAGED_END
from openviking.store.sqlite.words import add_passages, replace_passages, unchanged_passages

FILE_LEVEL: Final = 2

STAGED_PASSAGES: Final = 2000
"""More new passages than this are staged, so that the transaction that shows them only moves them."""


class Overtaken(Exception):  # noqa: N818
    """What is stored is not what the staging went by, or what was staged is gone: all must be staged anew."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A node of the graveyard with the passages of a file from number ``first`` on."""

    node_id: int
    first: int


def put_file_passages(
    connection: sqlite3.Connection,
    budget: Budget,
    node_id: int,
    passages: Sequence[StoredPassage],
    staged: Staged | None,
    *,
    anew: bool,
) -> bool:
    """Replace the passages of a file inside of a write transaction; whether old ones are left to the purge.

    Those at the beginning that did not change are left alone, unless all are to be written ``anew``. Raises
    `Overtaken`.
    """
    looked_at = passages if staged is None else passages[: staged.first]
    same = 0 if anew else unchanged_passages(connection, node_id, FILE_LEVEL, looked_at)
    if len(passages) - same > STAGED_PASSAGES if staged is None else same < staged.first:
        raise Overtaken
    start = passages[same - 1].end if same else 0
    at_once = budget.covers_passages(connection, node_id, start)
    new = passages[same:] if staged is None else ()
    if at_once:
        replace_passages(connection, node_id, FILE_LEVEL, start, new, of=len(passages))
    else:
        bury(connection, node_id, start)
        add_passages(connection, node_id, FILE_LEVEL, new, of=len(passages))
    if staged is not None:
        _publish(connection, staged, node_id)
    return not at_once


def _publish(connection: sqlite3.Connection, staged: Staged, node_id: int) -> None:
    there = connection.execute(
        "DELETE FROM nodes WHERE id = ? AND directory_id = ? AND name >= ? AND name < ?",
        (staged.node_id, GRAVE, STAGED, STAGED_END),
    ).rowcount
    if not there:
        raise Overtaken
    connection.execute("DELETE FROM names WHERE rowid = ?", (staged.node_id,))
    connection.execute("UPDATE passages SET node_id = ? WHERE node_id = ?", (node_id, staged.node_id))
