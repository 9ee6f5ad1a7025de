"""The file of the scan: it makes opening quick, and whatever is wrong with it no answer changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import resource
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.model.scope import Scope
from openviking.store.batch import PutFile, Remove
from openviking.store.port import Query, QueryVector
from openviking.store.sqlite import purge
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.scan import cache_file, scans
from openviking.store.vectors import MadeVector

MODEL = EmbeddingModel("hashes", 48, 0, "", "", "cls", 0.0, 1.0, True)
FILES = 60

Answer = tuple[list[tuple[str, float]], Coverage]


def unit(text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    values = np.random.default_rng(seed).standard_normal(MODEL.dimension)
    return np.asarray(values / np.linalg.norm(values), np.float32)


def put(number: int, text: str) -> PutFile:
    return PutFile(f"resources/{number % 4}/{number}.md", prepare("a.md", text.encode()))


def embed(store: SqliteStore) -> None:
    store.vectors.use(MODEL)
    while claimed := store.vectors.claim(MODEL.fingerprint, 100):
        made = [MadeVector(one.hash, one.lease, unit(one.hash.hex())[None]) for one in claimed]
        store.vectors.put(MODEL.fingerprint, made)


def answer(store: SqliteStore, limit: int = 20) -> Answer:
    query = Query((), QueryVector(MODEL.fingerprint, unit("asked")), lambda _type, _words, cosine: 1 + (cosine or 0))
    with store.read() as view:
        found = view.search(query, Scope(), limit)
        return [(one.node.path, one.score) for one in found], view.coverage(MODEL.fingerprint, Scope())


def from_file(store: SqliteStore) -> bool:
    """Whether a search used rows from the file."""
    changed, rows = store._scans._mirrors[MODEL.fingerprint].changed()
    return changed < rows


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A closed store with vectors and the file."""
    monkeypatch.setattr(scans, "CHANGED_ROWS", 20)
    store = SqliteStore(tmp_path / "store", PathAnalyser())
    store.vectors.use(MODEL)
    store.apply([put(number, f"zorblax {number}") for number in range(FILES)])
    embed(store)
    assert answer(store)[1] == Coverage(FILES, FILES)
    store.close()
    return tmp_path / "store"


@pytest.fixture
def opened(place: Path) -> Iterator[Callable[[], SqliteStore]]:
    stores: list[SqliteStore] = []

    def opening() -> SqliteStore:
        stores.append(SqliteStore(place, PathAnalyser()))
        return stores[-1]

    yield opening
    for store in stores:
        store.close()


def file_of(place: Path) -> Path:
    return place / f"scan-{MODEL.fingerprint}.cache"


Opened = Callable[[], SqliteStore]


@pytest.fixture
def right(place: Path) -> Answer:
    """What is found without the file."""
    kept = file_of(place).rename(place / "kept")
    store = SqliteStore(place, PathAnalyser())
    found = answer(store)
    assert not from_file(store)
    store._connections.close()
    kept.rename(file_of(place))
    return found


def test_it_is_used_and_for_its_owner_alone(place: Path, opened: Opened, right: Answer) -> None:
    assert stat.S_IMODE(file_of(place).stat().st_mode) == 0o600
    store = opened()
    assert answer(store) == right
    assert from_file(store)
    assert [path.name for path in place.glob("scan-*")] == [file_of(place).name]


