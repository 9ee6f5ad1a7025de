"""What is removed stops counting: a little at once, much piece by piece, and never at a cost that grows with the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from tests.stubs.queries import words

from openviking.model.scope import Scope
from openviking.store.batch import NoteSource, Operation, PutFile, Remove, SetTags, StoredPassage
from openviking.store.port import AccountStore
from openviking.store.sqlite.purge import PURGED_NODES, PURGED_PASSAGES

Put = Callable[..., PutFile]
Listed = Callable[..., list[str]]


def passages(store: AccountStore) -> int:
    with store.read() as view:
        return view.stats(0).passages


def found(store: AccountStore, *terms: str) -> list[tuple[str, float]]:
    with store.read() as view:
        return [(candidate.node.path, candidate.score) for candidate in view.search(words(*terms), Scope(), 100)]


def many(put: Put, directory: str, files: int = PURGED_NODES) -> list[Operation]:
    """Files in directories three deep; with the directories they are more than what is cleared away at once."""
    return [put(f"{directory}/{number % 4}/{number % 2}/{number}.md", f"zorblax {number}") for number in range(files)]


def test_a_small_removal_leaves_nothing_behind(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/k.md", "zorblax kept")])
    scores, count = found(store, "zorblax"), passages(store)
    store.apply([put("resources/d/a.md", "zorblax"), put("resources/d/e/b.md", "zorblax"), put("resources/f.md", "f")])
    store.apply([SetTags("resources/d", ("k=v",), recursive=True), NoteSource("/home/me/d", "resources/d")])
    assert found(store, "zorblax") != scores
    store.apply([Remove("resources/d", recursive=True), Remove("resources/f.md")])
    assert (found(store, "zorblax"), passages(store)) == (scores, count)
    assert store.purge(100) == 0
    assert store.check() == []


def test_a_large_removal_is_gone_at_once_and_cleared_away_piece_by_piece(
    store: AccountStore, put: Put, listed: Listed
) -> None:
    store.apply([put("resources/k.md", "zorblax kept")])
    scores, count = found(store, "zorblax"), passages(store)
    store.apply(many(put, "resources/d"))
    store.apply([NoteSource("/home/me/d", "resources/d")])
    [outcome] = store.apply([Remove("resources/d", recursive=True)]).outcomes
    assert (outcome.kind, outcome.count) == ("removed", PURGED_NODES + 1 + 4 + 4)
    assert listed() == ["resources", "resources/k.md"]
    assert [path for path, _ in found(store, "zorblax")] == ["resources/k.md"]
    store.apply([put("resources/d/0/again.md", "again")])
    with store.read() as view:
        source = view.source("/home/me/d")
        assert source is not None
        assert source.root is None
        assert [one.path for one in view.dirty(10)] == ["resources/d/0", "resources/d", "resources"]
    pieces = []
    with store.read() as view:
        change = view.change
    while cleared := store.purge(100):
        pieces.append(cleared)
        assert store.check() == []
        with store.read() as view:
            assert view.change > change, "scores changed, so it is another state"
            change = view.change
    assert sum(pieces) == outcome.count
    assert max(pieces) == 100
    assert listed() == ["resources", "resources/d", "resources/d/0", "resources/d/0/again.md", "resources/k.md"]
    store.apply([Remove("resources/d", recursive=True)])
    assert (found(store, "zorblax"), passages(store)) == (scores, count)
    with store.read() as view:
        assert view.source("/home/me/d") is None


def test_what_is_cleared_away_at_once_is_bounded_for_a_batch(store: AccountStore, put: Put) -> None:
    paths = [f"resources/{number}.md" for number in range(PURGED_NODES + 5)]
    store.apply([put(path, path) for path in paths])
    store.apply([Remove(path) for path in paths])
    assert store.check() == []
    assert store.purge(100) == 5
    assert passages(store) == 0


def long_file(put: Put, path: str, count: int) -> PutFile:
    """A file of ``count`` passages of one letter."""
    whole = put(path, "x" * count)
    one = StoredPassage(0, 1, 1, 1, "", "", b"h", "", "", "x", 1)
    cut = tuple(dataclasses.replace(one, start=start, end=start + 1) for start in range(count))
    return dataclasses.replace(whole, content=dataclasses.replace(whole.content, passages=cut))


@pytest.mark.parametrize("path", ["resources/d/long.md", "resources/d"])
@pytest.mark.parametrize("more", [0, 1])
def test_passages_are_bounded_too(store: AccountStore, put: Put, path: str, more: int) -> None:
    count = PURGED_PASSAGES + more
    store.apply([long_file(put, "resources/d/long.md", count)])
    store.apply([Remove(path, recursive=True)])
    assert passages(store) == (count if more else 0)
    while store.purge(100):
        pass
    assert passages(store) == 0
    assert store.check() == []


def test_a_piece_has_not_many_passages_but_at_least_one_file(store: AccountStore, put: Put) -> None:
    half = PURGED_PASSAGES // 2
    store.apply([long_file(put, f"resources/{number}.md", half) for number in range(5)])
    store.apply([long_file(put, "resources/6.md", PURGED_PASSAGES + 1)])
    store.apply([Remove("resources", recursive=True)])
    pieces = []
    while cleared := store.purge(100):
        pieces.append(cleared)
        assert store.check() == []
    assert pieces == [1, 2, 2, 3], "the long file is shortened first"
