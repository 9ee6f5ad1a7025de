"""A store whose time the test sets, and sources of ordinary text that a look reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openviking.clock import now_ms
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.task import NewTask
from openviking.model.watch import MINUTE_MS, NewWatch, Watch
from openviking.service.task_run import with_task
from openviking.store.batch import MakeDirectory, PutFile
from openviking.store.jobs import NewJob
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.tasks import SqliteTasks
from openviking.store.sqlite.watches import SqliteWatches

HOUR = 60 * MINUTE_MS
SOURCE = "https://example.org/handbook"


class Clock:
    """Milliseconds since the epoch: those of the machine, and what a test puts on top."""

    def __init__(self) -> None:
        self.ahead = 0

    def __call__(self) -> int:
        return now_ms() + self.ahead

    def pass_by(self, milliseconds: int) -> None:
        self.ahead += milliseconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "store", PathAnalyser())
    opened._tasks = SqliteTasks(opened._connections, clock)
    opened._watches = SqliteWatches(opened._connections, clock)
    opened.apply([MakeDirectory("resources/handbook"), MakeDirectory("resources/other/deep")])
    yield opened
    assert opened.check() == []
    opened.close()


@pytest.fixture
def watch(store: SqliteStore) -> Callable[..., Watch]:
    """``watch(path, **fields)`` of the user ane, each hour."""

    def made(path: str = "resources/handbook", **fields: Any) -> Watch:
        values = {"owner": "ane", "role": "user", "location": SOURCE, "interval": HOUR, **fields}
        return store.watches.put(NewWatch(path, **values))

    return made


@pytest.fixture
def put() -> Callable[..., PutFile]:
    """``put(path, text)``: the operation that writes a file."""
    return lambda path, text: PutFile(path, prepare(path.rpartition("/")[2], text.encode()))


@pytest.fixture
def job() -> Callable[[str], NewJob]:
    """A job with a task of the user ane."""

    def made(key: str = "1", owner: str = "ane") -> NewJob:
        return with_task(NewJob("look", key, {}), NewTask("add_resource", owner, "viking://resources/handbook"))

    return made
