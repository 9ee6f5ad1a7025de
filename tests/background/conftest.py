"""A store of its own for every test, and a worker without threads to do its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openviking.ingest.background import Step
from openviking.ingest.prepare import PathAnalyser
from openviking.service.worker import Worker
from openviking.store.sqlite.account import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "data" / "accounts" / "default", PathAnalyser())
    yield opened
    assert opened.check() == []
    opened.close()


@pytest.fixture
def worker(store: SqliteStore) -> Iterator[Callable[..., Worker]]:
    """``worker(threads, kind=step, …)``; stopped at the end."""
    made: list[Worker] = []

    def making(threads: int = 0, **steps: Step) -> Worker:
        made.append(Worker(lambda: [store], steps, threads, 60.0))
        return made[-1]

    yield making
    for one in made:
        one.stop()
