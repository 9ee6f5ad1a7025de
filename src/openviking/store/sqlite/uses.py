"""How often nodes were used: a count with each node, raised by what sessions tell (contract/retrieval.md §2.5, §8.5)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from openviking.errors import NotFoundError
from openviking.store.batch import Outcome
from openviking.store.sessions import CountUses
from openviking.store.sqlite.rows import JOINED
from openviking.uri import from_path


def count_uses(connection: sqlite3.Connection, operation: CountUses) -> Outcome:
    """Count what a session used, each use once, inside of a write transaction. Raises `NotFoundError`."""
    row = connection.execute("SELECT id FROM sessions WHERE path = ?", (operation.path,)).fetchone()
    if row is None:
        raise NotFoundError(str(from_path(operation.path)), "session")
    connection.execute(
        "UPDATE session_uses SET counted = 1 WHERE session_id = ? AND id <= ?", (row[0], operation.up_to)
    )
    count = 0
    for path in operation.used:
        parent, _, name = path.rpartition("/")
        count += connection.execute(
            f"UPDATE nodes SET active_count = active_count + 1 WHERE id IN (SELECT n.id FROM {JOINED} WHERE"
            " d.path >= ' ' AND ((d.path = ? AND n.name = '') OR (d.path = ? AND n.name = ? AND n.name <> '')))",
            (path, parent, name),
        ).rowcount
    return Outcome("updated" if count else "unchanged", count)


def active_counts(connection: sqlite3.Connection, node_ids: Sequence[int]) -> dict[int, int]:
    """By node how often it was used; one that never was is missing."""
    rows = connection.execute(
        "SELECT n.id, n.active_count FROM json_each(?) j CROSS JOIN nodes n ON n.id = j.value WHERE n.active_count > 0",
        (json.dumps(list(node_ids)),),
    )
    return {int(node): int(count) for node, count in rows}
