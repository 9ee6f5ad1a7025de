"""The tables of one account's database, as numbered migrations.

A migration is never changed once it was released; a new one is added behind it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

from openviking.clock import now_ms
from openviking.errors import FailedPreconditionError
from openviking.store.sqlite.erasing_schema import erasing_tables
from openviking.store.sqlite.extracted_schema import extracted_column
from openviking.store.sqlite.fetched_schema import fetched_column
from openviking.store.sqlite.idle_schema import idle_column
from openviking.store.sqlite.pictures_schema import pictures_table
from openviking.store.sqlite.sessions_schema import sessions_tables
from openviking.store.sqlite.tasks_schema import tasks_tables
from openviking.store.sqlite.uses_schema import uses_columns
from openviking.store.sqlite.watches_schema import watches_tables

REMOVED: Final = "\x00"
"""Paths of removed subtrees start with this character, which no name may contain, until a purge clears them."""

GRAVE: Final = 0
"""The directory id under which removed single files wait for the purge."""

STAGED: Final = "staged-"
STAGED_END: Final = "staged."
"""Nodes under `GRAVE` with names from the one to the other are being filled by a writer."""

APPLICATION: Final = int.from_bytes(b"OVik")
"""Stands in the header of every database of ours (``PRAGMA application_id``)."""

_FIRST = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('change', 0), ('forgotten', 0), ('passages', 0), ('analyser', NULL);

CREATE TABLE directories (
    id INTEGER PRIMARY KEY,
    parent_id INTEGER,
    path TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    depth INTEGER NOT NULL,
    context_type TEXT NOT NULL,
    owner TEXT NOT NULL,
    dirty INTEGER NOT NULL
);
CREATE INDEX directories_parent ON directories (parent_id, name);
CREATE INDEX directories_dirty ON directories (depth DESC, path) WHERE dirty > 0;

CREATE TABLE nodes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    directory_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL DEFAULT 0,
    hash BLOB,
    text_hash BLOB,
    encoding TEXT NOT NULL DEFAULT '',
    kind TEXT NOT NULL DEFAULT '',
    language TEXT NOT NULL DEFAULT '',
    title TEXT NOT NULL DEFAULT '',
    abstract TEXT NOT NULL DEFAULT '',
    overview TEXT NOT NULL DEFAULT '',
    prepared INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    source_id INTEGER,
    source_name TEXT NOT NULL DEFAULT '',
    source_hash BLOB,
    UNIQUE (directory_id, name)
);
CREATE INDEX nodes_hash ON nodes (hash) WHERE hash IS NOT NULL;
CREATE INDEX nodes_text_hash ON nodes (text_hash) WHERE text_hash IS NOT NULL;
CREATE INDEX nodes_source ON nodes (source_id, source_name) WHERE source_id IS NOT NULL;
CREATE INDEX nodes_updated ON nodes (updated_at);
CREATE INDEX nodes_prepared ON nodes (prepared) WHERE text_hash IS NOT NULL;

CREATE TABLE contents (hash BLOB PRIMARY KEY, size INTEGER NOT NULL, data BLOB);

CREATE TABLE released (hash BLOB PRIMARY KEY, at INTEGER NOT NULL);

CREATE TABLE sidecars (
    directory_id INTEGER PRIMARY KEY,
    abstract TEXT NOT NULL,
    overview TEXT NOT NULL,
    origin TEXT NOT NULL
);
CREATE TABLE descriptions (directory_id INTEGER PRIMARY KEY, description TEXT NOT NULL);

CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    node_id INTEGER NOT NULL,
    level INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    breadcrumb TEXT NOT NULL,
    symbol TEXT NOT NULL,
    hash BLOB NOT NULL,
    length INTEGER NOT NULL
);
CREATE INDEX passages_node ON passages (node_id, level, start);

CREATE TABLE tags (
    node_id INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (node_id, tag)
) WITHOUT ROWID;
CREATE INDEX tags_tag ON tags (tag, node_id);

CREATE TABLE sources (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    location TEXT NOT NULL UNIQUE,
    node_id INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE INDEX sources_node ON sources (node_id);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL,
    lease TEXT,
    lease_until INTEGER,
    error TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX jobs_waiting ON jobs (kind, key) WHERE state = 'queued';
CREATE INDEX jobs_due ON jobs (state, due);

CREATE TABLE changes (change INTEGER NOT NULL, op TEXT NOT NULL, node_id INTEGER NOT NULL);
CREATE INDEX changes_change ON changes (change);

CREATE VIRTUAL TABLE words USING fts5 (
    title, heading, body,
    tokenize = "ascii tokenchars '-_.+#'"
);
CREATE VIRTUAL TABLE word_counts USING fts5vocab (words, row);
CREATE VIRTUAL TABLE names USING fts5 (
    name, tags,
    tokenize = "ascii tokenchars '-_.+#'"
);
CREATE VIRTUAL TABLE name_counts USING fts5vocab (names, row);

INSERT INTO directories VALUES (0, NULL, char(0), '', 1, '', '', 0), (1, NULL, '', '', 0, '', '', 0);
"""


