"""Conversations on a real store, and a chat model that does as its script says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stubs.scripted import Script, Scripted

from openviking.config.settings import ChatSettings, MemorySettings
from openviking.model.identity import Identity
from openviking.service.accounts import Accounts
from openviking.service.content import Content
from openviking.service.extraction import Extraction
from openviking.service.fs import FileSystem
from openviking.service.search import Search
from openviking.service.sessions import Sessions, session_steps
from openviking.service.stats import Stats
from openviking.service.tasks import Tasks
from openviking.service.worker import Worker
from openviking.session.commit import KIND
from openviking.store.port import AccountStore

ALICE = Identity("acme", "alice", "user")
HOME = "viking://user/alice"


class Desk:
    """The use cases that have to do with memories; ``extraction`` finds them."""

    def __init__(self, place: Path, extraction: Extraction | None = None) -> None:
        self.place = place
        self.extraction = extraction or Extraction()
        self.accounts = Accounts(place)
        self.worker = Worker(self.accounts.open_stores, session_steps(self.extraction), 0, 1.0)
        self.sessions = Sessions(self.accounts, self.worker, extraction=self.extraction)
        self.tasks = Tasks(self.accounts, self.worker)
        self.fs = FileSystem(self.accounts, self.worker)
        self.content = Content(self.accounts, self.worker)
        self.search = Search(self.accounts, grep_timeout=1.0)
        self.stats = Stats(self.accounts)

    @property
    def store(self) -> AccountStore:
        return self.accounts.store(ALICE)

    def say(self, session: str, *texts: str, role: str = "user", **fields: Any) -> list[str]:
        """The ids of the messages."""
        sent = [{"role": role, "content": text, **fields} for text in texts]
        ids: list[str] = self.sessions.add(ALICE, session, sent)["message_ids"]
        return ids

    def commit(self, session: str, **options: Any) -> dict[str, Any]:
        """Commit and finish; the task's result with ``task_id`` and ``archive_id``."""
        done = self.sessions.commit(ALICE, session, **options)
        # What follows the writes is not waited for: nothing here looks at directories. An attempt that failed is.
        while self.store.jobs.waiting().get(KIND):
            if not self.worker.work(self.store, due_only=False, kinds=(KIND,)):
                self.work()
        task = self.tasks.get(ALICE, done["task_id"])
        assert task["status"] == "completed", task
        return {**task["result"], "task_id": done["task_id"], "archive_id": done["archive_uri"].rpartition("/")[2]}

    def work(self) -> None:
        """Do everything that is queued."""
        self.worker.drain(self.store, 60)

    def memories(self, peer: str = "", events: bool = False) -> dict[str, str]:
        """What readers see of each memory, by its path below ``memories``; events only if asked for."""
        root = f"user/alice/peers/{peer}/memories" if peer else "user/alice/memories"
        with self.store.read() as view:
            paths = (
                [one.node.path for one in view.walk(root, files_only=True, hidden_files=False)]
                if view.get(root)
                else []
            )
        return {
            path.removeprefix(f"{root}/"): self.content.read(ALICE, f"viking://{path}").rstrip()
            for path in paths
            if events or not path.startswith(f"{root}/events/")
        }

    def diff(self, session: str, archive: str = "archive_001") -> dict[str, Any]:
        told: dict[str, Any] = json.loads(
            self.content.read(ALICE, f"{HOME}/sessions/{session}/history/{archive}/memory_diff.json")
        )
        return told

    def close(self) -> None:
        self.worker.stop()
        self.extraction.close()
        self.accounts.close()


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory in which nothing was said yet: to copy one is cheaper than to make one."""
    desk = Desk(tmp_path_factory.mktemp("memories") / "data")
    desk.work()
    desk.close()
    return desk.place


@pytest.fixture
def place(tmp_path: Path, empty: Path) -> Path:
    """The data directory."""
    return Path(shutil.copytree(empty, tmp_path / "data"))


@pytest.fixture
def open_desk(place: Path) -> Iterator[Callable[..., Desk]]:
    """Opens the data directory; what is left open is closed at the end."""
    opened: list[Desk] = []

    def opening(extraction: Extraction | None = None) -> Desk:
        opened.append(Desk(place, extraction))
        return opened[-1]

    yield opening
    for desk in opened:
        desk.close()


@pytest.fixture
def desk(open_desk: Callable[..., Desk]) -> Desk:
    """Without any model."""
    return open_desk()


@pytest.fixture(scope="session")
def running() -> Iterator[Scripted]:
    with Scripted() as stub:
        yield stub


@pytest.fixture
def stub(running: Scripted) -> Iterator[Scripted]:
    running.behave()
    yield running
    running.behave()


def extraction_of(stub: Scripted, **memory: Any) -> Extraction:
    """With the scripted model, which has half a second for an answer unless told."""
    settings = MemorySettings(**{"extraction_timeout": 0.5, **memory})
    return Extraction(settings, ChatSettings(model="m", api_base=stub.chat_url))


@pytest.fixture
def with_model(open_desk: Callable[..., Desk], stub: Scripted) -> Desk:
    return open_desk(extraction_of(stub))


def answers(stub: Scripted, *memories: dict[str, Any], **others: Any) -> None:
    """From now on the model says this."""
    stub.behave(Script(reply=json.dumps({"memories": list(memories), **others}, ensure_ascii=False)))
