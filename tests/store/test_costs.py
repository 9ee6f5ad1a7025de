"""What an operation costs depends on what it gives, not on all that is stored: counted in steps, not in seconds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openviking.store.batch import Operation, PutFile, Remove
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.purge import PURGED_NODES

pytestmark = pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)

Put = Callable[..., PutFile]


def many(put: Put, directory: str, files: int) -> list[Operation]:
    return [put(f"{directory}/{number % 4}/{number % 2}/{number}.md", f"zorblax {number}") for number in range(files)]


def steps(store: AccountStore, work: Callable[[], object]) -> int:
    """How many instructions the database's machine does for ``work``: a measure that is the same on every computer."""
    assert isinstance(store, SqliteStore)
    counted = [0]

    def step() -> int:
        counted[0] += 1
        return 0

    with store._connections.reading() as reader:
        for connection in (reader, store._connections._writer):
            connection.set_progress_handler(step, 10)
        work()
        for connection in (reader, store._connections._writer):
            connection.set_progress_handler(None, 0)
    return counted[0]


def test_a_piece_costs_the_same_whatever_is_left(store: AccountStore, put: Put) -> None:
    store.apply(many(put, "resources/d", PURGED_NODES))
    store.apply([Remove("resources/d", recursive=True)])
    few = steps(store, lambda: store.purge(20))
    store.apply(many(put, "resources/e", 6 * PURGED_NODES))
    store.apply([Remove("resources/e", recursive=True)])
    assert steps(store, lambda: store.purge(20)) < 2 * few


def test_stale_directories_are_found_at_the_same_cost_whatever_their_number(store: AccountStore, put: Put) -> None:
    def deepest() -> None:
        with store.read() as view:
            view.dirty(8)

    store.apply([put(f"resources/d{number}/a.md") for number in range(20)])
    few = steps(store, deepest)
    store.apply([put(f"resources/d{number}/a.md") for number in range(500)])
    assert steps(store, deepest) < 2 * few


def test_a_walk_that_is_not_deep_does_not_look_at_files_below(store: AccountStore, put: Put) -> None:
    def near() -> None:
        with store.read() as view:
            assert len(list(view.walk("resources", depth=1))) == view.count_below("resources", depth=1) == 1

    store.apply(many(put, "resources/d", 8))
    few = steps(store, near)
    store.apply(many(put, "resources/d", 500))
    assert steps(store, near) < 2 * few


def test_removing_a_file_does_not_look_at_others(store: AccountStore, put: Put) -> None:
    store.apply([put(f"resources/d{number}/a.md") for number in range(10)])
    few = steps(store, lambda: store.apply([Remove("resources/d0/a.md")]))
    store.apply([put(f"resources/e{number}/a.md") for number in range(500)])
    assert steps(store, lambda: store.apply([Remove("resources/d1/a.md")])) < 2 * few
