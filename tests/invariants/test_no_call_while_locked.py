"""Invariant 8: no model call while a lock or transaction is held, and every call has a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.stubs.embedders import HashEmbedder, Vector

from openviking import OpenViking
from openviking.store.sqlite.account import SqliteStore

ROOT = "viking://resources"


def readers(ov: OpenViking) -> int:
    """How many views stay open in this process: one that is looked into for a moment is closed while a call goes on."""
    store = ov._accounts.store(ov._identity)
    assert isinstance(store, SqliteStore)
    connections = store._connections
    with connections._readers:
        connections._readers.wait_for(lambda: not connections._reading, 5.0)
        return connections._reading


@pytest.mark.slow
def test_a_store_can_be_written_from_within_a_call_for_passages(place: Path, start: Callable[..., Any]) -> None:
    embedder = HashEmbedder()
    other = start(workers=0)
    seen: list[tuple[int, float, object]] = []

    with OpenViking(place, embedder=embedder, workers=0) as ov:

        def before(_: Sequence[str]) -> None:
            number = len(seen)
            start = time.monotonic()
            if number < 6:
                ov.write(f"{ROOT}/own{number}.md", "from within\n", "create")
                gave = other.call("write", f"{ROOT}/theirs{number}.md", "from without\n", "create")
                seen.append((readers(ov), time.monotonic() - start, gave["mode"] if isinstance(gave, dict) else gave))

        embedder.before = before
        for number in range(30):
            ov.write(f"{ROOT}/d/f{number}.md", f"word{number}\n", "create")
        ov.wait_processed(60)
        ov.wait_processed(60)
        assert ov.status()["embedding"]["waiting"] == 0
        assert ov.check() == []
    assert len(seen) == 6
    assert all(open_views == 0 and mode == "create" for open_views, _, mode in seen), seen
    # A writer waits half a minute for a lock before it gives up.
    assert max(seconds for _, seconds, _ in seen) < 10


def test_no_view_is_open_while_a_question_is_asked(place: Path) -> None:
    open_views: list[int] = []

    class Watching(HashEmbedder):
        def query(self, text: str, *, timeout: float) -> Vector:
            open_views.append(readers(ov))
            ov.write(f"{ROOT}/q{len(open_views)}.md", "from within\n", "create")
            return super().query(text, timeout=timeout)

    with OpenViking(place, embedder=Watching(), workers=0) as ov:
        ov.write(f"{ROOT}/a.md", "zorblax\n", "create", wait=True)
        for number in range(3):
            assert ov.find(f"zorblax {number}", level=2).degraded == ()
    assert open_views == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_a_model_that_ignores_its_deadline_keeps_nobody(place: Path, workers: int) -> None:
    free = threading.Event()

    class Stuck(HashEmbedder):
        stuck = False

        def query(self, text: str, *, timeout: float) -> Vector:
            if self.stuck:
                free.wait(60)
            return super().query(text, timeout=timeout)

        def passages(self, texts: Sequence[str], *, timeout: float) -> Any:
            if self.stuck:
                free.wait(60)
            return super().passages(texts, timeout=timeout)

    embedder = Stuck()
    start = time.monotonic()
    try:
        with OpenViking(place, embedder=embedder, workers=workers) as ov:
            ov.write(f"{ROOT}/a.md", "zorblax\n", "create", wait=True)
            embedder.stuck = True
            ov.write(f"{ROOT}/b.md", "gulls\n", "create")
            found = ov.find("gulls", level=2, limit=1)
            assert found.hits[0].uri == f"{ROOT}/b.md"
            assert [one.stage for one in found.degraded] == ["vectors"]
            assert time.monotonic() - start < 8
    finally:
        seconds = time.monotonic() - start
        free.set()
    assert seconds < 12
