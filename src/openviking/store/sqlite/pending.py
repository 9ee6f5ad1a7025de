"""The queue of passages that wait for a vector: its rows, and where the passage of a row is."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any, Final

from openviking.model.node import Node
from openviking.store.sqlite.models import IN_USE
from openviking.store.sqlite.rows import COLUMN_COUNT, COLUMNS, inside, inside_values, marks, node
from openviking.store.sqlite.schema import GRAVE, STAGED, STAGED_END
from openviking.store.vectors import LOST

SMALL: Final = 16
MIDDLE: Final = 256
"""Records with up to so many passages come before larger ones."""

NARROW_PASSAGES: Final = 4000
"""In a subtree with up to so many passages the queue is looked through from the passages."""

PLACES: Final = "passages p CROSS JOIN nodes n ON n.id = p.node_id CROSS JOIN directories d ON d.id = n.directory_id"
LIVE: Final = "(d.path = '' OR d.path >= ' ')"
"""SQL for "is not removed, nor staged"."""

_NO_VECTOR: Final = "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = m.id AND v.hash = p.hash)"


def size_class(passages: int) -> int:
    """The class of a record with so many passages; a lower one is embedded first."""
    return 0 if passages <= SMALL else 1 if passages <= MIDDLE else 2


def queue_new(connection: sqlite3.Connection, first: int, last: int, size: int) -> None:
    """Queue the new passages with ids from ``first`` to ``last`` for each model in use, inside of a write transaction.

    Those with a vector need none; what waits already moves up. One whose text was lost is there again.
    """
    connection.execute(
        "INSERT INTO pending (model_id, hash, passage_id, size_class)"
        " SELECT m.id, p.hash, p.id, :size FROM models m CROSS JOIN passages p"
        f" WHERE m.{IN_USE} AND p.id BETWEEN :first AND :last AND {_NO_VECTOR}"
        " ON CONFLICT (hash, model_id) DO UPDATE SET passage_id = excluded.passage_id,"
        " size_class = min(size_class, excluded.size_class), error = '' WHERE error IN ('', :lost)",
        {"size": size, "first": first, "last": last, "lost": LOST},
    )


def queue_old(connection: sqlite3.Connection, model_id: int, first: int, last: int) -> None:
    """Queue passages with ids from ``first`` to ``last`` that were stored before a model was used, inside of a write transaction."""
    connection.execute(
        "WITH sizes AS MATERIALIZED (SELECT node_id, level, (SELECT count(*) FROM ("
        "SELECT 1 FROM passages r WHERE r.node_id = s.node_id AND r.level = s.level LIMIT :more)) AS size"
        " FROM (SELECT DISTINCT node_id, level FROM passages WHERE id BETWEEN :first AND :last) s)"
        " INSERT INTO pending (model_id, hash, passage_id, size_class)"
        " SELECT m.id, p.hash, p.id, CASE WHEN s.size <= :small THEN 0 WHEN s.size <= :middle THEN 1 ELSE 2 END"
        " FROM models m CROSS JOIN passages p CROSS JOIN sizes s ON s.node_id = p.node_id AND s.level = p.level"
        f" WHERE m.id = :model AND p.id BETWEEN :first AND :last AND {_NO_VECTOR}"
        " ORDER BY p.id DESC ON CONFLICT DO NOTHING",
        {"model": model_id, "first": first, "last": last, "small": SMALL, "middle": MIDDLE, "more": MIDDLE + 1},
    )


def queue_again(connection: sqlite3.Connection, model_id: int, ids: list[int]) -> None:
    """Queue passages for a model, also refused ones, inside of a write transaction; those that are gone are left out."""
    connection.execute(
        "INSERT INTO pending (model_id, hash, passage_id, size_class) SELECT ?, p.hash, p.id, 0 FROM passages p"
        f" WHERE p.id IN ({marks(ids)}) AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = ? AND v.hash = p.hash)"
        " ON CONFLICT (hash, model_id) DO UPDATE SET error = '', due = 0, lease = NULL WHERE error <> ''",
        (model_id, *ids, model_id),
    )


def waiting_rows(
    connection: sqlite3.Connection,
    model_id: int,
    up_to: int,
    below: str,
    condition: str = "true",
    values: tuple[Any, ...] = (),
) -> tuple[str, tuple[Any, ...]]:
    """What follows ``FROM`` for rows ``q`` that wait or are claimed, each once, with its values.

    Of those with an id of at most ``up_to`` and, with ``below``, of passages of nodes at and below that path, and of the
    directories above it; of a small subtree no others are looked at.
    """
    common = f"q.model_id = ? AND q.error = '' AND q.id <= ? AND {condition}"
    values = (model_id, up_to, *values)
    if not below:
        return f"pending q WHERE {common}", values
    parts = below.split("/")
    above = ["/".join(parts[:depth]) for depth in range(len(parts))]
    places = (
        (inside("d.path"), inside_values(below)),
        ("(d.path = ? AND n.name = ?)", ("/".join(parts[:-1]), parts[-1])),
        (f"(d.path IN ({marks(above)}) AND n.name = '')", tuple(above)),
    )
    place = f"({' OR '.join(condition for condition, _ in places)})"
    place_values = tuple(value for _, group in places for value in group)
    # A query for each: one with an OR would look at all directories.
    nodes = " UNION ".join(
        f"SELECT n.id FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id WHERE {one}" for one, _ in places
    )
    passages = f"({nodes}) n CROSS JOIN passages p ON p.node_id = n.id"
    (count,) = connection.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM {passages} LIMIT ?)", (*place_values, NARROW_PASSAGES + 1)
    ).fetchone()
    if count <= NARROW_PASSAGES:
        source = f"(SELECT DISTINCT q.* FROM {passages} CROSS JOIN pending q ON q.hash = p.hash WHERE {common}) q"
        return source, (*place_values, *values)
    # The newest passage of a row is most often there where one waits; looking at all its copies takes longer.
    near = f"EXISTS (SELECT 1 FROM {PLACES} WHERE p.id = q.passage_id AND {place})"
    far = f"EXISTS (SELECT 1 FROM {PLACES} WHERE p.hash = q.hash AND {place})"
    return f"pending q WHERE {common} AND ({near} OR {far})", (*values, *place_values, *place_values)


def staged_rows(model_id: int, up_to: int) -> tuple[str, tuple[Any, ...]]:
    """What follows ``FROM`` for rows that wait of contents that are only being staged, each once, with its values.

    A writer that died leaves them until the purge; without one this is a look at an index.
    """
    source = (
        "(SELECT DISTINCT q.id FROM nodes s CROSS JOIN passages t ON t.node_id = s.id"
        " CROSS JOIN pending q ON q.hash = t.hash AND q.model_id = ? AND q.error = '' AND q.id <= ?"
        " WHERE s.directory_id = ? AND s.name >= ? AND s.name < ?"
        f" AND NOT EXISTS (SELECT 1 FROM {PLACES} WHERE p.hash = t.hash AND {LIVE}))"
    )
    return source, (model_id, up_to, GRAVE, STAGED, STAGED_END)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage is that has a content."""

    node: Node
    level: int
    title: str
    start: int
    end: int
    breadcrumb: str
    symbol: str
    first_line: int
    last_line: int


def place_of(connection: sqlite3.Connection, digest: bytes) -> Place | None:
    """The newest passage with the content ``digest`` that is neither removed nor staged."""
    row = connection.execute(
        f'SELECT {COLUMNS}, p.level, n.title, p.start, p."end", p.breadcrumb, p.symbol, p.first_line, p.last_line'
        f" FROM {PLACES} WHERE p.hash = ? AND {LIVE} ORDER BY p.id DESC LIMIT 1",
        (digest,),
    ).fetchone()
    return Place(node(row), *row[COLUMN_COUNT:]) if row else None


def is_staged(connection: sqlite3.Connection, digest: bytes) -> bool:
    """Whether a writer is staging a passage with the content ``digest``."""
    return (
        connection.execute(
            "SELECT 1 FROM passages p CROSS JOIN nodes n ON n.id = p.node_id"
            " WHERE p.hash = ? AND n.directory_id = ? AND n.name >= ? AND n.name < ? LIMIT 1",
            (digest, GRAVE, STAGED, STAGED_END),
        ).fetchone()
        is not None
    )
