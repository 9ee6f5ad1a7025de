"""What whoever waits for one path claims and counts: what is there, and the summaries above that tell of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pytest

from openviking.ingest.prepare import prepare_sidecar
from openviking.model.embedding import EmbeddingModel
from openviking.store.batch import PutFile, PutSidecars, Remove
from openviking.store.port import AccountStore
from openviking.store.vectors import LEASE_MS

pytestmark = pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)

PRINT = EmbeddingModel("m", 4, 512, "", "", "cls", 0.3, 0.9, multilingual=False).fingerprint


class Clock(Protocol):
    """The clock that is set."""

    now: int


def summary(store: AccountStore, path: str) -> PutSidecars:
    with store.read() as view:
        seen = {one.path: one.seen for one in view.dirty(100)}[path]
    text = f"tells of {path}"
    return PutSidecars(path, seen, text, text, "extractive", prepare_sidecar(path, text), ())


def claimed(store: AccountStore, below: str) -> list[str]:
    """The paths of what is claimed, which is given back."""
    found = store.vectors.claim(PRINT, 100, below=below)
    store.vectors.give_back(PRINT, found)
    assert len(found) == store.vectors.waiting(PRINT, below=below)
    return sorted(one.node.path for one in found)


@pytest.mark.parametrize("narrow", [4000, 0])
def test_summaries_above_are_waited_for_and_those_beside_are_not(
    ready: AccountStore, put: Callable[..., PutFile], monkeypatch: pytest.MonkeyPatch, narrow: int
) -> None:
    monkeypatch.setattr("openviking.store.sqlite.pending.NARROW_PASSAGES", narrow)
    ready.apply([put("resources/d/e/a.md", "alpha"), put("resources/d/b.md", "beta"), put("resources/x/c.md", "gamma")])
    above = ["resources", "resources/d", "resources/d/e", "resources/x"]
    ready.apply([summary(ready, path) for path in above])
    assert claimed(ready, "resources/d/e/a.md") == [*above[:3], "resources/d/e/a.md"]
    assert claimed(ready, "resources/d") == sorted([*above[:3], "resources/d/b.md", "resources/d/e/a.md"])
    assert claimed(ready, "resources/x") == ["resources", "resources/x", "resources/x/c.md"]
    assert len(claimed(ready, "")) == 7
    # A path that is gone, or never was, is told of by what is above it.
    ready.apply([Remove("resources/d/e", recursive=True)])
    assert claimed(ready, "resources/d/e/a.md") == ["resources", "resources/d"]
    assert claimed(ready, "resources/none/at/all") == ["resources"]


def test_a_renewed_lease_lasts_and_one_that_was_lost_is_not_won_back(
    ready: AccountStore, other: AccountStore, put: Callable[..., PutFile], clock: Clock
) -> None:
    ready.apply([put("resources/a.md", "alpha")])
    held = ready.vectors.claim(PRINT, 10)
    for _ in range(3):
        clock.now += LEASE_MS - 1
        ready.vectors.renew(PRINT, held)
        assert other.vectors.claim(PRINT, 10) == []
    assert ready.vectors.next_due(PRINT) == clock.now + LEASE_MS
    clock.now += LEASE_MS
    assert len(other.vectors.claim(PRINT, 10)) == 1
    until = other.vectors.next_due(PRINT)
    clock.now += 5
    ready.vectors.renew(PRINT, held)
    assert other.vectors.next_due(PRINT) == until
