"""What reindex and audit say of files of all sizes, of copies that share vectors, and of tags."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.errors import InvalidArgumentError
from openviking.model.identity import Identity

ROOT = Identity("default", "default", "root")
R = "viking://resources/t"


def found(house: Any, word: str) -> list[str]:
    hits = house.services.search.find(ROOT, word, R, level=2, limit=5)
    return [hit.uri for hit in hits if word in house.services.content.read(ROOT, hit.uri)]


@pytest.mark.parametrize(
    "size",
    [
        *(pytest.param(size, marks=pytest.mark.slow) for size in (65_534, 65_535, 200_000)),
        65_536,
        -65_536,
    ],
)
def test_both_sides_of_64_kilobytes(house: Any, size: int) -> None:
    filler = ("字" * 60 + "\n") if size < 0 else "lorem ipsum dolor\n"
    body = "zorbfirst\n" + filler * (abs(size) // len(filler.encode()) + 1)
    text = body.encode()[: abs(size)].decode("utf-8", "ignore")
    uri = f"{R}/large.md"
    house.write(uri, text)
    assert found(house, "zorbfirst") == [uri]
    house.services.content.write(ROOT, uri, "\nzorblast\n", "append")
    assert found(house, "zorblast") == [uri]
    done = house.reindex(uri)
    assert (done["status"], done["scanned_records"], done["failed_records"]) == ("completed", 1, 0)
    assert found(house, "zorbfirst") == found(house, "zorblast") == [uri]
    house.services.fs.rm(ROOT, uri)
    assert found(house, "zorbfirst") == found(house, "zorblast") == []
    house.work()
    assert house.audit(R)["ok"]


def test_a_copy_shares_its_vectors_and_both_are_mended(house: Any) -> None:
    copied, source = "viking://resources/d/copy.md", "viking://resources/a.md"
    house.embedder.texts.clear()
    house.services.fs.cp(ROOT, source, copied)
    house.work()
    assert not [text for text in house.embedder.texts if "alpha beta" in text and "copy" not in text]
    assert house.audit()["ok"]
    house.alter(
        "DELETE FROM vectors WHERE hash IN (SELECT hash FROM passages"
        " WHERE node_id = (SELECT id FROM nodes WHERE name = 'copy.md'))"
    )
    missing = {one["uri"] for one in house.audit()["missing_records"]}
    assert {copied, source} <= missing
    house.reindex(copied)
    assert house.audit()["ok"]
    # A repair of the one is not undone by the removal of the other.
    house.services.fs.rm(ROOT, source)
    house.work()
    assert house.audit()["ok"]
    coverage = house.store.vectors.coverage(house.embedder.model.fingerprint)
    assert coverage.have == coverage.of


def test_tags_survive_rewriting_moving_and_reindexing(house: Any) -> None:
    uri, moved = "viking://resources/a.md", "viking://resources/d/moved.md"
    house.services.content.write(ROOT, uri, "other words", "replace")
    house.services.fs.mv(ROOT, uri, moved)
    for mode in ("vectors_only", "semantic_and_vectors", "prune_orphans"):
        house.reindex(moved, mode)
    assert house.services.fs.attrs(ROOT, moved)["attrs"]["tags"] == ["k=v"]
    hits = house.services.search.find(ROOT, "other words", "viking://resources", tags=["k=v"], level=2)
    assert [hit.uri for hit in hits] == [moved]


def test_a_member_sees_the_audit_of_what_is_ones_own_alone(house: Any) -> None:
    ann = Identity("default", "ann", "user")
    house.services.content.write(ROOT, "viking://user/bob/memories/m.md", "secret", "create")
    house.work()
    house.alter(
        "DELETE FROM words WHERE rowid IN (SELECT p.id FROM passages p JOIN nodes n ON n.id = p.node_id"
        " WHERE n.name = 'm.md')"
    )
    assert not house.audit()["ok"]
    told = house.services.system.consistency(ann, "viking://")
    assert (told["ok"], told["problems"], told["missing_records"]) == (True, [], [])
    # Nor by a position that somebody else was given, nor one that is made up.
    cursor = house.audit(timeout=0)["cursor"]
    while cursor is not None:
        try:
            told = house.services.system.consistency(ann, "viking://", cursor=cursor)
        except InvalidArgumentError:
            # It is in what has no place, which a member can't ask for.
            break
        assert "bob" not in repr(told)
        cursor = house.audit(timeout=0, cursor=cursor)["cursor"]
