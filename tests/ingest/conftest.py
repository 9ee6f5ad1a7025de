"""A real store for every test, and short ways to look into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openviking.ingest.prepare import PathAnalyser
from openviking.store.sqlite.account import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Generator[SqliteStore, None, None]:
    """An empty store, checked for inconsistencies at the end."""
    opened = SqliteStore(tmp_path / "data", PathAnalyser())
    yield opened
    assert opened.check() == []
    opened.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to import."""
    path = tmp_path / "docs"
    path.mkdir()
    return path
