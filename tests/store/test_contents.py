"""Large contents as files: written before they are named, shared, and deleted only after a grace."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from openviking.errors import OpenVikingError, UnavailableError
from openviking.model.node import Node
from openviking.store.batch import Move, PutFile, Remove
from openviking.store.port import AccountStore
from openviking.store.sqlite.contents import INLINE_BYTES

pytestmark = pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)

Put = Callable[..., PutFile]
LARGE = random.Random(7).randbytes(INLINE_BYTES + 1)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


def files(place: Path) -> list[Path]:
    return sorted((place / "contents").glob("*/*"))


def purge(store: AccountStore) -> None:
    while store.purge(100):
        pass


def let_grace_pass(place: Path) -> None:
    with contextlib.closing(sqlite3.connect(place / "store.db")) as connection, connection:
        connection.execute("UPDATE released SET at = 0")
    connection.close()


def data(store: AccountStore, path: str) -> bytes:
    with store.read() as view:
        node = view.get(path)
        assert node is not None
        return view.data(node)


@pytest.mark.parametrize("size", [0, 1, INLINE_BYTES - 1, INLINE_BYTES, INLINE_BYTES + 1, 3 * INLINE_BYTES])
def test_any_size_comes_back_byte_for_byte(store: AccountStore, place: Path, put: Put, size: int) -> None:
    wanted = random.Random(size).randbytes(size)
    store.apply([put("resources/a.bin", wanted)])
    assert data(store, "resources/a.bin") == wanted
    assert len(files(place)) == (size > INLINE_BYTES)
    store.apply([put("resources/a.bin", wanted + b"\x00")])
    assert data(store, "resources/a.bin") == wanted + b"\x00"
    assert store.check() == []


def test_a_large_text_is_sliced_from_its_file(store: AccountStore, put: Put, node: Callable[[str], Node]) -> None:
    text = "".join(f"line {number} é\n" for number in range(30_000))
    store.apply([put("resources/a.txt", text)])
    file = node("resources/a.txt")
    with store.read() as view:
        assert view.text(file) == text
        rows = view.passages(file)
        assert "".join(view.slice(file, row.start, row.end) for row in rows) == text


def test_two_nodes_with_one_content_share_its_file(store: AccountStore, place: Path, put: Put) -> None:
    store.apply([put("resources/a.bin", LARGE), put("resources/d/b.bin", LARGE)])
    assert len(files(place)) == 1
    store.apply([Remove("resources/a.bin")])
    purge(store)
    let_grace_pass(place)
    store.apply([put("resources/other.md", "x")])
    assert data(store, "resources/d/b.bin") == LARGE
    assert store.check() == []
    store.apply([Remove("resources/d", recursive=True)])
    purge(store)
    assert len(files(place)) == 1
    let_grace_pass(place)
    store.apply([put("resources/other.md", "y")])
    assert files(place) == []
    assert store.check() == []


def test_a_text_that_is_the_bytes_of_another_file_outlives_it(store: AccountStore, put: Put) -> None:
    words = "déjà vu and so on"
    store.apply([put("resources/wide.txt", words.encode("utf-16")), put("resources/plain.txt", words)])
    for gone, kept in (("plain", "wide"), ("wide", "plain")):
        store.apply([put("resources/plain.txt", words), Remove(f"resources/{gone}.txt")])
        purge(store)
        with store.read() as view:
            node = view.get(f"resources/{kept}.txt")
            assert node is not None
            assert view.text(node) == words
        assert store.check() == []


def test_a_replaced_content_stays_for_readers_of_the_old_state(store: AccountStore, place: Path, put: Put) -> None:
    store.apply([put("resources/a.bin", LARGE)])
    with store.read() as view:
        node = view.get("resources/a.bin")
        assert node is not None
        store.apply([put("resources/a.bin", b"\x00small")])
        assert view.data(node) == LARGE
    assert data(store, "resources/a.bin") == b"\x00small"
    let_grace_pass(place)
    store.apply([Move("resources/a.bin", "resources/b.bin")])
    assert files(place) == []


def test_a_content_that_comes_back_within_its_grace_stays(store: AccountStore, place: Path, put: Put) -> None:
    for _ in range(2):
        store.apply([put("resources/a.bin", LARGE)])
        store.apply([put("resources/a.bin", b"\x00small")])
    store.apply([put("resources/a.bin", LARGE)])
    let_grace_pass(place)
    store.apply([put("resources/other.md", "x")])
    assert data(store, "resources/a.bin") == LARGE
    assert store.check() == []


def test_files_of_writers_that_died_are_cleared_away(
    open_store: Callable[[Path], AccountStore], place: Path, put: Put
) -> None:
    store = open_store(place)
    store.apply([put("resources/a.bin", LARGE)])
    kept = files(place)[0]
    store.close()
    stray = kept.parent / ("0" * 64)
    half = kept.with_name(kept.name + ".1a2b3c4d")
    fresh = kept.parent / ("1" * 64)
    for path in (stray, half, fresh):
        path.write_bytes(b"lost")
    for path in (kept, stray, half):
        os.utime(path, (1_000_000, 1_000_000))
    store = open_store(place)
    store.apply([put("resources/b.md", "x"), Remove("resources/b.md")])
    purge(store)
    assert files(place) == sorted([kept, fresh])
    assert data(store, "resources/a.bin") == LARGE
    store.close()


def test_a_failed_batch_leaves_no_row_for_its_file(store: AccountStore, place: Path, put: Put) -> None:
    with pytest.raises(OpenVikingError):
        store.apply([put("resources/a.bin", LARGE), Move("resources/none", "resources/x")])
    assert len(files(place)) == 1
    assert store.check() == []
    store.apply([put("resources/a.bin", LARGE)])
    assert data(store, "resources/a.bin") == LARGE


@pytest.mark.parametrize("damage", ["deleted", "cut", "directory"])
def test_a_content_that_cannot_be_read_is_an_error(store: AccountStore, place: Path, put: Put, damage: str) -> None:
    store.apply([put("resources/a.txt", "line of text\n" * 30_000)])
    [file] = files(place)
    content = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(content[:-1])
    elif damage == "directory":
        file.mkdir()
    with store.read() as view:
        node = view.get("resources/a.txt")
        assert node is not None
        last = view.passages(node)[-1]
        for read in (lambda: view.data(node), lambda: view.text(node), lambda: view.slice(node, last.start, last.end)):
            with pytest.raises(UnavailableError):
                read()


def test_a_write_repairs_a_content_that_was_lost(store: AccountStore, place: Path, put: Put) -> None:
    store.apply([put("resources/a.bin", LARGE)])
    files(place)[0].unlink()
    store.apply([put("resources/b.bin", LARGE)])
    assert data(store, "resources/a.bin") == LARGE


def test_changed_bytes_of_the_same_length_are_an_error_until_they_are_written_again(
    store: AccountStore, place: Path, put: Put
) -> None:
    text = "line of text\n" * 30_000
    store.apply([put("resources/a.txt", text)])
    [file] = files(place)
    file.write_bytes(b"L" + file.read_bytes()[1:])
    with store.read() as view:
        node = view.get("resources/a.txt")
        assert node is not None
        for read in (lambda: view.data(node), lambda: view.text(node)):
            with pytest.raises(UnavailableError, match=file.name):
                read()
    [outcome] = store.apply([put("resources/a.txt", text)]).outcomes
    assert outcome.kind == "unchanged"
    assert data(store, "resources/a.txt") == text.encode()
    assert store.check() == []


def test_a_content_directory_that_cannot_be_made_is_an_error(store: AccountStore, place: Path, put: Put) -> None:
    (place / "contents").write_text("in the way")
    with pytest.raises(UnavailableError):
        store.apply([put("resources/a.bin", LARGE)])
    with store.read() as view:
        assert view.get("resources/a.bin") is None
