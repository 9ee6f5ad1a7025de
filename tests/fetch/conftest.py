"""A web server that does what a test wants, and doors that may reach it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.stubs.web import WebServer

from openviking.config.settings import FetchSettings
from openviking.ingest.fetch.addresses import Addresses
from openviking.ingest.fetch.client import Client
from openviking.ingest.fetch.resolver import Gate, Resolver, SystemResolver

PATIENCE_S = 60.0


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        yield server


@pytest.fixture
def client() -> Callable[..., Client]:
    """``client(resolver, allowed_hosts=…)``: a client that may reach loopback and is quick to give up."""

    def made(resolver: Resolver | None = None, **settings: object) -> Client:
        told = {"allow_private": True, "timeout": 5.0, "idle_timeout": 2.0, "max_retries": 0, **settings}
        fetch = FetchSettings(**told)  # type: ignore[arg-type]
        addresses = Addresses.of(fetch.allow_private, fetch.allowed_hosts)
        names = frozenset(one for one in fetch.allowed_hosts if not one[:1].isdigit())
        return Client(fetch, Gate(addresses, names, resolver or SystemResolver()))

    return made


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Waits for a condition."""

    def waiting(condition: Callable[[], object]) -> None:
        look = threading.Event()
        for _ in range(int(PATIENCE_S / 0.02)):
            if condition():
                return
            look.wait(0.02)
        pytest.fail("what was waited for did not come")

    return waiting


class Work:
    """A repository that is written to, and pushed to a bare one which is served."""

    def __init__(self, place: Path) -> None:
        self.tree = place / "work"
        self.bare = place / "served" / "repo.git"
        self.tree.mkdir()
        self.git("init", "--quiet", "-b", "main")
        subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", str(self.bare)], check=True)

    def git(self, *arguments: str) -> str:
        told = ["-c", "user.email=a@example.org", "-c", "user.name=A", "-c", "core.hooksPath=/dev/null"]
        done = subprocess.run(["git", *told, *arguments], cwd=self.tree, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, files: dict[str, str | None], branch: str = "main") -> str:
        """Commit these files (None: removed); the commit's id."""
        for name, text in files.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "-m", "x")
        self.push(f"HEAD:refs/heads/{branch}")
        return self.git("rev-parse", "HEAD")

    def push(self, what: str) -> None:
        self.git("push", "--quiet", str(self.bare), what)
        subprocess.run(["git", "update-server-info"], cwd=self.bare, check=True)


@pytest.fixture
def repo(tmp_path: Path, web: WebServer) -> Work:
    work = Work(tmp_path)
    web.repositories["repo.git"] = work.bare
    return work