def test_what_is_written_after_it_is_found(place: Path, opened: Opened) -> None:
    before = file_of(place).read_bytes()
    store = opened()
    store.apply([Remove("resources/1", recursive=True), put(4, "another")])
    embed(store)
    found, coverage = answer(store, 1000)
    assert from_file(store)
    assert coverage == Coverage(FILES * 3 // 4, FILES * 3 // 4)
    assert len(found) == coverage.of
    # What is mapped is this process's own copy.
    assert file_of(place).read_bytes() == before


def test_it_is_kept_once_much_has_changed(place: Path, opened: Opened) -> None:
    before = file_of(place).read_bytes()
    store = opened()
    answer(store)
    store.apply([put(number, f"other {number}") for number in range(5)])
    embed(store)
    answer(store)
    store.vectors.keep_cache()
    assert file_of(place).read_bytes() == before
    store.apply([put(number, f"third {number}") for number in range(40)])
    embed(store)
    found = answer(store)
    store.vectors.keep_cache()
    assert file_of(place).read_bytes() != before
    other = opened()
    assert answer(other) == found
    assert other._scans._mirrors[MODEL.fingerprint].changed() == (0, FILES)


def test_a_damaged_byte(place: Path, opened: Opened, right: Answer, caplog: pytest.LogCaptureFixture) -> None:
    whole = file_of(place).read_bytes()
    chance = random.Random(5)
    refused = 0
    for position in [*range(0, 140, 7), *(chance.randrange(len(whole)) for _ in range(20)), len(whole) - 1]:
        caplog.clear()
        file_of(place).write_bytes(
            whole[:position] + bytes([whole[position] ^ (1 << chance.randrange(8))]) + whole[position + 1 :]
        )
        store = opened()
        assert answer(store) == right
        assert from_file(store) != ("made again" in caplog.text)
        refused += not from_file(store)
    assert refused > 20


@pytest.mark.parametrize("size", [0, 7, 8, 100, 4095, 4096, 4097, -4096, -1, 1])
def test_a_file_that_is_cut_short_or_longer(
    place: Path, opened: Opened, right: Answer, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    whole = file_of(place).read_bytes()
    file_of(place).write_bytes(whole + b"\0" if size == 1 else whole[:size])
    store = opened()
    assert answer(store) == right
    assert not from_file(store)
    assert "made again" in caplog.text


def test_something_else_in_its_place(
    place: Path, opened: Opened, right: Answer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = file_of(place).read_bytes()
    file_of(place).unlink()
    file_of(place).mkdir()
    store = opened()
    assert answer(store) == right
    assert not from_file(store)
    store.vectors.keep_cache()
    assert "could not be kept" in caplog.text
    assert list(place.glob("*.tmp")) == []
    file_of(place).rmdir()
    file_of(place).write_bytes(os.urandom(len(whole)))
    assert answer(opened()) == right
    file_of(place).write_bytes(whole)
    monkeypatch.setattr(cache_file, "FORMAT", cache_file.FORMAT + 1)
    caplog.clear()
    store = opened()
    assert answer(store) == right
    assert not from_file(store)
    assert "format" in caplog.text


def test_an_older_file_put_back(place: Path, opened: Opened) -> None:
    older = file_of(place).read_bytes()
    store = opened()
    store.apply([put(number, f"other {number}") for number in range(FILES)])
    embed(store)
    found = answer(store)
    store.vectors.keep_cache()
    file_of(place).write_bytes(older)
    other = opened()
    assert answer(other) == found
    assert not from_file(other)


def test_an_older_database_put_back_with_a_newer_file(place: Path, tmp_path: Path, right: Answer) -> None:
    shutil.copytree(place, tmp_path / "backup")
    store = SqliteStore(place, PathAnalyser())
    store.apply([put(number, f"other {number}") for number in range(FILES)])
    embed(store)
    newer = answer(store)
    store.close()
    assert newer != right
    shutil.copy(file_of(place), file_of(tmp_path / "backup"))
    restored = SqliteStore(tmp_path / "backup", PathAnalyser())
    # It goes on by as many changes as the other did.
    restored.apply([put(number, f"third {number}") for number in range(FILES)])
    restored.apply([put(0, "zorblax 0")])
    for number in range(1, FILES):
        restored.apply([put(number, f"zorblax {number}")])
    embed(restored)
    assert answer(restored) == right
    restored.close()


def test_the_file_of_another_model(place: Path, opened: Opened, right: Answer) -> None:
    other = place / f"scan-{'0' * 32}.cache"
    file_of(place).rename(other)
    store = opened()
    assert answer(store) == right
    assert not from_file(store)
    store.vectors.keep_cache()
    assert not other.exists()
    with store._connections.writing() as connection:
        (stamps,) = connection.execute("SELECT value FROM meta WHERE name = 'scan'").fetchone()
        model = connection.execute("SELECT id FROM models").fetchone()[0]
        assert list(json.loads(stamps)) == [MODEL.fingerprint]
        connection.execute("DELETE FROM vectors WHERE id <= 10")
        connection.execute("UPDATE models SET cleared = 10 WHERE id = ?", (model,))
    for one in (store, opened()):
        assert answer(one)[1] == Coverage(FILES - 10, FILES)


def test_no_room_for_it(place: Path, opened: Opened, right: Answer, caplog: pytest.LogCaptureFixture) -> None:
    file_of(place).unlink()
    store = opened()
    assert answer(store) == right
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        store.vectors.keep_cache()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "could not be kept" in caplog.text
    assert list(place.glob("scan-*")) == []
    assert answer(store) == right


def test_a_file_from_before_the_log_begins(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "KEPT_CHANGES", 3)
    reader = opened()
    answer(reader)
    store = opened()
    for number in range(8):
        store.apply([put(number, f"other {number}")])
    embed(store)
    wanted = answer(store, 1000)
    # One that had read before, and one that finds the file.
    for one in (reader, opened()):
        assert answer(one, 1000) == wanted
        assert not from_file(one)


def test_what_a_process_that_died_left_is_removed(place: Path, opened: Opened) -> None:
    left = place / f"scan-{MODEL.fingerprint}.{'a' * 32}.tmp"
    fresh = place / f"scan-{MODEL.fingerprint}.{'b' * 32}.tmp"
    for path in (left, fresh):
        path.write_bytes(b"half")
    os.utime(left, (1, 1))
    file_of(place).unlink()
    store = opened()
    answer(store)
    store.vectors.keep_cache()
    assert sorted(path.name for path in place.glob("scan-*")) == sorted([fresh.name, file_of(place).name])


@pytest.mark.parametrize("noted", ["not json", "[1]", '{"fp": 3}', "3"])
def test_a_note_of_stamps_that_makes_no_sense_is_none(right: Answer, place: Path, opened: Opened, noted: str) -> None:
    with contextlib.closing(sqlite3.connect(place / "store.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'scan'", (noted,))
    assert answer(opened()) == right


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(right: Answer, place: Path, opened: Opened) -> None:
    file_of(place).unlink(missing_ok=True)
    os.mkfifo(file_of(place))
    assert answer(opened()) == right
