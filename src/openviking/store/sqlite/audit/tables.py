"""Pieces of what has no place in the tree: rows that belong to nothing, postings, counts and files of contents."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any, Final

from openviking.store.audit import Damage
from openviking.store.sqlite.contents import Contents

ROWS: Final = 20_000
TERMS: Final = 20_000
_NO_SESSION: Final = "NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = t.session_id)"
_UNKNOWN: Final = (
    "NOT EXISTS (SELECT 1 FROM passages p WHERE p.hash = t.hash)"
    " AND NOT EXISTS (SELECT 1 FROM loose l WHERE l.hash = t.hash)"
)
_NO_MODEL: Final = "NOT EXISTS (SELECT 1 FROM models m WHERE m.id = t.model_id)"


@dataclass(frozen=True, slots=True)
class Promise:
    """What no row of ``table`` may be: ``broken``, an SQL condition on ``t``; rows are looked at in order of ``key``."""

    kind: str
    detail: str
    table: str
    key: str
    broken: str


PROMISES: Final = (
    Promise(
        "orphan_node", "node {} lies in no directory", "nodes", "id",
        "NOT EXISTS (SELECT 1 FROM directories d WHERE d.id = t.directory_id)",
    ),
    Promise(
        "orphan_passage", "passage {} belongs to no record", "passages", "id",
        "NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = t.node_id AND (t.level < 2) = (n.name = '' AND n.hash IS NULL))",
    ),
    Promise(
        "orphan_posting", "the words {} belong to no passage", "words_docsize", "id",
        "NOT EXISTS (SELECT 1 FROM passages p WHERE p.id = t.id)",
    ),
    Promise(
        "orphan_name", "the name terms {} belong to no node", "names_docsize", "id",
        "NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = t.id)",
    ),
    Promise("orphan_vector", "vector {} belongs to no passage or model", "vectors", "id", f"({_NO_MODEL} OR {_UNKNOWN})"),
    Promise(
        "orphan_vector", "the wait {} for a vector is for nothing", "pending", "id",
        f"({_NO_MODEL} OR {_UNKNOWN} OR EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = t.model_id AND v.hash = t.hash))",
    ),
    Promise(
        "orphan_content", "content {} belongs to no file", "contents", "rowid",
        "NOT EXISTS (SELECT 1 FROM nodes n WHERE n.hash = t.hash)"
        " AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.text_hash = t.hash)",
    ),
    Promise(
        "orphan_row", "tags of node {}, which is not there", "tags", "node_id",
        "NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = t.node_id)",
    ),
    *(
        Promise(
            "orphan_row", f"{table} of directory {{}}, which is not there", table, "directory_id",
            "NOT EXISTS (SELECT 1 FROM directories d WHERE d.id = t.directory_id)",
        )
        for table in ("sidecars", "descriptions")
    ),
    *(
        Promise("orphan_row", f"{table}: {key} {{}} is of no session", table, key, _NO_SESSION)
        for table, key in (
            ("session_messages", "id"), ("session_tool_results", "id"), ("session_uses", "id"),
            ("session_archives", "session_id"), ("session_client_ids", "session_id"),
        )
    ),
    Promise(
        "task", "task {} waits for work that is in no queue", "tasks", "id",
        "t.job_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = t.job_id)",
    ),
)  # fmt: skip
VOCABULARIES: Final = (("words", "word_counts"), ("names", "name_counts"))
PREFIXES: Final = 256
PARTS: Final = len(PROMISES) + len(VOCABULARIES) + 2
"""The promises, the postings, the count of passages and the files of contents."""


def look_at_part(
    connection: sqlite3.Connection, contents: Contents, part: int, after: tuple[Any, ...]
) -> tuple[list[Damage], tuple[Any, ...] | None]:
    """A piece of a part (0 ≤ part < `PARTS`) behind ``after``: what is wrong, and where the next begins (None: done)."""
    if part < len(PROMISES):
        return _rows(connection, part, after[0] if after else -1)
    part -= len(PROMISES)
    if part < len(VOCABULARIES):
        return _terms(connection, *VOCABULARIES[part], after[0] if after else "")
    if part == len(VOCABULARIES):
        wrong = connection.execute(
            "SELECT value FROM meta WHERE name = 'passages' AND value <> (SELECT count(*) FROM passages)"
        ).fetchone()
        return ([Damage("count", f"{wrong[0]} passages are counted, which is wrong")] if wrong else []), None
    return _files(connection, contents, after[0] if after else 0)


def broken(connection: sqlite3.Connection, number: int, key: int) -> bool:
    """Whether any row with ``key`` breaks a promise."""
    one = PROMISES[number]
    sql = f"SELECT 1 FROM {one.table} t WHERE t.{one.key} = ? AND {one.broken} LIMIT 1"
    return connection.execute(sql, (key,)).fetchone() is not None


def _rows(connection: sqlite3.Connection, number: int, after: int) -> tuple[list[Damage], tuple[Any, ...] | None]:
    one = PROMISES[number]
    bounds = f"SELECT {one.key} AS k FROM {one.table} WHERE {one.key} > ? ORDER BY {one.key} LIMIT ?"
    until, count = connection.execute(f"SELECT max(k), count(*) FROM ({bounds})", (after, ROWS)).fetchone()
    if until is None:
        return [], None
    rows = connection.execute(
        f"SELECT DISTINCT t.{one.key} FROM {one.table} t WHERE t.{one.key} > ? AND t.{one.key} <= ? AND {one.broken}",
        (after, until),
    )
    found = [Damage(one.kind, one.detail.format(key), key=(number, key)) for (key,) in rows]
    return found, ((until,) if count == ROWS else None)


def _terms(
    connection: sqlite3.Connection, table: str, vocabulary: str, after: str
) -> tuple[list[Damage], tuple[Any, ...] | None]:
    """Read postings term by term: what of them is damaged can't be read."""
    try:
        rows = connection.execute(
            f"SELECT term, cnt FROM {vocabulary} WHERE term >= ? LIMIT ?", (after, TERMS)
        ).fetchall()
    except sqlite3.DatabaseError as error:
        return [Damage("postings_damaged", f"the postings of {table} can't be read: {error}", key=(table,))], None
    return [], ((rows[-1][0],) if len(rows) == TERMS else None)


def _files(
    connection: sqlite3.Connection, contents: Contents, prefix: int
) -> tuple[list[Damage], tuple[Any, ...] | None]:
    found = [
        Damage("orphan_file", f"{path.name} is named by nothing", key=(str(path),))
        for path in contents.strays(connection, f"{prefix:02x}")
    ]
    return found, ((prefix + 1,) if prefix + 1 < PREFIXES else None)
