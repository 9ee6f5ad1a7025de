"""The passages of records and the words of passages and names: storing them with their postings."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from openviking.store.batch import StoredPassage
from openviking.store.port import Analyser
from openviking.store.sqlite.loose import note_dropped
from openviking.store.sqlite.pending import queue_new, size_class


def add_passages(
    connection: sqlite3.Connection, node_id: int, level: int, passages: Iterable[StoredPassage], *, of: int
) -> None:
    """Store passages of a record with their postings, inside of a write transaction; they wait for vectors then.

    ``of`` is how many passages the whole record has.
    """
    first = last = count = 0
    for passage in passages:
        cursor = connection.execute(
            'INSERT INTO passages (node_id, level, start, "end", first_line, last_line, breadcrumb, symbol, hash, length)'
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (node_id, level, passage.start, passage.end, passage.first_line, passage.last_line, passage.breadcrumb,
             passage.symbol, passage.hash, passage.length),
        )  # fmt: skip
        connection.execute(
            "INSERT INTO words (rowid, title, heading, body) VALUES (?, ?, ?, ?)",
            (cursor.lastrowid, passage.title_terms, passage.heading_terms, passage.body_terms),
        )
        last = cursor.lastrowid or 0
        first = first or last
        count += 1
    if count:
        queue_new(connection, first, last, size_class(of))
        _count(connection, count)


def copy_passages(connection: sqlite3.Connection, source: int, copied: int, level: int) -> None:
    """Give the node ``copied`` the passages that ``source`` has, with their postings, inside of a write transaction."""
    rows = connection.execute(
        "SELECT id FROM passages WHERE node_id = ? AND level = ? ORDER BY start", (source, level)
    ).fetchall()
    first = last = 0
    for (passage,) in rows:
        last = (
            connection.execute(
                'INSERT INTO passages (node_id, level, start, "end", first_line, last_line, breadcrumb, symbol, hash, length)'
                ' SELECT ?, level, start, "end", first_line, last_line, breadcrumb, symbol, hash, length FROM passages'
                " WHERE id = ?",
                (copied, passage),
            ).lastrowid
            or 0
        )
        connection.execute(
            "INSERT INTO words (rowid, title, heading, body) SELECT ?, title, heading, body FROM words WHERE rowid = ?",
            (last, passage),
        )
        first = first or last
    if rows:
        queue_new(connection, first, last, size_class(len(rows)))
        _count(connection, len(rows))


def drop_passages(connection: sqlite3.Connection, node_id: int, level: int, start: int = 0) -> None:
    """Remove passages of a record from byte ``start`` on with their postings, inside of a write transaction.

    What is kept of vectors for their contents is for `loose` to clear away.
    """
    note_dropped(connection, _drop(connection, node_id, level, start))


def replace_passages(
    connection: sqlite3.Connection, node_id: int, level: int, start: int, passages: Iterable[StoredPassage], *, of: int
) -> None:
    """Put ``passages`` in the place of those of a record from byte ``start`` on, inside of a write transaction.

    ``of`` is how many passages the whole record has then.
    """
    dropped = _drop(connection, node_id, level, start)
    add_passages(connection, node_id, level, passages, of=of)
    note_dropped(connection, dropped)


def _drop(connection: sqlite3.Connection, node_id: int, level: int, start: int) -> list[bytes]:
    """The contents of the passages that were removed."""
    rows = connection.execute(
        "SELECT id, hash FROM passages WHERE node_id = ? AND level = ? AND start >= ?", (node_id, level, start)
    ).fetchall()
    ids = [(passage_id,) for passage_id, _ in rows]
    connection.executemany("DELETE FROM words WHERE rowid = ?", ids)
    connection.executemany("DELETE FROM passages WHERE id = ?", ids)
    _count(connection, -len(rows))
    return [digest for _, digest in rows]


def unchanged_passages(
    connection: sqlite3.Connection, node_id: int, level: int, passages: Sequence[StoredPassage]
) -> int:
    """How many of ``passages``, from the first on, are those that a record has."""
    present = connection.execute(
        'SELECT start, "end", first_line, last_line, breadcrumb, symbol, hash FROM passages'
        " WHERE node_id = ? AND level = ? ORDER BY start",
        (node_id, level),
    )
    same = 0
    for passage, row in zip(passages, present, strict=False):
        if row != (passage.start, passage.end, passage.first_line, passage.last_line, passage.breadcrumb,
                   passage.symbol, passage.hash):  # fmt: skip
            break
        same += 1
    present.close()
    return same


def put_passages(connection: sqlite3.Connection, node_id: int, level: int, passages: Sequence[StoredPassage]) -> None:
    """Replace the passages of a record; those at the beginning that did not change are left alone."""
    same = unchanged_passages(connection, node_id, level, passages)
    start = passages[same - 1].end if same else 0
    replace_passages(connection, node_id, level, start, passages[same:], of=len(passages))


def put_name(connection: sqlite3.Connection, analyser: Analyser, node_id: int, name: str) -> None:
    """Store the terms of a node's own name and tags, inside of a write transaction."""
    tags = [row[0] for row in connection.execute("SELECT tag FROM tags WHERE node_id = ? ORDER BY tag", (node_id,))]
    tag_terms = dict.fromkeys(term for tag in tags for term in analyser.name_terms(tag))
    connection.execute("DELETE FROM names WHERE rowid = ?", (node_id,))
    connection.execute(
        "INSERT INTO names (rowid, name, tags) VALUES (?, ?, ?)",
        (node_id, " ".join(analyser.name_terms(name)), " ".join(tag_terms)),
    )


def _count(connection: sqlite3.Connection, passages: int) -> None:
    if passages:
        connection.execute("UPDATE meta SET value = value + ? WHERE name = 'passages'", (passages,))
