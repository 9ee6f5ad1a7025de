"""What the queue costs depends on what is asked of it, not on all that waits: counted in steps, not in seconds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openviking.model.embedding import EmbeddingModel
from openviking.store.batch import PutFile, Remove
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore
from openviking.store.vectors import MadeVector

pytestmark = pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)

Put = Callable[..., PutFile]
Made = Callable[..., list[MadeVector]]


def steps(store: AccountStore, work: Callable[[], object]) -> int:
    """How many instructions the database's machine does for ``work``: a measure that is the same on every computer."""
    assert isinstance(store, SqliteStore)
    counted = [0]

    def step() -> int:
        counted[0] += 1
        return 0

    with store._connections.reading() as reader:
        connections = (reader, store._connections._writer)
    for connection in connections:
        connection.set_progress_handler(step, 10)
    work()
    for connection in connections:
        connection.set_progress_handler(None, 0)
    assert counted[0]
    return counted[0]


def many(put: Put, directory: str, files: int) -> list[PutFile]:
    return [put(f"{directory}/{number}.txt", f"{directory} {number}") for number in range(files)]


def test_what_is_asked_of_the_queue(ready: AccountStore, put: Put, made: Made, model: EmbeddingModel) -> None:
    fingerprint, vectors = model.fingerprint, ready.vectors

    def asked() -> dict[str, int]:
        claimed = vectors.claim(fingerprint, 8)
        return {
            "claim": steps(ready, lambda: vectors.give_back(fingerprint, vectors.claim(fingerprint, 8))),
            "put": steps(ready, lambda: vectors.put(fingerprint, made(claimed))),
            "below": steps(ready, lambda: vectors.claim(fingerprint, 8, below="resources/old")),
            "waiting": steps(ready, lambda: vectors.waiting(fingerprint, below="resources/old")),
            "newest": steps(ready, lambda: vectors.newest(fingerprint)),
            "due": steps(ready, lambda: vectors.next_due(fingerprint)),
            "use": steps(ready, lambda: vectors.use(model)),
            "missing": steps(ready, lambda: vectors.enqueue_missing(fingerprint, 10)),
        }

    ready.apply(many(put, "resources/old", 16))
    ready.apply(many(put, "resources/new", 40))
    few = asked()
    ready.apply(many(put, "resources/more", 600))
    lot = asked()
    assert {name: (few[name], lot[name]) for name in few if lot[name] > 2 * few[name]} == {}


def test_queueing_does_not_look_at_what_waits(ready: AccountStore, put: Put) -> None:
    ready.apply(many(put, "resources/a", 20))
    few = steps(ready, lambda: ready.apply(many(put, "resources/b", 10)))
    ready.apply(many(put, "resources/c", 600))
    assert steps(ready, lambda: ready.apply(many(put, "resources/d", 10))) < 2 * few


def test_removing_does_not_look_at_what_waits(ready: AccountStore, put: Put) -> None:
    ready.apply(many(put, "resources/a", 20))
    few = steps(ready, lambda: ready.apply([Remove("resources/a/1.txt")]))
    ready.apply(many(put, "resources/c", 600))
    assert steps(ready, lambda: ready.apply([Remove("resources/a/2.txt")])) < 2 * few


def test_old_passages_are_looked_through_in_bounded_pieces(
    store: AccountStore, put: Put, model: EmbeddingModel
) -> None:
    def piece() -> int:
        return steps(store, lambda: store.vectors.enqueue_missing(model.fingerprint, 10))

    store.apply(many(put, "resources/a", 40))
    store.vectors.use(model)
    few = piece()
    store.apply(many(put, "resources/b", 600))
    assert piece() < 2 * few
