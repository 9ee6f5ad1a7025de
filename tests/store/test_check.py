"""The audit finds each kind of damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from openviking.errors import UnavailableError
from openviking.store.batch import PutFile, PutSidecars, SetTags
from openviking.store.port import AccountStore

pytestmark = pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)

DAMAGES = {
    "a directory without parent": (
        "UPDATE directories SET parent_id = 999 WHERE path = 'resources/d'",
        "has no parent",
    ),
    "a path that contradicts its parent": (
        "UPDATE directories SET path = 'resources/q' WHERE path = 'resources/d'",
        "has no parent",
    ),
    "a directory without node": (
        "DELETE FROM nodes WHERE name = '' AND directory_id = (SELECT id FROM directories WHERE path = 'resources/d')",
        "has no node",
    ),
    "a node without directory": ("UPDATE nodes SET directory_id = 999 WHERE name = 'a.md'", "has no directory"),
    "a file named as a directory": ("UPDATE nodes SET name = 'd' WHERE name = 'a.md'", "is a file and a directory"),
    "a file without content": (
        "DELETE FROM contents WHERE hash = (SELECT hash FROM nodes WHERE name = 'a.md')",
        "has no content",
    ),
    "a file without bytes": ("UPDATE nodes SET hash = NULL WHERE name = 'a.md'", "has neither bytes"),
    "a content of nobody": ("INSERT INTO contents VALUES (zeroblob(32), 1, x'00')", "belongs to no node"),
    "a passage of nobody": ("UPDATE passages SET node_id = 999 WHERE id = 1", "belongs to no node"),
    "a missing passage": ("DELETE FROM passages WHERE id = (SELECT max(id) FROM passages WHERE level = 2)", "cover"),
    "a gap": ('UPDATE passages SET "end" = "end" - 1 WHERE id = 1', "gap"),
    "an overlap": ("UPDATE passages SET start = start - 1 WHERE level = 2 AND start > 0", "overlap"),
    "missing postings": ("DELETE FROM words WHERE rowid = 1", "has no postings"),
    "postings of nobody": ("INSERT INTO words (rowid, body) VALUES (999, 'x')", "has no passage"),
    "damaged postings": ("UPDATE words_data SET block = x'00' WHERE id > 10", "are damaged"),
    "missing name terms": (
        "DELETE FROM names WHERE rowid = (SELECT id FROM nodes WHERE name = 'a.md')",
        "no name terms",
    ),
    "name terms of nobody": ("INSERT INTO names (rowid, name) VALUES (999, 'x')", "belong to no node"),
    "a wrong count of passages": ("UPDATE meta SET value = value + 1 WHERE name = 'passages'", "count of passages"),
    "a wrong depth": ("UPDATE directories SET depth = 1 WHERE path = 'resources/d'", "depth"),
    "a tag on nothing": ("UPDATE tags SET node_id = 999", "is on no node"),
    "sidecars of nothing": ("UPDATE sidecars SET directory_id = 999", "have no directory"),
    "a wrong context type": (
        "UPDATE directories SET context_type = 'skill' WHERE path = 'resources/d'",
        "type and owner",
    ),
    "a wrong owner": ("UPDATE directories SET owner = 'bob' WHERE path = 'resources/d'", "type and owner"),
    "a stale child of a fresh parent": ("UPDATE directories SET dirty = 0 WHERE path = 'resources'", "is stale"),
    "another digest for the text than its own": (
        "UPDATE contents SET hash = zeroblob(32) WHERE size = 3300",
        "changed",
    ),
    "changed inline bytes": (
        "UPDATE contents SET data = CAST(replace(CAST(data AS TEXT), 'alpha', 'omega') AS BLOB) WHERE size = 3300",
        "changed",
    ),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def whole(store: AccountStore, put: Callable[..., PutFile]) -> AccountStore:
    """A store with something in every table."""
    text = put("resources/a.md", "alpha beta\n" * 300)
    assert len(text.content.passages) > 1
    store.apply([text, put("resources/d/b.md", "gamma"), put("resources/d/big.txt", "line\n" * 60_000)])
    store.apply([SetTags("resources/a.md", ("k=v",))])
    store.apply([PutSidecars("resources/d", 0, "x", "y", "extractive", (), ())])
    assert store.check() == []
    return store


def alter(place: Path, sql: str) -> None:
    connection = sqlite3.connect(place / "store.db")
    assert connection.execute(sql).rowcount
    connection.commit()
    connection.close()


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_damage_in_the_database(whole: AccountStore, place: Path, damage: str) -> None:
    sql, said = DAMAGES[damage]
    alter(place, sql)
    found = whole.check()
    assert any(said in sentence for sentence in found), found


@pytest.mark.parametrize("damage", ["deleted", "cut short", "changed"])
def test_damage_of_a_content_file(whole: AccountStore, place: Path, damage: str) -> None:
    [file] = (place / "contents").glob("*/*")
    content = file.read_bytes()
    file.unlink()
    if damage == "cut short":
        file.write_bytes(content[:-1])
    elif damage == "changed":
        file.write_bytes(b"L" + content[1:])
    found = whole.check()
    assert [sentence for sentence in found if file.name in sentence], found


def test_bytes_that_are_no_longer_text_are_an_error(whole: AccountStore, place: Path) -> None:
    alter(place, "UPDATE contents SET data = x'ff00ff' WHERE size = 5")
    assert whole.check()
    with whole.read() as view:
        node = view.get("resources/d/b.md")
        assert node is not None
        with pytest.raises(UnavailableError):
            view.text(node)
