"""Records that the index should have and has not, or not whole, in a part of the tree."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from openviking.store.port import Gap
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.models import IN_USE
from openviking.store.sqlite.rows import JOINED

_PATH: Final = "CASE WHEN n.name = '' THEN d.path WHEN d.path = '' THEN n.name ELSE d.path || '/' || n.name END"
_RECORD: Final = "(n.name = '' AND d.dirty = 0 OR n.text_hash IS NOT NULL)"
"""Files with text, and directories whose summaries are not to be made anew anyway."""

_CHECKS: Final = {
    "its text is not covered by passages": (
        f"SELECT n.id, {_PATH}, 2 FROM {JOINED} JOIN contents c ON c.hash = n.text_hash"
        ' WHERE {0} AND n.text_hash IS NOT NULL AND c.size <> coalesce((SELECT max(p."end") FROM passages p'
        " WHERE p.node_id = n.id AND p.level = 2), 0)"
    ),
    "it has passages without words": (
        f"SELECT DISTINCT n.id, {_PATH}, p.level FROM {JOINED} CROSS JOIN passages p ON p.node_id = n.id"
        f" WHERE {{0}} AND {_RECORD} AND p.id NOT IN (SELECT id FROM words_docsize)"
    ),
    "it has no summary": (
        f"SELECT n.id, {_PATH}, 0 FROM {JOINED} WHERE {{0}} AND n.name = '' AND d.id > 1 AND d.dirty = 0"
        " AND NOT EXISTS (SELECT 1 FROM sidecars s WHERE s.directory_id = d.id)"
    ),
    "it has passages that have no vector and wait for none": (
        f"SELECT DISTINCT n.id, {_PATH}, p.level FROM {JOINED} CROSS JOIN passages p ON p.node_id = n.id"
        f" CROSS JOIN models m WHERE {{0}} AND {_RECORD} AND m.{IN_USE} AND p.id > m.backlog"
        " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = m.id AND v.hash = p.hash)"
        " AND NOT EXISTS (SELECT 1 FROM pending q WHERE q.model_id = m.id AND q.hash = p.hash)"
    ),
}
_CONTENTS: Final = f"SELECT n.id, {_PATH}, n.hash, n.text_hash FROM {JOINED} WHERE {{0}} AND n.hash IS NOT NULL"


def gaps(
    connection: sqlite3.Connection, contents: Contents, conditions: str, values: Sequence[Any], limit: int
) -> tuple[int, list[Gap]]:
    """How many records among nodes ``n`` in directories ``d`` under ``conditions`` are missing or damaged, and some."""
    found: dict[tuple[int, int], Gap] = {}
    count: set[tuple[int, int]] = set()

    def note(node_id: int, path: str, level: int, reason: str) -> None:
        count.add((node_id, level))
        if len(found) < limit:
            found.setdefault((node_id, level), Gap(node_id, path, level, reason))

    for node_id, path, digest, text in connection.execute(_CONTENTS.format(conditions), values):
        if not all(contents.is_there(connection, one) for one in {digest, text or digest}):
            note(node_id, path, 2, "its bytes are missing")
    for reason, sql in _CHECKS.items():
        for node_id, path, level in connection.execute(sql.format(conditions), values):
            note(node_id, path, level, reason)
    return len(count), list(found.values())
