"""Invariant 1, for vectors: ``kill -9`` while they are made loses none, and nothing is made twice for long."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stubs.models import StubModels

from openviking import OpenViking
from openviking.clock import now_ms
from openviking.store.sqlite import vectors as store_vectors
from openviking.store.vectors import LEASE_MS

ROOT = "viking://resources/docs"


@pytest.fixture
def stub() -> Iterator[StubModels]:
    with StubModels(dimension=64) as running:
        running.behave(delay=0.05)
        yield running


@pytest.fixture
def config(stub: StubModels, tmp_path: Path) -> Path:
    dense = {"provider": "openai", "model": "stub", "api_base": stub.url, "dimension": 64, "batch_size": 4}
    path = tmp_path / "ov.conf"
    path.write_text(json.dumps({"embedding": {"dense": dense, "max_concurrent": 1}}))
    return path


def folder(tmp_path: Path, count: int) -> Path:
    for number in range(count):
        file = tmp_path / "docs" / f"d{number % 7}" / f"f{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Page {number}\n\nword{number} lives here\n")
    return tmp_path / "docs"


def assert_all_there(place: Path, config: Path, stub: StubModels, count: int) -> None:
    with OpenViking(place, config=config, workers=0) as ov:
        status = ov.wait_processed(60)
        assert (status["waiting"], status["failed"], status["files"]) == ({}, [], count)
        assert status["embedding"]["have"] == status["embedding"]["of"] >= count
        assert ov.check() == []
        for number in range(0, count, 9):
            found = ov.find(f"word{number}", ROOT, level=2, limit=1)
            assert (found.hits[0].uri, found.degraded) == (f"{ROOT}/d{number % 7}/f{number}.md", ())
            assert found.vectors.have == found.vectors.of == count
    sent = Counter(text for text in stub.inputs if text.startswith("Page"))
    assert len(sent) == count
    assert max(sent.values()) <= 2, sent.most_common(3)


@pytest.mark.slow
@pytest.mark.cpu_budget(8)
def test_no_vector_is_lost_with_the_process_that_makes_it(
    place: Path,
    start: Callable[..., Any],
    config: Path,
    stub: StubModels,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    docs = folder(tmp_path, 60)
    for calls in (2, 5):
        writer = start(workers=1, config=config)
        writer.call("add_resource", str(docs))
        begun = len(stub.calls)
        stub.wait(lambda one, enough=begun + calls: len(one.calls) >= enough)  # type: ignore[misc]
        writer.kill()
        while writer.answer() is not None:
            pass
    # What the killed processes had claimed is free again when its lease has run out.
    monkeypatch.setattr(store_vectors, "now_ms", lambda: now_ms() + LEASE_MS)
    assert_all_there(place, config, stub, 60)


@pytest.mark.slow
def test_two_processes_share_the_work(
    place: Path, start: Callable[..., Any], config: Path, stub: StubModels, tmp_path: Path
) -> None:
    docs = folder(tmp_path, 60)
    others = [start(workers=1, config=config) for _ in range(2)]
    others[0].call("add_resource", str(docs))
    for other in others:
        other.send("wait_processed", 60)
    for other in others:
        answered = other.answer()
        assert answered is not None
        assert answered["ok"]["waiting"] == {}
    assert_all_there(place, config, stub, 60)
    assert max(Counter(text for text in stub.inputs if text.startswith("Page")).values()) == 1


@pytest.mark.slow
def test_no_vector_is_lost_with_processes_killed_at_any_time(
    place: Path, start: Callable[..., Any], config: Path, stub: StubModels, tmp_path: Path
) -> None:
    docs = folder(tmp_path, 300)
    for seconds in (0.5, 2.0, 5.0):
        writer = start(workers=1, config=config)
        writer.send("add_resource", str(docs))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass
        writer.kill()
        while writer.answer() is not None:
            pass
    with OpenViking(place, config=config, workers=0) as ov:
        ov.wait_processed(120)
        ov.add_resource(docs, wait=True, timeout=120)
    assert_all_there(place, config, stub, 300)
