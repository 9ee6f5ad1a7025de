"""Walking a subtree in the order of its paths, block by block: nodes, or the texts of its files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Final

from openviking.errors import UnavailableError
from openviking.store.port import Entry, FileText
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.rows import COLUMNS, ORDER, VISIBLE, node
from openviking.uri import from_path

WALKED_AT_ONCE: Final = 500

# The outer loop of a cross join is its left table, and json_each gives the ids as they are listed: so the order stays.
_IN_ORDER: Final = (
    "FROM json_each(?) j CROSS JOIN nodes n ON n.id = j.value CROSS JOIN directories d ON d.id = n.directory_id"
)

# Memories are read in any case: what readers see of one may have the literal though its bytes don't.
_WANTED: Final = "(:needle IS NULL OR c.data IS NULL OR d.context_type = 'memory' OR instr(c.data, :needle) > 0)"
_TEXTS: Final = (
    f"SELECT n.id, d.path, n.name, n.text_hash, {_WANTED}, CASE WHEN {_WANTED} THEN c.data END"
    f" {_IN_ORDER.replace('?', ':ids')} LEFT JOIN contents c ON c.hash = n.text_hash WHERE n.text_hash IS NOT NULL"
)


def limit_walk(conditions: list[str], values: list[Any], path: str, depth: int | None, hidden_files: bool) -> None:
    """Narrow conditions on directories ``d`` and nodes ``n`` to ``depth`` levels below ``path``."""
    if depth is not None:
        deepest = _depth(path) + depth
        conditions.append("d.depth <= ? AND d.depth + (n.name <> '') <= ?")
        values += (deepest, deepest)
    if not hidden_files:
        conditions.append(VISIBLE)


def ordered_ids(sql: sqlite3.Connection, conditions: Sequence[str], values: Sequence[Any]) -> Iterator[list[int]]:
    """The ids of the nodes that fulfil ``conditions``, by path, some hundreds at once."""
    # Sorting whole rows would carry every abstract along.
    ids = sql.execute(
        f"SELECT n.id FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id"
        f" WHERE {' AND '.join(conditions)} ORDER BY {ORDER}",
        values,
    )
    while some := [row[0] for row in ids.fetchmany(WALKED_AT_ONCE)]:
        yield some


def entries(sql: sqlite3.Connection, ids: Iterator[list[int]], path: str) -> Iterator[Entry]:
    """The nodes with their depth below ``path``, which itself is left out if it is a directory."""
    base = _depth(path)
    for some in ids:
        for row in sql.execute(f"SELECT {COLUMNS} {_IN_ORDER}", (json.dumps(some),)):
            found = node(row)
            if found.path != path or not found.is_dir:
                yield Entry(found, _depth(found.path) - base)


def texts(
    sql: sqlite3.Connection, contents: Contents, ids: Iterator[list[int]], literal: str | None
) -> Iterator[FileText]:
    """The texts of the files among ``ids``; see `openviking.store.port.View.texts`."""
    needle = None if literal is None else literal.encode()
    for some in ids:
        rows = sql.execute(_TEXTS, {"needle": needle, "ids": json.dumps(some)})
        for node_id, directory, name, digest, wanted, data in rows:
            path = f"{directory}/{name}" if directory else name
            if not wanted:
                yield FileText(node_id, path, None)
                continue
            held = contents.get(sql, digest) if data is None else data
            try:
                yield FileText(node_id, path, held.decode())
            except UnicodeDecodeError as error:
                raise UnavailableError(
                    f"The text of {from_path(path)} is damaged: {error}", service="store", reason=str(error)
                ) from error


def _depth(path: str) -> int:
    return path.count("/") + 1 if path else 0
