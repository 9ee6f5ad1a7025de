"""What follows the tree: sidecars that become stale with it, and sources whose files move and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from openviking.errors import NotFoundError
from openviking.store.batch import AdoptFile, FromSource, Move, NoteSource, PutFile, PutSidecars, Remove
from openviking.store.port import AccountStore

Put = Callable[..., PutFile]


def sidecars_of(store: AccountStore, path: str, abstract: str = "short", **fields: Any) -> PutSidecars:
    with store.read() as view:
        seen = next((one.seen for one in view.dirty(1000, path) if one.path == path), 0)
    return PutSidecars(
        path, fields.get("seen", seen), abstract, f"longer {abstract}", "extractive", (), ()
    )  # fmt: skip


# --- sidecars ------------------------------------------------------------------------------------------------------


def test_a_write_makes_all_directories_above_stale(store: AccountStore, put: Put) -> None:
    change = store.apply([put("resources/a/b/c.md", "x"), put("resources/z/y.md", "y")]).change
    with store.read() as view:
        dirty = [(one.path, one.seen) for one in view.dirty(10)]
        below = [one.path for one in view.dirty(10, "resources/a")]
    assert dirty == [(path, change) for path in ("resources/a/b", "resources/a", "resources/z", "resources")]
    assert below == ["resources/a/b", "resources/a"]
    assert "sidecars" in store.jobs.waiting()


def test_sidecars_made_from_an_older_state_stay_stale(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/a.md", "x")])
    old = sidecars_of(store, "resources", "old")
    store.apply([put("resources/b.md", "y")])
    store.apply([old])
    with store.read() as view:
        there = view.sidecars("resources")
    assert there is not None
    assert there.stale
    store.apply([sidecars_of(store, "resources", "new")])
    with store.read() as view:
        there = view.sidecars("resources")
    assert there is not None
    assert (there.abstract, there.stale) == ("new", False)
    applied = store.apply([sidecars_of(store, "resources/none"), sidecars_of(store, "resources/a.md")])
    assert [outcome.kind for outcome in applied.outcomes] == ["missing", "missing"]


def test_sidecars_above_a_stale_one_stay_stale(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/d/a.md", "x")])
    store.apply([sidecars_of(store, "resources")])
    with store.read() as view:
        assert [one.path for one in view.dirty(10)] == ["resources/d", "resources"]
    assert store.check() == []
    store.apply([sidecars_of(store, "resources/d"), sidecars_of(store, "resources")])
    with store.read() as view:
        assert view.dirty(10) == []


def test_the_deepest_come_first_also_after_a_move(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/a/b/x.md", "x"), put("resources/p/q/r/y.md", "y")])
    store.apply([Move("resources/a", "resources/p/q/r/a")])
    with store.read() as view:
        paths = [one.path for one in view.dirty(2)]
        near = [entry.node.path for entry in view.walk("resources/p/q", depth=2)]
    assert paths == ["resources/p/q/r/a/b", "resources/p/q/r/a"]
    assert near == ["resources/p/q/r", "resources/p/q/r/a", "resources/p/q/r/y.md"]
    store.apply([Move("resources/p/q/r/a/b", "resources/b")])
    with store.read() as view:
        assert [one.path for one in view.dirty(1)] == ["resources/p/q/r/a"]
        assert view.count_below("resources", depth=1) == 2
    assert store.check() == []


def test_a_refused_removal_leaves_no_mark(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/d/a.md", "x")])
    store.apply([sidecars_of(store, "resources/d")])
    store.apply([sidecars_of(store, "resources")])
    store.apply([Remove("resources/d")], tolerant=True)
    with store.read() as view:
        assert view.dirty(10) == []


# --- sources -------------------------------------------------------------------------------------------------------


def test_a_location_has_several_sources(store: AccountStore, put: Put) -> None:
    store.apply([put(f"resources/{name}/a.md", "a") for name in "abcde"])
    locations = ["/d", "/d\nresources/b", "/d\nresources/c", "/d e", "/d\v"]
    store.apply([NoteSource(one, f"resources/{name}") for one, name in zip(locations, "abcde", strict=True)])
    store.apply([Move("resources/b", "resources/z"), Remove("resources/c", recursive=True)])
    with store.read() as view:
        found = [(one.location, one.root) for one in view.sources("/d") if one.root is not None]
        assert found == [("/d", "resources/a"), ("/d\nresources/b", "resources/z")]
        assert view.sources("/") == []


def test_a_source_is_followed_when_its_root_moves_and_lost_with_it(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/d/a.md", "a")])
    noted = [store.apply([NoteSource("/home/me/d", "resources/d")]).outcomes[0].kind for _ in range(2)]
    assert noted == ["updated", "unchanged"]
    with store.read() as view:
        source = view.source("/home/me/d")
    assert source is not None
    assert source.root == "resources/d"
    store.apply(
        [put("resources/d/b.md", "b", source=FromSource(source.id, "b.md", b"h")),
         AdoptFile("resources/d/a.md", FromSource(source.id, "a.md", b"g"))]
    )  # fmt: skip
    with pytest.raises(NotFoundError):
        store.apply([AdoptFile("resources/d/none.md", FromSource(source.id, "n", b""))])
    store.apply([Move("resources/d", "resources/e")])
    with store.read() as view:
        there = view.source("/home/me/d")
        assert there is not None
        assert there.root == "resources/e"
        assert {(one.name, one.path, one.source_hash, one.is_text) for one in view.source_files(source.id)} == {
            ("a.md", "resources/e/a.md", b"g", True),
            ("b.md", "resources/e/b.md", b"h", True),
        }
        assert view.source("/home/me/other") is None
    store.apply([Remove("resources/e/a.md")])
    with store.read() as view:
        assert [one.name for one in view.source_files(source.id)] == ["b.md"]
    store.apply([Remove("resources/e", recursive=True)])
    with store.read() as view:
        assert view.source("/home/me/d") is None
        assert list(view.source_files(source.id)) == []
    with pytest.raises(NotFoundError):
        store.apply([NoteSource("/home/me/d", "resources/e")])
    assert store.check() == []
