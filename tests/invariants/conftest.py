"""Doors to real stores: for one caller, for several, and in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from openviking import OpenViking
from openviking.ingest.prepare import prepare
from openviking.service.accounts import Accounts
from openviking.service.content import Content
from openviking.service.fs import FileSystem
from openviking.service.search import Search
from openviking.service.worker import Worker
from openviking.store.batch import PutFile

PROGRAM = Path(__file__).with_name("remote_process.py")
SOURCES = Path(__file__).resolve().parents[2] / "src"
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Services:
    """The use cases below the doors, which take the caller's identity."""

    accounts: Accounts
    worker: Worker
    fs: FileSystem
    content: Content
    search: Search


class Remote:
    """Another process that does what it is told; killed at the latest at the end of the test."""

    def __init__(self, place: Path, workers: int, config: Path | None = None) -> None:
        named = {"OPENVIKING_CONFIG_FILE": str(config)} if config else {}
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(place), str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCES), **named},
        )
        assert self._process.stdin
        assert self._process.stdout
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._rest = b""

    def send(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Ask for a call and do not wait for it."""
        os.write(self._in, json.dumps([name, args, kwargs]).encode() + b"\n")

    def answer(self) -> dict[str, Any] | None:
        """The next answer, None when the process has ended."""
        while b"\n" not in self._rest:
            readable, _, _ = select.select([self._out], [], [], PATIENCE_S)
            assert readable, "the other process does not answer"
            piece = os.read(self._out, 65_536)
            if not piece:
                return None
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        answered: dict[str, Any] = json.loads(line)
        return answered

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The result of a call; an error is given as its code."""
        self.send(name, *args, **kwargs)
        answered = self.answer()
        assert answered is not None
        return answered.get("ok", answered.get("error"))

    def kill(self) -> None:
        """End the process at once, with no chance to clean up."""
        self._process.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Kill the process and release its pipes."""
        with contextlib.suppress(ProcessLookupError):
            self.kill()
        with contextlib.suppress(OSError), self._process:
            pass


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def ov(place: Path) -> Iterator[OpenViking]:
    """The embedded door, without background work: what is right must be right before any job ran."""
    with OpenViking(place, workers=0) as door:
        yield door


@pytest.fixture
def start(place: Path) -> Iterator[Callable[..., Remote]]:
    """Starts another process on the same store, with an ov.conf if one is given; it says that it is open first of all."""
    started: list[Remote] = []

    def starting(*, workers: int = 0, wait: bool = True, config: Path | None = None) -> Remote:
        remote = Remote(place, workers, config)
        started.append(remote)
        if wait:
            assert remote.answer() == {"ok": "open"}
        return remote

    yield starting
    for remote in started:
        remote.close()


@pytest.fixture
def services(place: Path) -> Iterator[Services]:
    accounts = Accounts(place)
    worker = Worker(accounts.open_stores, {}, 0, 1.0)
    yield Services(
        accounts, worker, FileSystem(accounts, worker), Content(accounts, worker), Search(accounts, grep_timeout=1.0)
    )
    worker.stop()
    accounts.close()


@pytest.fixture
def fill() -> Callable[[OpenViking, Mapping[str, str]], None]:
    """Puts many files into a store at once, as an import does: texts by path."""

    def filling(door: OpenViking, files: Mapping[str, str]) -> None:
        store = door._accounts.store(door._identity)
        store.apply([PutFile(path, prepare(path.rpartition("/")[2], text.encode())) for path, text in files.items()])

    return filling
