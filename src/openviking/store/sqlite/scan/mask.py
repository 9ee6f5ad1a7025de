"""Which rows of the scan a scope lets through: conditions on directories and nodes by SQL, the rest by columns."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from openviking.model.condition import Condition
from openviking.model.scope import Scope
from openviking.store.sqlite.filtering import mentions_level
from openviking.store.sqlite.rows import FILE_LEVEL, JOINED, VISIBLE, levels_sql, scope_conditions
from openviking.store.sqlite.scan.rows import among, flagged, flags

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openviking.store.sqlite.scan.rows import Rows

REMEMBERED: Final = 32
"""Scopes whose directories and nodes are kept, each for one state of the account."""

_NO_TIME: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Allowed:
    """The directories of a scope, by id a flag each, and what is to be known of single nodes.

    ``directories`` is None where every directory is in the scope; beside them ``files`` are in it, of which
    ``excluded`` ones are not; ``tagged`` are the only ones that carry its tags, None where it has none. ``matching`` are
    by level the flags of the nodes that meet its condition, one for all levels where they are the same, None where it has
    none. The sidecars of ``stale`` directories do not answer. ``directly`` is the id of the directory that the scope is
    within, with the flags of those right in it, None where it has no such bound.
    """

    directories: NDArray[np.bool_] | None
    stale: NDArray[np.bool_]
    files: NDArray[np.int64]
    excluded: NDArray[np.int64]
    tagged: NDArray[np.int64] | None
    matching: tuple[NDArray[np.bool_], ...] | None
    directly: tuple[int, NDArray[np.bool_]] | None = None


class Scopes:
    """What scopes allow, remembered for the last few of them; safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Scope, int], Allowed] = OrderedDict()

    def allowed(self, connection: sqlite3.Connection, scope: Scope, file_roots: frozenset[str], change: int) -> Allowed:
        """What ``scope`` allows in the state with number ``change``, which ``connection`` sees."""
        key = (replace(scope, levels=(), since=None, until=None, within=None), change)
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        found = _allowed(connection, key[0], file_roots)
        with self._lock:
            self._known[key] = found
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return found


def mask(rows: Rows, allowed: Allowed, scope: Scope) -> NDArray[np.bool_]:
    """A flag for each of ``rows``: whether it is in the scope."""
    if allowed.directories is None:
        chosen = np.ones(len(rows), np.bool_)
    else:
        chosen = flagged(allowed.directories, rows.directory)
    if len(allowed.files):
        chosen |= among(rows.node, allowed.files)
    if len(allowed.excluded):
        chosen &= ~among(rows.node, allowed.excluded)
    if allowed.directly is not None:
        directory, inside = allowed.directly
        chosen &= (rows.directory == directory) | (flagged(inside, rows.directory) & (rows.level != FILE_LEVEL))
    if allowed.tagged is not None:
        chosen &= among(rows.node, allowed.tagged)
    if allowed.matching is not None:
        met = [flagged(flags, rows.node) for flags in allowed.matching]
        chosen &= met[0] if len(met) == 1 else np.choose(rows.level, met)
    if scope.levels:
        chosen &= np.isin(rows.level, np.array([level for level in scope.levels if 0 <= level <= FILE_LEVEL], np.uint8))
    if scope.levels != (FILE_LEVEL,):
        chosen &= (rows.level == FILE_LEVEL) | ~flagged(allowed.stale, rows.directory)
    times = rows.updated_at if scope.time_field == "updated_at" else rows.created_at
    if scope.since is not None:
        chosen &= times >= _time(scope.since)
    if scope.until is not None:
        chosen &= times <= _time(scope.until)
    if scope.nothing:
        chosen[:] = False
    return chosen


def directly(connection: sqlite3.Connection, path: str) -> tuple[int, NDArray[np.bool_]]:
    """The id of the directory at ``path``, -1 without one, and the flags of the directories right in it."""
    row = connection.execute("SELECT id FROM directories WHERE path = ?", (path,)).fetchone()
    directory = -1 if row is None else int(row[0])
    return directory, flags(_ids(connection, "SELECT id FROM directories WHERE parent_id = ?", (directory,)))


def _time(value: int) -> int:
    return min(max(value, -_NO_TIME), _NO_TIME)


def _allowed(connection: sqlite3.Connection, scope: Scope, file_roots: frozenset[str]) -> Allowed:
    everything = scope.roots is None or "" in scope.roots
    roots = None if everything else tuple(root for root in scope.roots or () if root not in file_roots)
    of_files = () if everything else tuple(root for root in scope.roots or () if root in file_roots)
    left_out = tuple(path for path in scope.excluded if path not in file_roots)
    files_out = tuple(path for path in scope.excluded if path in file_roots)
    below = Scope(roots, left_out, scope.context_types)
    directories = None if everything and not left_out and not scope.context_types else _directories(connection, below)
    tagged: NDArray[np.int64] | None = None
    for tag in scope.tags:
        these = _ids(connection, "SELECT node_id FROM tags WHERE tag = ?", (tag,))
        tagged = these if tagged is None else np.intersect1d(tagged, these)
    return Allowed(
        directories,
        flags(_ids(connection, "SELECT id FROM directories WHERE dirty > 0")),
        _nodes(connection, Scope(of_files, left_out, scope.context_types), file_roots) if of_files else _none(),
        _nodes(connection, Scope(files_out), file_roots) if files_out else _none(),
        tagged,
        None if scope.condition is None else _matching(connection, scope, scope.condition, file_roots),
    )


def _matching(
    connection: sqlite3.Connection, scope: Scope, condition: Condition, file_roots: frozenset[str]
) -> tuple[NDArray[np.bool_], ...]:
    conditions, values = scope_conditions(scope, file_roots)
    levels, of_filter = levels_sql(scope)
    found = connection.execute(
        f"SELECT n.id, {levels} FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id"
        f" WHERE {' AND '.join([*conditions, VISIBLE])}",
        (*of_filter, *values),
    ).fetchall()
    together = np.array(found, np.int64).reshape(-1, 2)
    each = (1 << level for level in range(FILE_LEVEL + 1)) if mentions_level(condition) else (1,)
    return tuple(flags(together[together[:, 1] & one > 0, 0]) for one in each)


def _directories(connection: sqlite3.Connection, scope: Scope) -> NDArray[np.bool_]:
    conditions, values = scope_conditions(scope, frozenset())
    return flags(_ids(connection, f"SELECT d.id FROM directories d WHERE {' AND '.join(conditions)}", values))


def _nodes(connection: sqlite3.Connection, scope: Scope, file_roots: frozenset[str]) -> NDArray[np.int64]:
    conditions, values = scope_conditions(scope, file_roots)
    return _ids(connection, f"SELECT n.id FROM {JOINED} WHERE {' AND '.join([*conditions, VISIBLE])}", values)


def _ids(connection: sqlite3.Connection, sql: str, values: Any = ()) -> NDArray[np.int64]:
    return np.array([row[0] for row in connection.execute(sql, values)], np.int64)


def _none() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)
