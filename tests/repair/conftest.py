"""A store with something in every table, and the audit and the reindex of a server on it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stubs.embedders import HashEmbedder

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.model.identity import Identity
from openviking.service.authentication import Rules
from openviking.service.services import Services

ROOT = Identity("default", "default", "root")
LARGE = "line of a large file\n" * 20_000


class House:
    """A data directory with its services, background work only when a test asks for it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.embedder = HashEmbedder(batch=64)
        settings = Settings(path=place, workers=0, embedding=EmbeddingSettings(provider="none"))
        self.services = Services(settings, Rules.of(None, None, "127.0.0.1"), embedder=self.embedder)
        self.store = self.services.tenancy.accounts.store(ROOT)

    @property
    def directory(self) -> Path:
        [database] = self.place.glob("accounts/*/store.db")
        return database.parent

    def write(self, uri: str, text: str) -> None:
        self.services.content.write(ROOT, uri, text, "create")

    def work(self) -> None:
        self.services.tenancy.worker.drain(self.store, 60)

    def alter(self, sql: str) -> None:
        connection = sqlite3.connect(self.directory / "store.db")
        connection.create_function("context_type", 1, str)
        connection.create_function("owner", 1, str)
        assert connection.execute(sql).rowcount
        connection.commit()
        connection.close()

    def audit(self, uri: str = "viking://", **options: Any) -> dict[str, Any]:
        return self.services.system.consistency(ROOT, uri, **options)

    def reindex(self, uri: str = "viking://", mode: str = "vectors_only", **options: Any) -> dict[str, Any]:
        return self.services.reindexing.start(ROOT, uri, mode, timeout=60, **options)

    def close(self) -> None:
        self.services.close()


def fill(house: House) -> None:
    """Files of all sizes, tags, sessions with an archive, a source, and their vectors."""
    house.write("viking://resources/a.md", "# Alpha\n\n" + "alpha beta words of a passage\n" * 60)
    house.write("viking://resources/d/b.md", "gamma")
    house.write("viking://resources/d/e/c.md", "delta")
    house.write("viking://resources/d/large.txt", LARGE)
    house.services.fs.set_tags(ROOT, "viking://resources/a.md", ["k=v"])
    talks = house.services.sessions
    talks.add(ROOT, "talk", [{"role": "user", "content": f"said {number}"} for number in range(3)])
    talks.commit(ROOT, "talk", keep_recent_count=1)
    house.work()


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a filled and closed store, to be copied."""
    house = House(tmp_path_factory.mktemp("repair") / "data")
    fill(house)
    house.close()
    return house.place


@pytest.fixture
def house(filled: Path, tmp_path: Path) -> Iterator[House]:
    """A store of one's own that is whole."""
    place = tmp_path / "data"
    shutil.copytree(filled, place)
    made = House(place)
    yield made
    made.close()
