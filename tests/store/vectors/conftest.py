"""A store with a model in use, a second process on it, a clock that is set, and what the tests do with vectors."""

from __future__ import annotations

import dataclasses
import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from openviking import clock as clock_module
from openviking.ingest.prepare import PathAnalyser
from openviking.model.embedding import EmbeddingModel
from openviking.store.batch import PutFile, StoredPassage
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore
from openviking.store.vectors import MadeVector, PendingPassage


class Clock:
    """Takes the place of the module `time` in `openviking.clock`."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000

    def time_ns(self) -> int:
        return self.now * 1_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    set_by_hand = Clock()
    monkeypatch.setattr(clock_module, "time", set_by_hand)
    return set_by_hand


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def model() -> EmbeddingModel:
    return EmbeddingModel("m", 4, 512, "", "", "cls", 0.3, 0.9, multilingual=False)


@pytest.fixture
def ready(clock: Clock, store: AccountStore, model: EmbeddingModel) -> AccountStore:
    """A store whose model is in use since now."""
    assert clock_module.now_ms() == clock.now
    store.vectors.use(model)
    return store


@pytest.fixture
def other(ready: AccountStore, place: Path) -> Iterator[AccountStore]:
    """The same account as another process has it."""
    opened = SqliteStore(place, PathAnalyser())
    assert opened is not ready
    yield opened
    opened.close()


@pytest.fixture
def rows(place: Path) -> Callable[[str], list[tuple[object, ...]]]:
    """What a query of the database gives."""

    def selected(sql: str) -> list[tuple[object, ...]]:
        connection = sqlite3.connect(place / "store.db")
        found = connection.execute(sql).fetchall()
        connection.close()
        return found

    return selected


@pytest.fixture
def made() -> Callable[..., list[MadeVector]]:
    """``made(claimed, dimension)``: a vector for each."""

    def answers(claimed: Sequence[PendingPassage], dimension: int = 4) -> list[MadeVector]:
        return [MadeVector(one.hash, one.lease, np.ones((1, dimension), np.float32)) for one in claimed]

    return answers


@pytest.fixture
def embed(made: Callable[..., list[MadeVector]], model: EmbeddingModel) -> Callable[..., list[str]]:
    """``embed(store, model)`` does all that waits; the paths of what was done, in order."""

    def embedding(store: AccountStore, of: EmbeddingModel = model) -> list[str]:
        paths = []
        while claimed := store.vectors.claim(of.fingerprint, 10):
            assert store.vectors.put(of.fingerprint, made(claimed, of.dimension)) == len(claimed)
            paths += [one.node.path for one in claimed]
        assert store.vectors.waiting(of.fingerprint) == 0
        assert store.check() == []
        return paths

    return embedding


@pytest.fixture
def cut(put: Callable[..., PutFile]) -> Callable[[str, int], PutFile]:
    """``cut(path, count)``: a file with so many passages, of contents that no other path has."""

    def cutting(path: str, count: int) -> PutFile:
        whole = put(path, "x" * count)
        digests = [hashlib.sha256(f"{path} {start}".encode()).digest() for start in range(count)]
        each = tuple(
            StoredPassage(start, start + 1, 1, 1, "", "", digest, "", "", "x", 1)
            for start, digest in enumerate(digests)
        )
        return dataclasses.replace(whole, content=dataclasses.replace(whole.content, passages=each))

    return cutting


@pytest.fixture
def clear() -> Callable[[AccountStore], int]:
    """Clears away all that is to be cleared away now; in how many pieces."""

    def clearing(store: AccountStore) -> int:
        pieces = 0
        while store.purge(100):
            pieces += 1
            assert store.check() == []
        return pieces

    return clearing


@pytest.fixture
def before_the_lock() -> Callable[[AccountStore, Callable[[], object]], list[object]]:
    """``before_the_lock(store, act)`` calls ``act`` whenever ``store`` is about to take the write lock; what came of it is listed."""

    def watching(store: AccountStore, act: Callable[[], object]) -> list[object]:
        assert isinstance(store, SqliteStore)
        results: list[object] = []

        def traced(statement: str) -> None:
            if statement == "BEGIN IMMEDIATE":
                results.append(act())

        store._connections._writer.set_trace_callback(traced)
        return results

    return watching
