"""Doors to a real store: for one caller, and below it the use cases that take the caller's identity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from openviking import OpenViking
from openviking.ingest.prepare import prepare
from openviking.service.accounts import Accounts
from openviking.service.content import Content
from openviking.service.fs import FileSystem
from openviking.service.search import Search
from openviking.service.worker import Worker
from openviking.store.batch import PutFile


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The data directory."""
    return tmp_path / "data"


@pytest.fixture
def ov(place: Path) -> Iterator[OpenViking]:
    """The embedded door, without background work."""
    with OpenViking(place, workers=0) as door:
        yield door


@pytest.fixture
def services(place: Path) -> Iterator[SimpleNamespace]:
    """``accounts``, ``worker``, ``fs``, ``content`` and ``search``."""
    accounts = Accounts(place)
    worker = Worker(accounts.open_stores, {}, 0, 1.0)
    yield SimpleNamespace(
        accounts=accounts,
        worker=worker,
        fs=FileSystem(accounts, worker),
        content=Content(accounts, worker),
        search=Search(accounts, grep_timeout=1.0),
    )
    worker.stop()
    accounts.close()


@pytest.fixture
def fill() -> Callable[[OpenViking, Mapping[str, str | bytes]], None]:
    """Puts many files into a store at once: texts or bytes by path."""

    def filling(door: OpenViking, files: Mapping[str, str | bytes]) -> None:
        contents = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
        door._accounts.store(door._identity).apply(
            [PutFile(path, prepare(path.rpartition("/")[2], data)) for path, data in contents.items()]
        )

    return filling
