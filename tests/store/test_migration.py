"""A database of an older release is brought up to date when it is opened, whole or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from openviking.errors import FailedPreconditionError, UnavailableError
from openviking.ingest.prepare import PathAnalyser
from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.store.batch import PutFile, Remove
from openviking.store.sqlite import schema
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.connection import Connections

Put = Callable[..., PutFile]

MODEL = EmbeddingModel("m", 4, 512, "", "", "cls", 0.3, 0.9, multilingual=False)

DEFAULTS = Connections.__init__.__kwdefaults__ or {}

BEFORE_VECTORS = """
DROP TRIGGER pictures_gone; DROP TABLE pictures; DROP INDEX nodes_pictures;
DROP TABLE models; DROP TABLE vectors; DROP TABLE pending; DROP TABLE loose; DROP INDEX passages_hash;
DROP TRIGGER watches_end; DROP TABLE watches; ALTER TABLE sources DROP COLUMN state; ALTER TABLE nodes DROP COLUMN active_count;
DROP TRIGGER tasks_run; DROP TRIGGER tasks_wait; DROP TRIGGER tasks_fail; DROP TRIGGER tasks_end; DROP TABLE tasks;
DROP TABLE sessions; DROP TABLE session_messages; DROP TABLE session_client_ids; DROP TABLE session_archives;
DROP TABLE session_tool_results; DROP TABLE session_uses; DROP TABLE overwriting; DROP TABLE redactions;
DELETE FROM meta WHERE name = 'scan'; PRAGMA user_version = 1;
"""


@pytest.fixture
def place(tmp_path: Path, put: Put) -> Path:
    """A store as it was before there were vectors, with something in it."""
    place = tmp_path / "store"
    store = SqliteStore(place, PathAnalyser())
    store.apply([put(f"resources/d/{number}.md", f"text {number}") for number in range(300)])
    store.apply([put("resources/kept.md", "kept"), Remove("resources/d", recursive=True)])
    store.apply([put(f"resources/{number}.md", f"zorblax {number}") for number in range(5)])
    store.close()
    connection = sqlite3.connect(place / "store.db")
    connection.executescript(BEFORE_VECTORS)
    connection.close()
    return place


def tables(place: Path) -> set[str]:
    connection = sqlite3.connect(place / "store.db")
    found = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    connection.close()
    return found


def test_passages_from_before_vectors_get_theirs(place: Path) -> None:
    store = SqliteStore(place, PathAnalyser())
    assert store.check() == []
    store.vectors.use(MODEL)
    assert store.vectors.coverage(MODEL.fingerprint) == Coverage(0, 6)
    while store.vectors.enqueue_missing(MODEL.fingerprint, 100):
        assert store.check() == []
    claimed = store.vectors.claim(MODEL.fingerprint, 1000)
    assert sorted(one.node.path for one in claimed) == [
        *(f"resources/{number}.md" for number in range(5)),
        "resources/kept.md",
    ]
    while store.purge(100):
        assert store.check() == []
    store.close()


def test_a_store_that_was_brought_up_to_date_has_the_tables_of_a_new_one(place: Path, tmp_path: Path) -> None:
    for each in (place, tmp_path / "new"):
        SqliteStore(each, PathAnalyser()).close()
    assert tables(place) == tables(tmp_path / "new")


def test_a_migration_that_fails_leaves_the_old_state(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables(place)

    def failing(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (made)")
        connection.execute("CREATE TABLE half (made)")

    with monkeypatch.context() as patch:
        patch.setitem(DEFAULTS, "migrations", (*schema.MIGRATIONS, failing))
        with pytest.raises(UnavailableError):
            SqliteStore(place, PathAnalyser())
    assert tables(place) == before
    store = SqliteStore(place, PathAnalyser())
    assert store.check() == []
    store.close()


def test_an_older_release_refuses_what_a_newer_one_wrote(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(place, PathAnalyser()).close()
    monkeypatch.setitem(DEFAULTS, "migrations", schema.MIGRATIONS[:1])
    with pytest.raises(FailedPreconditionError, match="newer release"):
        SqliteStore(place, PathAnalyser())
