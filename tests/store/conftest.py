"""Every store behind the port, one after the other, and operations that are ready to be applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.node import Node
from openviking.store.batch import PutFile
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore

STORES: dict[str, Callable[[Path], AccountStore]] = {"sqlite": lambda place: SqliteStore(place, PathAnalyser())}


@pytest.fixture(params=sorted(STORES))
def open_store(request: pytest.FixtureRequest) -> Iterator[Callable[[Path], AccountStore]]:
    """Opens a store of the kind under test at a place; all are closed at the end."""
    opened: list[AccountStore] = []

    def opening(place: Path) -> AccountStore:
        opened.append(STORES[request.param](place))
        return opened[-1]

    yield opening
    for one in opened:
        one.close()


@pytest.fixture
def store(open_store: Callable[[Path], AccountStore], tmp_path: Path) -> AccountStore:
    return open_store(tmp_path / "store")


@pytest.fixture
def put() -> Callable[..., PutFile]:
    """``put(path, content, **fields of PutFile)`` with everything derived as an import would."""

    def putting(path: str, content: str | bytes = "", **fields: object) -> PutFile:
        data = content.encode() if isinstance(content, str) else content
        return PutFile(path, prepare(path.rpartition("/")[2], data), **fields)  # type: ignore[arg-type]

    return putting


@pytest.fixture
def node(store: AccountStore) -> Callable[[str], Node]:
    """The node at a path, which must exist."""

    def found(path: str) -> Node:
        with store.read() as view:
            there = view.get(path)
        assert there is not None, path
        return there

    return found


@pytest.fixture
def listed(store: AccountStore) -> Callable[..., list[str]]:
    """The paths that a walk gives."""

    def walk(path: str = "", **conditions: object) -> list[str]:
        with store.read() as view:
            return [entry.node.path for entry in view.walk(path, **conditions)]  # type: ignore[arg-type]

    return walk
