"""What follows the tree: sidecars that become stale with it, and sources whose files move and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from openviking.errors import NotFoundError, OpenVikingError
from openviking.store.batch import AdoptFile, FromSource, Move, PutFile, PutSidecars, Remove
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
    assert store.apply([sidecars_of(store, "resources/none"), sidecars_of(store, "resources/a.md")]).outcomes == (
        "missing", "missing",
    )  # fmt: skip


def test_sidecars_above_a_stale_one_stay_stale(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/d/a.md", "x")])
    store.apply([sidecars_of(store, "resources")])
    with store.read() as view:
        assert [one.path for one in view.dirty(10)] == ["resources/d", "resources"]
    assert store.check() == []
    store.apply([sidecars_of(store, "resources/d"), sidecars_of(store, "resources")])
    with store.read() as view:
        assert view.dirty(10) == []


def test_a_refused_removal_leaves_no_mark(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/d/a.md", "x")])
    store.apply([sidecars_of(store, "resources/d")])
    store.apply([sidecars_of(store, "resources")])
    store.apply([Remove("resources/d")], tolerant=True)
    with store.read() as view:
        assert view.dirty(10) == []


# --- sources -------------------------------------------------------------------------------------------------------


def test_a_source_is_followed_when_its_root_moves_and_lost_with_it(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/d/a.md", "a")])
    source = store.remember_source("/home/me/d", "resources/d")
    assert store.remember_source("/home/me/d", "resources/d") == source
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
        files = view.source_files(source.id)
        assert {name: (one.path, one.source_hash) for name, one in files.items()} == {
            "a.md": ("resources/e/a.md", b"g"),
            "b.md": ("resources/e/b.md", b"h"),
        }
        assert view.source("/home/me/other") is None
    store.apply([Remove("resources/e/a.md")])
    with store.read() as view:
        assert set(view.source_files(source.id)) == {"b.md"}
    store.apply([Remove("resources/e", recursive=True)])
    with store.read() as view:
        there = view.source("/home/me/d")
        assert there is not None
        assert there.root is None
        assert view.source_files(source.id) == {}
    while store.purge(1):
        pass
    with store.read() as view:
        assert view.source("/home/me/d") is None
    with pytest.raises(OpenVikingError):
        store.remember_source("/home/me/d", "resources/e")
    assert store.check() == []
