"""Sessions on a real store, without background work but when a test asks for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openviking.model.identity import Identity
from openviking.service.accounts import Accounts
from openviking.service.content import Content
from openviking.service.fs import FileSystem
from openviking.service.search import Search
from openviking.service.sessions import Sessions, session_steps
from openviking.service.tasks import Tasks
from openviking.service.worker import Worker
from openviking.store.port import AccountStore

ALICE = Identity("acme", "alice", "user")


class Desk:
    """The use cases that have to do with conversations."""

    def __init__(self, place: Path) -> None:
        self.accounts = Accounts(place)
        self.worker = Worker(self.accounts.open_stores, session_steps(), 0, 1.0)
        self.sessions = Sessions(self.accounts, self.worker)
        self.tasks = Tasks(self.accounts, self.worker)
        self.fs = FileSystem(self.accounts, self.worker)
        self.content = Content(self.accounts, self.worker)
        self.search = Search(self.accounts, grep_timeout=1.0)

    @property
    def store(self) -> AccountStore:
        return self.accounts.store(ALICE)

    def work(self) -> None:
        """Do everything that is queued."""
        self.worker.drain(self.store, 60)

    def say(self, session: str, *texts: str, role: str = "user", **fields: Any) -> dict[str, Any]:
        return self.sessions.add(ALICE, session, [{"role": role, "content": text, **fields} for text in texts])

    def texts(self, session: str) -> list[str]:
        """What the messages of the context say."""
        shown = self.sessions.context(ALICE, session, 1 << 40)["messages"]
        return [message["parts"][0]["text"] for message in shown]

    def texts_live(self, session: str) -> list[str]:
        """What the messages say that are in no archive."""
        return [one.message.text for one in self.store.sessions.live(f"user/alice/sessions/{session}")]

    def archived(self, session: str, number: int) -> list[str]:
        messages = self.sessions.archive(ALICE, session, f"archive_{number:03d}")["messages"]
        return [message["parts"][0]["text"] for message in messages]

    def close(self) -> None:
        self.worker.stop()
        self.accounts.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The data directory."""
    return tmp_path / "data"


@pytest.fixture
def open_desk(place: Path) -> Iterator[Callable[[], Desk]]:
    """Opens the data directory; what is left open is closed at the end."""
    opened: list[Desk] = []

    def opening() -> Desk:
        opened.append(Desk(place))
        return opened[-1]

    yield opening
    for desk in opened:
        desk.close()


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Waits for a condition."""

    def waiting(condition: Callable[[], object]) -> None:
        look = threading.Event()
        for _ in range(3_000):
            if condition():
                return
            look.wait(0.02)
        pytest.fail("what was waited for did not come")

    return waiting


@pytest.fixture
def desk(open_desk: Callable[[], Desk]) -> Desk:
    return open_desk()
