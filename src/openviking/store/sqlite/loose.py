"""Contents that lost a passage: their vectors are kept for a while, as most of them come back soon.

An edit drops passages and stores most of them again, an import that is repeated finds what was removed before it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from openviking.clock import MAX_MS, now_ms
from openviking.store.jobs import LATER, NewJob

LOOSE_MS: Final = 600_000
LOOSE_JOB: Final = NewJob("purge", LATER, {}, delay=LOOSE_MS + 60_000)

FORGOTTEN: Final = 1000
"""Contents that one transaction looks at."""

_DEAD: Final = "NOT EXISTS (SELECT 1 FROM passages p WHERE p.hash = {}.hash)"
_ITS_VECTORS: Final = "vectors WHERE model_id IN (SELECT id FROM models) AND hash = :hash"


def note_dropped(connection: sqlite3.Connection, dropped: Sequence[bytes]) -> None:
    """Contents that lost a passage wait no more if it was the last, and what is kept of them is to be looked at later.

    Inside of a write transaction, once what takes the place of the passages is stored.
    """
    if not dropped or connection.execute("SELECT 1 FROM models LIMIT 1").fetchone() is None:
        return
    now = now_ms()
    values = [{"hash": digest, "now": now} for digest in dropped]
    connection.executemany(
        f"DELETE FROM pending WHERE hash = :hash AND error = '' AND {_DEAD.format('pending')}", values
    )
    connection.executemany(
        f"INSERT INTO loose SELECT :hash, :now WHERE EXISTS (SELECT 1 FROM {_ITS_VECTORS})"
        " OR EXISTS (SELECT 1 FROM pending WHERE hash = :hash) ON CONFLICT (hash) DO UPDATE SET at = excluded.at",
        values,
    )


def forget_loose(connection: sqlite3.Connection, *, at_once: bool = False) -> int:
    """Clear away what is kept of contents that nothing has had for `LOOSE_MS`, inside of a write transaction.

    ``at_once`` means all of them, even if the clock was set back. Gives how many were looked at, at most `FORGOTTEN`.
    """
    before = MAX_MS if at_once else now_ms() - LOOSE_MS
    rows = connection.execute("SELECT hash FROM loose WHERE at < ? ORDER BY at LIMIT ?", (before, FORGOTTEN)).fetchall()
    over = [{"hash": digest} for (digest,) in rows]
    connection.executemany(f"DELETE FROM {_ITS_VECTORS} AND {_DEAD.format('vectors')}", over)
    connection.executemany(f"DELETE FROM pending WHERE hash = :hash AND {_DEAD.format('pending')}", over)
    connection.executemany("DELETE FROM loose WHERE hash = :hash", over)
    return len(over)


def any_loose(connection: sqlite3.Connection) -> bool:
    """Whether there is anything that `forget_loose` will have to look at."""
    return connection.execute("SELECT 1 FROM loose LIMIT 1").fetchone() is not None
