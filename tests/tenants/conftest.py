"""A data directory with accounts and users, in this process and in others."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openviking.model.identity import Identity
from openviking.service.content import Content
from openviking.service.fs import FileSystem
from openviking.service.tenancy import Tenancy

PROGRAM = Path(__file__).with_name("tenant_process.py")
SOURCES = Path(__file__).resolve().parents[2] / "src"
PATIENCE_S = 60.0

ROOT = Identity(account="default", user="default", role="root")


class Server:
    """What a server has beneath its routes, in this process."""

    def __init__(self, place: Path, **options: Any) -> None:
        self.tenancy = Tenancy(place, **{"mode": "api_key", "workers": 0, **options})
        self.content = Content(self.tenancy.accounts, self.tenancy.worker)
        self.fs = FileSystem(self.tenancy.accounts, self.tenancy.worker)

    def who(self, key: str) -> Identity:
        return self.tenancy.keys.identify(key)

    def account(self, name: str, admin: str = "boss", **options: Any) -> str:
        """The key of the admin of a new account."""
        return str(self.tenancy.admin.create_account(ROOT, name, admin, **options)["user_key"])

    def user(self, account: str, name: str, **options: Any) -> str:
        """The key of a new user."""
        return str(self.tenancy.admin.register_user(ROOT, account, name, **options)["user_key"])

    def work(self, account: str) -> None:
        """Do everything that is queued in an account."""
        self.tenancy.worker.drain(self.tenancy.accounts.of(account), PATIENCE_S)


class Remote:
    """The same in another process, which does what it is told."""

    def __init__(self, place: Path, workers: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(place), str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
        )
        assert self._process.stdin
        assert self._process.stdout
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._rest = b""
        assert self.answer() == {"ok": "open"}

    def send(self, who: str, name: str, *args: Any, **kwargs: Any) -> None:
        """Ask for a call of the owner of a key ("root": of the root key) and do not wait for it."""
        os.write(self._in, json.dumps([who, name, args, kwargs]).encode() + b"\n")

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

    def call(self, who: str, name: str, *args: Any, **kwargs: Any) -> Any:
        """The result of a call; an error is given as its code."""
        self.send(who, name, *args, **kwargs)
        answered = self.answer()
        assert answered is not None
        return answered.get("ok", answered.get("error"))

    def kill(self) -> None:
        """End the process at once, with no chance to clean up."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

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
def serve(place: Path) -> Iterator[Callable[..., Server]]:
    """``serve(mode=…, hashed=…, workers=…)`` on the same directory; closed at the end."""
    opened: list[Server] = []

    def serving(**options: Any) -> Server:
        opened.append(Server(place, **options))
        return opened[-1]

    yield serving
    for one in opened:
        one.tenancy.close()


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """With keys, and without background work."""
    return serve()


@pytest.fixture
def start(place: Path) -> Iterator[Callable[..., Remote]]:
    """Starts another process on the same directory."""
    started: list[Remote] = []

    def starting(workers: int = 0) -> Remote:
        started.append(Remote(place, workers))
        return started[-1]

    yield starting
    for remote in started:
        remote.close()


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Waits for a condition."""

    def waiting(condition: Callable[[], object]) -> None:
        look = threading.Event()
        for _ in range(int(PATIENCE_S / 0.01)):
            if condition():
                return
            look.wait(0.01)
        pytest.fail("what was waited for did not come")

    return waiting
