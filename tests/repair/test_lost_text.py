"""The text made of a file's bytes is derived: losing it costs neither the file nor its bytes."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.store.batch import PutFile

ROOT = Identity("default", "default", "root")
TEXT = "Straße und Café, immer wieder. "
FILE = "viking://resources/old.txt"
TEXTS = "(SELECT text_hash FROM nodes WHERE name = 'old.txt')"


def put(house: Any, name: str, data: bytes) -> None:
    house.store.apply([PutFile(f"resources/{name}", prepare(name, data))])
    house.work()


@pytest.mark.parametrize("damage", ["missing", "changed"])
@pytest.mark.parametrize(
    "times", [3, pytest.param(20_000, marks=[pytest.mark.slow, pytest.mark.cpu_budget(20)])], ids=["small", "large"]
)
def test_a_text_is_made_anew_from_the_bytes(house: Any, damage: str, times: int) -> None:
    text = TEXT * times
    put(house, "old.txt", text.encode("latin-1"))
    put(house, "copy.txt", text.encode("latin-1"))
    stored = sorted(house.directory.rglob("*"))
    if times > 3 and damage == "changed":
        large = [one for one in stored if one.is_file() and one.stat().st_size == len(text.encode())]
        assert len(large) == 1
        large[0].write_bytes(b"x" * len(text.encode()))
    elif damage == "changed":
        house.alter(f"UPDATE contents SET data = zeroblob(size) WHERE hash = {TEXTS}")
    else:
        house.alter(f"DELETE FROM contents WHERE hash = {TEXTS}")

    [problem] = house.audit()["problems"]
    assert (problem["kind"], problem["count"], problem["repair"]) == ("text", 2, "semantic_and_vectors")
    house.reindex(mode="prune_orphans")
    assert house.services.fs.stat(ROOT, FILE)["size"] == len(text)
    house.reindex(mode="semantic_and_vectors")
    house.work()
    assert (house.audit()["problems"], house.store.check()) == ([], [])
    assert house.services.content.read(ROOT, FILE).rstrip("\n") == text


def test_a_file_whose_bytes_are_the_text_of_another_is_not_lost_with_it(house: Any) -> None:
    put(house, "old.txt", TEXT.encode("latin-1"))
    put(house, "new.txt", TEXT.encode())
    house.alter(f"DELETE FROM contents WHERE hash = {TEXTS}")
    assert {one["kind"] for one in house.audit()["problems"]} == {"text", "content_missing"}
    house.reindex(mode="semantic_and_vectors")
    house.work()
    assert (house.audit()["problems"], house.store.check()) == ([], [])
    assert house.services.content.read(ROOT, "viking://resources/new.txt") == TEXT
