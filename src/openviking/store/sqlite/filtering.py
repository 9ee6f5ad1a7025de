"""A caller's filter as an SQL condition: names of fields become fixed expressions, and every value is bound."""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import regex

from openviking.errors import DeadlineExceededError
from openviking.model.condition import (
    AllOf,
    AnyOf,
    Below,
    Between,
    Condition,
    Constant,
    Not,
    OneOf,
    TextMatch,
    leaves,
)
from openviking.uri import SCHEME

LABELS: Final = "search_tags"
LEVEL: Final = "level"

PATTERN_S: Final = 2.0
"""Seconds for all regular expressions of one reading of the store."""

FILTER_S: Final = 10.0
"""Seconds for one reading of the store with a filter."""

STEPS: Final = 50_000
"""Steps of SQLite's machine after which the clock is looked at."""

SHOWN: Final = 80
"""Characters of a pattern that a message shows."""

_PATH: Final = "CASE WHEN n.name = '' THEN d.path WHEN d.path = '' THEN n.name ELSE d.path || '/' || n.name END"
_COLUMNS: Final = {
    "uri": f"'{SCHEME}' || {_PATH}",
    "context_type": "d.context_type",
    "created_at": "n.created_at",
    "updated_at": "n.updated_at",
    "active_count": "n.active_count",
    "owner_user_id": "d.owner",
    "name": "CASE WHEN d.context_type = 'skill' THEN skill_of(d.path) ELSE '' END",
}
"""By field, an SQL expression on directories ``d`` and nodes ``n`` that is never NULL."""


def mentions_level(condition: Condition) -> bool:
    """Whether a condition asks for the level of a record, so that a node may match in one of them and not in another."""
    return any(isinstance(one, OneOf | Between | TextMatch) and one.field == LEVEL for one in leaves(condition))


def condition_sql(condition: Condition, level: str) -> tuple[str, list[Any]]:
    """``condition`` as SQL on directories ``d`` and nodes ``n``, with its values; ``level`` is the SQL of the level.

    The connection needs the functions that `install` gives it.
    """
    values: list[Any] = []
    return _sql(condition, level, values), values


def _sql(condition: Condition, level: str, values: list[Any]) -> str:
    match condition:
        case AllOf(parts):
            return f"({' AND '.join([_sql(one, level, values) for one in parts])})"
        case AnyOf(parts):
            return f"({' OR '.join([_sql(one, level, values) for one in parts])})"
        case Not(part):
            return f"NOT {_sql(part, level, values)}"
        case Constant(value):
            return "1" if value else "0"
        case Below(paths, depth):
            return _below(paths, depth, values)
        case OneOf(field, wanted):
            values.append(json.dumps(wanted))
            return _of(field, level, "{} IN (SELECT value FROM json_each(?))")
        case Between():
            return _between(condition, level, values)
        case TextMatch(field, "prefix", text):
            values += (len(text), text)
            return _of(field, level, "substr({}, 1, ?) = ?")
        case TextMatch(field, "contains", text):
            values.append(text)
            return _of(field, level, "instr({}, ?) > 0")
        case TextMatch(field, _, text):
            values.append(text)
            return _of(field, level, "has_match({}, ?)")


def _of(field: str, level: str, comparison: str) -> str:
    if field == LABELS:
        return f"EXISTS (SELECT 1 FROM tags t WHERE t.node_id = n.id AND {comparison.format('t.tag')})"
    return f"({comparison.format('(' + (level if field == LEVEL else _COLUMNS[field]) + ')')})"


def _between(one: Between, level: str, values: list[Any]) -> str:
    column = level if one.field == LEVEL else _COLUMNS[one.field]
    sides = []
    if one.lower is not None:
        sides.append(f"({column}) {'>' if one.above else '>='} ?")
        values.append(one.lower)
    if one.upper is not None:
        sides.append(f"({column}) {'<' if one.below else '<='} ?")
        values.append(one.upper)
    inside = f"({' AND '.join(sides)})"
    return f"(NOT {inside})" if one.outside else inside


def _below(paths: Sequence[str], depth: int, values: list[Any]) -> str:
    return f"({' OR '.join([_inside(path, depth, values) for path in paths])})"


def _inside(path: str, depth: int, values: list[Any]) -> str:
    within = "1"
    if path:
        parent, _, name = path.rpartition("/")
        # "0" is the character after "/".
        within = "(d.path = ? OR (d.path > ? AND d.path < ?) OR (d.path = ? AND n.name = ?))"
        values += (path, f"{path}/", f"{path}0", parent, name)
    if depth < 0:
        return within
    values.append(depth + (path.count("/") + 1 if path else 0))
    return f"({within} AND d.depth + (n.name <> '') <= ?)"


def install(connection: sqlite3.Connection) -> None:
    """Make known to a connection what the SQL of a condition calls."""
    connection.create_function("has_match", 2, _has_match, deterministic=True)
    connection.create_function("skill_of", 1, _skill_of, deterministic=True)


class _Reading(threading.local):
    """What the regular expressions of this thread's reading may still take, and what took too long."""

    left = PATTERN_S
    slow = ""


_reading = _Reading()


@contextlib.contextmanager
def bounded(connection: sqlite3.Connection, condition: Condition | None) -> Iterator[None]:
    """Raises `DeadlineExceededError` where what is read inside takes too long because of ``condition``.

    Whatever a caller asks for, a record costs little; a million of them, times hundreds of conditions, need not.
    """
    if condition is None:
        yield
        return
    _reading.left, _reading.slow = PATTERN_S, ""
    end = time.monotonic() + FILTER_S

    def late() -> bool:
        if time.monotonic() > end:
            _reading.slow = "the conditions take"
        return bool(_reading.slow)

    connection.set_progress_handler(late, STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if not _reading.slow:
            raise
        raise DeadlineExceededError(
            f"filter: {_reading.slow} longer than {FILTER_S:g} s, or {PATTERN_S:g} s for all patterns: make it simpler,"
            " or narrow the target",
            operation="filter",
            timeout=FILTER_S,
        ) from error
    finally:
        connection.set_progress_handler(None, 0)


def _has_match(text: str, source: str) -> bool:
    began = time.perf_counter()
    try:
        found = _compiled(source).search(text, timeout=max(_reading.left, 0.001), concurrent=True) is not None
    except (TimeoutError, MemoryError):
        _reading.slow = f"the pattern {source[:SHOWN]!r} takes"
        raise
    _reading.left -= time.perf_counter() - began
    if _reading.left <= 0:
        _reading.slow = f"the pattern {source[:SHOWN]!r} takes"
        raise TimeoutError
    return found


@functools.lru_cache(maxsize=64)
def _compiled(source: str) -> regex.Pattern[str]:
    return regex.compile(source)


def _skill_of(path: str) -> str:
    """The name of the skill that a directory of skills is or lies in; "" for the directory of all skills."""
    parts = path.split("/")
    place = 1 if parts[0] == "agent" and parts[1] == "skills" else 2
    return parts[place + 1] if len(parts) > place + 1 else ""
