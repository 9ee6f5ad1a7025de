"""An audit: everything that the tables promise each other."""

from __future__ import annotations

import sqlite3
from typing import Final

from openviking.model.hidden_fields import FIELDS
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.models import IN_USE
from openviking.store.sqlite.schema import GRAVE

_KEPT: Final = (
    "node_id NOT IN (SELECT n.id FROM directories d JOIN nodes n ON n.directory_id = d.id"
    " WHERE d.path >= char(0) AND d.path < ' ')"
)
"""What is removed is cleared away in pieces, and what is staged grows in pieces."""

_UNKNOWN: Final = (
    "NOT EXISTS (SELECT 1 FROM passages p WHERE p.hash = {0}.hash)"
    " AND NOT EXISTS (SELECT 1 FROM loose l WHERE l.hash = {0}.hash)"
)

_CHECKS: Final = {
    "directory {0!r} has no parent": (
        "SELECT path FROM directories d WHERE path >= ' '"
        " AND NOT EXISTS (SELECT 1 FROM directories p WHERE p.id = d.parent_id"
        " AND d.path = CASE WHEN p.path = '' THEN d.name ELSE p.path || '/' || d.name END)"
    ),
    "directory {0!r} has no node": (
        "SELECT path FROM directories d WHERE id > 0 AND NOT EXISTS ("
        "SELECT 1 FROM nodes n WHERE n.directory_id = d.id AND n.name = '')"
    ),
    "node {0} has no directory": "SELECT id FROM nodes n WHERE NOT EXISTS (SELECT 1 FROM directories d WHERE d.id = n.directory_id)",
    "{0!r} is a file and a directory": (
        "SELECT e.path FROM directories e JOIN nodes n ON n.directory_id = e.parent_id AND n.name = e.name AND e.name <> ''"
    ),
    "node {0} has no content": (
        "SELECT id FROM nodes n WHERE hash IS NOT NULL AND NOT (EXISTS (SELECT 1 FROM contents c WHERE c.hash = n.hash)"
        " AND (text_hash IS NULL OR EXISTS (SELECT 1 FROM contents c WHERE c.hash = n.text_hash)))"
    ),
    "file {0} has neither bytes nor a directory's empty name": (
        f"SELECT id FROM nodes WHERE (name = '') <> (hash IS NULL) AND directory_id <> {GRAVE}"
    ),
    "content {0} belongs to no node": (
        "SELECT hex(hash) FROM contents c WHERE NOT EXISTS (SELECT 1 FROM nodes n WHERE n.hash = c.hash)"
        " AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.text_hash = c.hash)"
    ),
    "passage {0} belongs to no node": (
        "SELECT id FROM passages p WHERE NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = p.node_id"
        " AND (p.level < 2) = (n.name = '' AND n.hash IS NULL))"
    ),
    "the passages of node {0} leave a gap or overlap": (
        'SELECT DISTINCT node_id FROM (SELECT node_id, start, lag("end", 1, 0) OVER ('
        f"PARTITION BY node_id, level ORDER BY start, id) AS before FROM passages) WHERE start <> before AND {_KEPT}"
    ),
    "the passages of node {0} do not cover its text": (
        "SELECT n.id FROM nodes n JOIN contents c ON c.hash = n.text_hash LEFT JOIN passages p ON p.node_id = n.id"
        f' GROUP BY n.id HAVING coalesce(max(p."end"), 0) <> c.size AND {_KEPT.replace("node_id", "n.id")}'
        # What a memory notes at its end is nothing to be found.
        f" AND NOT (coalesce(max(p.\"end\"), 0) < c.size AND coalesce(instr(c.data, CAST('{FIELDS}' AS BLOB)), 0))"
    ),
    "passage {0} has no postings": "SELECT id FROM passages WHERE id NOT IN (SELECT id FROM words_docsize)",
    "posting list {0} has no passage": "SELECT id FROM words_docsize WHERE id NOT IN (SELECT id FROM passages)",
    "node {0} has no name terms": (
        "SELECT id FROM nodes WHERE id NOT IN (SELECT id FROM names_docsize) AND NOT (directory_id = 1 AND name = '')"
    ),
    "name terms {0} belong to no node": "SELECT id FROM names_docsize WHERE id NOT IN (SELECT id FROM nodes)",
    "tag {0} is on no node": "SELECT tag FROM tags WHERE node_id NOT IN (SELECT id FROM nodes)",
    "the sidecars of directory {0} have no directory": (
        "SELECT directory_id FROM sidecars WHERE directory_id NOT IN (SELECT id FROM directories)"
    ),
    "{0!r} is not listed under the type and owner of its path": (
        "SELECT path FROM directories WHERE path >= ' ' AND (context_type <> context_type(path) OR owner <> owner(path))"
    ),
    "{0!r} is stale, its parent is not": (
        "SELECT d.path FROM directories d JOIN directories p ON p.id = d.parent_id"
        " WHERE d.dirty > 0 AND p.dirty = 0 AND p.path >= ' '"
    ),
    "{0!r} is not listed under the depth of its path": (
        "SELECT path FROM directories WHERE (path = '' OR path >= ' ')"
        " AND depth <> length(path) - length(replace(path, '/', '')) + (path <> '')"
    ),
    "the vector of {0} has a size that its model does not give": (
        "SELECT hex(hash) FROM vectors v JOIN models m ON m.id = v.model_id"
        " WHERE length(vector) % (2 * m.dimension) <> 0"
    ),
    "the vector of {0} belongs to no model": (
        "SELECT hex(hash) FROM vectors WHERE model_id NOT IN (SELECT id FROM models)"
    ),
    "the vector of {0} belongs to no passage": f"SELECT hex(hash) FROM vectors v WHERE {_UNKNOWN.format('v')}",
    "{0} waits for a vector of no model": (
        "SELECT hex(hash) FROM pending WHERE model_id NOT IN (SELECT id FROM models)"
    ),
    "{0} waits for a vector and belongs to no passage": f"SELECT hex(hash) FROM pending q WHERE {_UNKNOWN.format('q')}",
    "{0} waits for a vector that it has": (
        "SELECT hex(hash) FROM pending q WHERE EXISTS ("
        "SELECT 1 FROM vectors v WHERE v.model_id = q.model_id AND v.hash = q.hash)"
    ),
    "passage {0} has no vector and waits for none": (
        f"SELECT DISTINCT p.id FROM models m CROSS JOIN passages p WHERE m.{IN_USE} AND p.id > m.backlog AND {_KEPT}"
        " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = m.id AND v.hash = p.hash)"
        " AND NOT EXISTS (SELECT 1 FROM pending q WHERE q.model_id = m.id AND q.hash = p.hash)"
    ),
    "the count of {0} is wrong": (
        "SELECT name FROM meta WHERE name = 'passages' AND value <> (SELECT count(*) FROM passages)"
    ),
}


def inconsistencies(connection: sqlite3.Connection, contents: Contents) -> list[str]:
    """What is wrong, a sentence each; empty when all is well."""
    found = [f"database: {row[0]}" for row in connection.execute("PRAGMA quick_check") if row[0] != "ok"]
    for sentence, sql in _CHECKS.items():
        found += [sentence.format(row[0]) for row in connection.execute(sql)]
    for table in ("word_counts", "name_counts"):
        try:
            connection.execute(f"SELECT sum(cnt) FROM {table}").fetchone()
        except sqlite3.DatabaseError as error:
            found.append(f"the postings behind {table} are damaged: {error}")
    found += [
        f"the bytes of content {digest.hex()} are missing, cut short or changed"
        for digest in contents.damaged(connection)
    ]
    return found
