"""The embedding models that a store has vectors of, and which of them are in use."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from openviking.clock import now_ms
from openviking.model.embedding import EmbeddingModel
from openviking.store.vectors import StoredModel

HOUR_MS: Final = 3_600_000
WEEK_MS: Final = 7 * 24 * HOUR_MS
"""A model that was not used for so long while another was is out of use."""

IN_USE: Final = f"used_at > (SELECT max(used_at) FROM models) - {WEEK_MS}"
"""SQL for a row of ``models``. Told from the other models rather than from the clock: who comes back after a month
finds the vectors of the one model still there, and what is in use changes with `use` alone."""

CLEARED: Final = 1000
"""Rows of a model out of use that one transaction clears away."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model with a row: ``backlog`` is the highest passage id that is yet to be looked through for it."""

    id: int
    dimension: int
    backlog: int


def known(connection: sqlite3.Connection, fingerprint: str) -> KnownModel | None:
    """The model with that fingerprint; None if nobody used it, or it is out of use."""
    row = connection.execute(
        f"SELECT id, dimension, backlog FROM models WHERE fingerprint = ? AND {IN_USE}", (fingerprint,)
    ).fetchone()
    return KnownModel(*row) if row else None


def in_use(connection: sqlite3.Connection) -> list[StoredModel]:
    """The models in use, the one that was used last first."""
    rows = connection.execute(
        "SELECT name, fingerprint, dimension,"
        " EXISTS (SELECT 1 FROM vectors WHERE model_id = models.id AND vector <> x'')"
        f" FROM models WHERE {IN_USE} ORDER BY used_at DESC, id DESC"
    )
    return [StoredModel(name, fingerprint, dimension, bool(filled)) for name, fingerprint, dimension, filled in rows]


def lately_used(connection: sqlite3.Connection, fingerprint: str) -> bool:
    """Whether a model is in use, and that was noted in the last hour."""
    return (
        connection.execute(
            f"SELECT 1 FROM models WHERE fingerprint = ? AND {IN_USE} AND used_at > ?",
            (fingerprint, now_ms() - HOUR_MS),
        ).fetchone()
        is not None
    )


def use(connection: sqlite3.Connection, model: EmbeddingModel) -> bool:
    """Note that a model is used, inside of a write transaction; whether others are out of use."""
    (newest,) = connection.execute("SELECT coalesce(max(used_at), 0) FROM models").fetchone()
    # Never before the others: a clock that once was wrong must not put a model out of use for ever.
    used_at = max(now_ms(), newest)
    if known(connection, model.fingerprint) is not None:
        connection.execute("UPDATE models SET used_at = ? WHERE fingerprint = ?", (used_at, model.fingerprint))
    else:
        # While a model is out of use nothing is queued for it.
        connection.execute(
            "INSERT INTO models (fingerprint, name, dimension, used_at, backlog)"
            " VALUES (?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM passages))"
            " ON CONFLICT (fingerprint) DO UPDATE SET used_at = excluded.used_at, backlog = excluded.backlog",
            (model.fingerprint, model.name, model.dimension, used_at),
        )
    return connection.execute(f"SELECT 1 FROM models WHERE NOT {IN_USE}").fetchone() is not None


def clear_unused(connection: sqlite3.Connection) -> int:
    """Clear away up to `CLEARED` rows of models out of use, inside of a write transaction; how many."""
    row = connection.execute(f"SELECT id FROM models WHERE NOT {IN_USE} ORDER BY id LIMIT 1").fetchone()
    if row is None:
        return 0
    for table, part in (("pending", "error = ''"), ("pending", "error <> ''"), ("vectors", "true")):
        cleared = connection.execute(
            f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE model_id = ? AND {part} LIMIT ?)",
            (row[0], CLEARED),
        ).rowcount
        if cleared:
            if table == "vectors":
                connection.execute("UPDATE models SET cleared = cleared + ? WHERE id = ?", (cleared, row[0]))
            return cleared
    return connection.execute("DELETE FROM models WHERE id = ?", (row[0],)).rowcount