def _first(connection: sqlite3.Connection) -> None:
    for statement in _FIRST.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(
        "INSERT INTO nodes (directory_id, name, created_at, updated_at) VALUES (1, '', ?, ?)",
        (now_ms(), now_ms()),
    )


_VECTORS = """
CREATE INDEX passages_hash ON passages (hash);

CREATE TABLE models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    backlog INTEGER NOT NULL,
    cleared INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model_id INTEGER NOT NULL,
    hash BLOB NOT NULL,
    vector BLOB NOT NULL
);
CREATE UNIQUE INDEX vectors_hash ON vectors (model_id, hash);
CREATE INDEX vectors_settled ON vectors (model_id, hash) WHERE vector = x'';

CREATE TABLE pending (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model_id INTEGER NOT NULL,
    hash BLOB NOT NULL,
    passage_id INTEGER NOT NULL,
    size_class INTEGER NOT NULL,
    due INTEGER NOT NULL DEFAULT 0,
    lease TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX pending_hash ON pending (hash, model_id);
CREATE INDEX pending_order ON pending (model_id, size_class, passage_id DESC) WHERE error = '';
CREATE INDEX pending_refused ON pending (model_id, passage_id DESC) WHERE error <> '';

CREATE TABLE loose (hash BLOB PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX loose_at ON loose (at);

INSERT INTO meta VALUES ('scan', '');
"""
# models.backlog: passages with an id up to it were stored before the model was used and are yet to be looked through.
# models.cleared: how many of its vectors were cleared away because it was out of use, though passages want them.
# vectors.vector: float16, little-endian, windows × dimension; each of length 1. Empty for a settled passage,
# of which the model can say nothing: its words are all there is.
# pending.due: from when on the passage may be claimed; while ``lease`` is set, when its holder loses it.
# pending.attempts: how often the model gave it no vector although it answered another text at that time.
# pending.error: why the model refused the passage; such a row waits no more.
# pending.size_class: how large the record is (`pending.size_class`). pending.passage_id: the newest passage that wants it.
# loose: content hashes whose passages were dropped, to be looked at once they were out of use for a while.


def _vectors(connection: sqlite3.Connection) -> None:
    for statement in _VECTORS.split(";\n"):
        if statement.strip():
            connection.execute(statement)


Migration = Callable[[sqlite3.Connection], None]

MIGRATIONS: Final[tuple[Migration, ...]] = (
    _first,
    _vectors,
    tasks_tables,
    sessions_tables,
    watches_tables,
    fetched_column,
    uses_columns,
    pictures_table,
    extracted_column,
    idle_column,
    erasing_tables,
)


def recognise(connection: sqlite3.Connection, expected: int = APPLICATION) -> None:
    """Raises `FailedPreconditionError` if there is a database that is not ours; nothing of it is touched."""
    connection.execute("BEGIN")
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        (path,) = connection.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()
    finally:
        connection.execute("ROLLBACK")
    if application != expected and (tables or application):
        raise FailedPreconditionError(
            f"{path} is a database of another program (application_id {application}): choose another data directory",
            found=application,
            supported=expected,
        )


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the database to the newest schema, in one transaction.

    Raises `FailedPreconditionError` for a database that a newer release wrote.
    """
    if _version(connection) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        present = _version(connection)
        if present > len(migrations):
            raise FailedPreconditionError(  # noqa: TRY301
                f"The data were written by a newer release (schema {present}, this release knows {len(migrations)})",
                found=present,
                supported=len(migrations),
            )
        for migration in migrations[present:]:
            migration(connection)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
