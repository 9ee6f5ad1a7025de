"""What is stored is for the owner's eyes only, whatever the process would give to others."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openviking.store.batch import PutFile
from openviking.store.port import AccountStore

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX"),
    pytest.mark.parametrize("open_store", ["sqlite"], indirect=True),
]


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_only_the_owner_may_read(
    open_store: Callable[[Path], AccountStore], tmp_path: Path, put: Callable[..., PutFile]
) -> None:
    store = open_store(tmp_path / "data" / "accounts" / "me")
    store.apply([put("user/me/memories/a.md", "private"), put("user/me/big.txt", "private\n" * 50_000)])
    made = [tmp_path / "data", *(tmp_path / "data").rglob("*")]
    files = {path.name for path in made if path.is_file()}
    assert {"store.db", "store.db-wal", "store.db-shm"} < files
    assert len(files) == 4
    assert {path.name: mode(path) for path in made} == {path.name: 0o700 if path.is_dir() else 0o600 for path in made}


def test_a_directory_that_is_there_keeps_its_mode(open_store: Callable[[Path], AccountStore], tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(0o750)
    open_store(place)
    assert mode(place) == 0o750
    assert mode(place / "store.db") == 0o600
