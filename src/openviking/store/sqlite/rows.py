"""Rows of the tree as values, and the SQL that all readers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from openviking.model.node import Node
from openviking.model.scope import Scope
from openviking.store.sqlite.filtering import condition_sql, mentions_level

COLUMNS: Final = (
    "n.id, d.path, n.name, n.size, n.hash, n.text_hash, n.encoding, n.kind, n.abstract, n.created_at,"
    " n.updated_at, n.source_id, n.source_name, n.source_hash"
)
COLUMN_COUNT: Final = 14
JOINED: Final = "nodes n CROSS JOIN directories d ON d.id = n.directory_id"

FILE_LEVEL: Final = 2

VISIBLE: Final = "substr(n.name, 1, 1) <> '.'"
"""Files whose own name starts with a dot are hidden; directories have an empty name."""

FOUND: Final = f"{VISIBLE} AND n.kind <> 'bookkeeping'"
"""Nodes that may be found: neither hidden nor OpenViking's own bookkeeping."""

INDEXED: Final = f"(n.text_hash IS NOT NULL AND {FOUND})"
"""Files that are records: text that may be found (contract/retrieval.md §2.3)."""

ORDER: Final = "replace(CASE WHEN n.name = '' THEN d.path ELSE d.path || '/' || n.name END, '/', char(1))"
"""Sorts by path components: a separator comes before every character that a name may have."""


WITHIN: Final = (
    "(d.path = ? OR d.parent_id = (SELECT w.id FROM directories w WHERE w.path = ?)) AND (d.path = ? OR n.name = '')"
)
"""What is right in a directory: its files, and the nodes of itself and of the directories in it."""


def node(row: Sequence[Any]) -> Node:
    """The node of a row that starts with `COLUMNS`."""
    directory, name = row[1], row[2]
    path = directory if name == "" else (f"{directory}/{name}" if directory else name)
    return Node(
        id=row[0], path=path, is_dir=name == "", size=row[3], hash=row[4], text_hash=row[5], encoding=row[6],
        kind=row[7], abstract=row[8], created_at=row[9], updated_at=row[10], source_id=row[11], source_name=row[12],
        source_hash=row[13],
    )  # fmt: skip


def inside(column: str) -> str:
    """SQL for "the path in ``column`` is ``?`` or below it"; takes the path twice by `inside_values`."""
    return f"({column} = ? OR ({column} > ? AND {column} < ?))"


def inside_values(path: str) -> tuple[str, str, str]:
    """Values for `inside`. "0" is the character after "/"."""
    return (path, path + "/", path + "0")


def scope_conditions(scope: Scope, file_roots: frozenset[str]) -> tuple[list[str], list[Any]]:
    """``scope`` as SQL conditions on directories ``d`` and nodes ``n``, with their values.

    ``file_roots`` are those of its roots (and excluded paths) that are files. Levels are left to the caller, and so is
    the scope's ``condition``, which may ask for them.
    """
    conditions = ["d.path >= ' '"]
    values: list[Any] = []
    if scope.roots is not None and "" not in scope.roots:
        sql, these = _any_subtree(scope.roots, file_roots)
        conditions.append(sql)
        values += these
    if scope.excluded:
        sql, these = _any_subtree(scope.excluded, file_roots)
        conditions.append(f"NOT {sql}")
        values += these
    if scope.context_types:
        conditions.append(f"d.context_type IN ({marks(scope.context_types)})")
        values += scope.context_types
    for tag in scope.tags:
        conditions.append("EXISTS (SELECT 1 FROM tags t WHERE t.node_id = n.id AND t.tag = ?)")
        values.append(tag)
    if scope.since is not None:
        conditions.append(f"n.{scope.time_field} >= ?")
        values.append(scope.since)
    if scope.until is not None:
        conditions.append(f"n.{scope.time_field} <= ?")
        values.append(scope.until)
    if scope.within is not None:
        conditions.append(WITHIN)
        values += (scope.within,) * 3
    if scope.nothing:
        conditions.append("0")
    return conditions, values


def passage_conditions(scope: Scope, file_roots: frozenset[str]) -> tuple[str, list[Any]]:
    """SQL for "may answer in ``scope``" on passages ``p``, nodes ``n`` and directories ``d``, with its values.

    Hidden files never do, nor do stale sidecars.
    """
    conditions, values = scope_conditions(scope, file_roots)
    of_level, levels = level_condition(scope)
    parts = [*conditions, FOUND, of_level, f"(p.level = {FILE_LEVEL} OR d.dirty = 0)"]
    of_filter: list[Any] = []
    if scope.condition is not None:
        sql, of_filter = condition_sql(scope.condition, "p.level")
        parts.append(sql)
    return " AND ".join(parts), [*values, *levels, *of_filter]


def levels_sql(scope: Scope) -> tuple[str, list[Any]]:
    """In which levels a record matches the ``condition`` of ``scope``, as SQL for a sum of 1 << level, with its values."""
    if scope.condition is None:
        return "7", []
    if not mentions_level(scope.condition):
        sql, values = condition_sql(scope.condition, "NULL")
        return f"7 * ({sql})", values
    parts = [condition_sql(scope.condition, str(level)) for level in range(FILE_LEVEL + 1)]
    summed = " + ".join(f"({sql}) * {1 << level}" for level, (sql, _) in enumerate(parts))
    return f"({summed})", [value for _, values in parts for value in values]


def level_condition(scope: Scope) -> tuple[str, tuple[int, ...]]:
    """The levels of ``scope`` as an SQL condition on passages ``p``, with its values."""
    return (f"p.level IN ({marks(scope.levels)})" if scope.levels else "1"), scope.levels


def _any_subtree(roots: Sequence[str], file_roots: frozenset[str]) -> tuple[str, list[Any]]:
    alternatives: list[str] = []
    values: list[Any] = []
    for root in roots:
        if root in file_roots:
            parent, _, name = root.rpartition("/")
            alternatives.append("(d.path = ? AND n.name = ?)")
            values += (parent, name)
        else:
            alternatives.append(inside("d.path"))
            values += inside_values(root)
    return f"({' OR '.join(alternatives) or '0'})", values


def marks(values: Sequence[Any]) -> str:
    """``?, ?, ?`` for as many values."""
    return ", ".join("?" * len(values))
