"""Reading rows of the scan from the tables, inside of a read transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from openviking.store.sqlite.rows import FILE_LEVEL, VISIBLE
from openviking.store.sqlite.scan.kernel import quantised
from openviking.store.sqlite.scan.rows import NEVER, GrowingRows, Rows, among, empty

if TYPE_CHECKING:
    from numpy.typing import NDArray

READ_AT_ONCE: Final = 2000

_VALUES: Final = (
    "p.id, n.id, n.directory_id, n.updated_at, n.created_at, p.level, p.length, coalesce(v.id, 0), v.vector"
)
_VECTOR: Final = "LEFT JOIN vectors v ON v.hash = p.hash AND v.model_id = ?"
_LIVE: Final = f"d.path >= ' ' AND {VISIBLE}"


@dataclass(frozen=True, slots=True)
class Model:
    """A model as the tables name it; ``cleared`` changes when vectors of it were removed that passages still had."""

    id: int
    fingerprint: str
    dimension: int
    cleared: int


@dataclass(frozen=True, slots=True)
class State:
    """What a read transaction sees: up to which change, and up to which vector."""

    change: int
    vector: int


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of rows: those that are no longer there (one flag a row), and those that are new."""

    gone: NDArray[np.bool_]
    fresh: Rows


def model(connection: sqlite3.Connection, fingerprint: str) -> Model | None:
    """The model with ``fingerprint`` if it was ever used."""
    row = connection.execute(
        "SELECT id, fingerprint, dimension, cleared FROM models WHERE fingerprint = ?", (fingerprint,)
    ).fetchone()
    return Model(*row) if row else None


def state(connection: sqlite3.Connection) -> State:
    """What ``connection`` sees now."""
    change, vector = connection.execute(
        "SELECT value, (SELECT coalesce(max(id), 0) FROM vectors) FROM meta WHERE name = 'change'"
    ).fetchone()
    return State(int(change), int(vector))


def reaches_back(connection: sqlite3.Connection, change: int) -> bool:
    """Whether the log tells all that came after ``change``."""
    (forgotten,) = connection.execute("SELECT value FROM meta WHERE name = 'forgotten'").fetchone()
    return bool(change >= forgotten)


def all_rows(connection: sqlite3.Connection, of: Model, now: State) -> GrowingRows:
    """The rows of all passages there are."""
    (passages,) = connection.execute("SELECT value FROM meta WHERE name = 'passages'").fetchone()
    growing = GrowingRows(empty(max(int(passages), 0) * 9 // 8 + READ_AT_ONCE, of.dimension))
    cursor = connection.execute(
        f"SELECT {_VALUES} FROM passages p CROSS JOIN nodes n ON n.id = p.node_id"
        f" CROSS JOIN directories d ON d.id = n.directory_id {_VECTOR} WHERE {_LIVE}",
        (of.id,),
    )
    for some in _rows(cursor, of, now):
        growing.append(some)
    return growing


def difference(connection: sqlite3.Connection, of: Model, rows: Rows, since: int, now: State) -> Difference:
    """What has become of ``rows``, which were right at change ``since``."""
    log = connection.execute(
        "SELECT c.node_id, max(c.op = 'remove'), max(c.op = 'put' AND n.name = ''), n.directory_id"
        " FROM changes c LEFT JOIN nodes n ON n.id = c.node_id WHERE c.change > ? GROUP BY c.node_id",
        (since,),
    ).fetchall()
    if not log:
        return Difference(np.zeros(len(rows), np.bool_), empty(0, of.dimension))
    changed = [row[0] for row in log]
    gone = among(rows.node, np.array(changed, np.int64))
    # A directory that is made may have the id of one that was removed before: what is known of that id is the old one's.
    made = [row[3] for row in log if row[2]]
    if made:
        gone |= among(rows.directory, np.array(made, np.int64))
    removed = [row[0] for row in log if row[1]]
    if removed:
        files = rows.node[gone & (rows.level == FILE_LEVEL)]
        if not np.isin(np.array(removed, np.int64), files).all():
            # Of a removed directory only itself is in the log.
            left = connection.execute("SELECT id FROM directories WHERE path >= ' '").fetchall()
            gone |= ~among(rows.directory, np.array([row[0] for row in left], np.int64))
    fresh = GrowingRows(empty(0, of.dimension))
    cursor = connection.execute(
        f"SELECT {_VALUES} FROM json_each(?) j CROSS JOIN nodes n ON n.id = j.value"
        f" CROSS JOIN directories d ON d.id = n.directory_id CROSS JOIN passages p ON p.node_id = n.id"
        f" {_VECTOR} WHERE {_LIVE}",
        (json.dumps(changed), of.id),
    )
    for some in _rows(cursor, of, now):
        fresh.append(some)
    return Difference(gone, fresh.rows)


def new_vectors(connection: sqlite3.Connection, of: Model, since: int, now: State) -> Iterator[Rows]:
    """Rows for the vectors that came after ``since``, of the passages that have them.

    They have no node, directory or time: those are known of the passages already.
    """
    # With the plus SQLite goes by the ids, and not through all vectors of the model.
    cursor = connection.execute(
        "SELECT p.id, 0, 0, 0, 0, p.level, p.length, v.id, v.vector FROM vectors v CROSS JOIN passages p ON p.hash = v.hash"
        " WHERE v.id > ? AND v.id <= ? AND +v.model_id = ?",
        (since, now.vector, of.id),
    )
    yield from _rows(cursor, of, now)


def _rows(cursor: sqlite3.Cursor, of: Model, now: State) -> Iterator[Rows]:
    while some := cursor.fetchmany(READ_AT_ONCE):
        yield _columns(some, of.dimension, now.change)


def _columns(some: Sequence[tuple[Any, ...]], dimension: int, change: int) -> Rows:
    passage, node, directory, updated_at, created_at, level, length, vector, blobs = zip(*some, strict=True)
    size = 2 * dimension
    # What is no whole number of vectors is damaged: the passage has none. What is empty is settled.
    sound = [blob if blob and len(blob) % size == 0 else b"" for blob in blobs]
    windows = np.array([len(blob) // size for blob in sound], np.int64)
    rows = np.maximum(windows, 1)
    count = int(rows.sum())
    numbers = np.frombuffer(b"".join(sound), np.dtype("<f2")).reshape(-1, dimension).astype(np.float32)
    having = np.repeat(windows > 0, rows)
    settled = np.repeat(np.array([blob == b"" for blob in blobs], np.bool_), rows)
    code = np.zeros((count, dimension), np.int8)
    scale = np.zeros(count, np.float32)
    if len(numbers):
        code[having], scale[having] = quantised(numbers)
    starts = np.repeat(np.cumsum(rows) - rows, rows)

    def column(values: Sequence[int]) -> NDArray[np.int64]:
        return np.repeat(np.array(values, np.int64), rows)

    return Rows(
        passage=column(passage),
        node=column(node),
        directory=column(directory),
        updated_at=column(updated_at),
        created_at=column(created_at),
        vector=np.where(having, column(vector), np.where(settled, -column(vector), 0)),
        born=np.full(count, change, np.int64),
        died=np.full(count, NEVER, np.int64),
        length=column(length).astype(np.int32),
        scale=scale,
        level=column(level).astype(np.uint8),
        window=(np.arange(count) - starts).astype(np.uint16),
        code=code,
    )
