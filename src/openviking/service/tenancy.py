"""Accounts, users, keys and tasks of a data directory, wired for a server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from openviking.config.settings import UploadSettings
from openviking.ingest.background import Step
from openviking.ingest.fetch.fetcher import Fetcher
from openviking.service.accounts import Accounts
from openviking.service.admin import Admin
from openviking.service.authentication import Mode
from openviking.service.describing import Describing
from openviking.service.embedding import Embedding
from openviking.service.import_step import import_steps
from openviking.service.keys import Keys
from openviking.service.recovery import Recovery
from openviking.service.reindex_work import ReindexWork
from openviking.service.tasks import Tasks
from openviking.service.uploads import Uploads
from openviking.service.user_deletion import UserDeletions
from openviking.service.vector_lane import VectorLane
from openviking.service.worker import Worker
from openviking.store.port import AccountStore
from openviking.store.sqlite.system.store import SqliteSystem

LOOK_S: Final = 30.0
"""How often a worker looks for accounts that another process removed, or left with jobs."""


class Tenancy:
    """Opens what a server needs beneath its use cases; `close` releases it.

    ``hashed`` says how keys are kept, ``workers`` threads do the jobs of the open accounts, those of ``steps`` beside
    imports and deletions; in the ``slow`` ones a model is asked.
    """

    def __init__(
        self,
        path: Path,
        mode: Mode,
        *,
        hashed: bool = True,
        workers: int = 1,
        interval: float = 2.0,
        steps: Mapping[str, Step] | None = None,
        slow: Collection[str] = (),
        embedding: Embedding | None = None,
        fetcher: Fetcher | None = None,
        uploads: UploadSettings | None = None,
        describing: Describing | None = None,
    ) -> None:
        self.system = SqliteSystem(path)
        self.keys = Keys(self.system, hashed=hashed)
        self.accounts = Accounts(
            path,
            introduce=(lambda _: None) if embedding is None else embedding.introduce,
            system=self.system,
            registered_only=mode == "api_key",
        )
        self.uploads = Uploads(self.accounts, settings=uploads)
        self.deletions = UserDeletions(self.accounts, self.system, self.uploads.forget)
        self._closing = threading.Event()
        self._looked = time.monotonic()
        self.recovery = Recovery(self.accounts, self.system, self.keys, self.deletions, self._closing.is_set)
        known = {
            **import_steps(self.uploads, fetcher), **self.uploads.steps(), **ReindexWork(embedding).steps(),
            **self.deletions.steps(), **(steps or {}),
        }  # fmt: skip
        lane = None
        if embedding is not None:
            lane = VectorLane(self.accounts.open_stores, embedding, running=workers > 0, interval=interval)
        self.worker = Worker(self._stores, known, workers, interval, lane, describing, tuple(slow))
        self.admin = Admin(self.accounts, self.worker, self.system, self.keys, self.deletions, mode)
        self.tasks = Tasks(self.accounts, self.worker, self.system if mode == "api_key" else None)
        self._then: Callable[[], None] = lambda: None
        self._recovering = threading.Thread(target=self._recover, name="openviking-recovery", daemon=True)

    def start(self, then: Callable[[], None] = lambda: None) -> None:
        """Make good what earlier processes left, in a thread of its own, which calls ``then`` when all is open."""
        self._then = then
        self._recovering.start()

    def recovered(self) -> bool:
        """Whether what `start` began is done."""
        return self._recovering.ident is not None and not self._recovering.is_alive()

    def close(self) -> None:
        """End background work and close everything; nothing queued is lost."""
        self._closing.set()
        self.worker.stop()
        if self._recovering.ident is not None:
            self._recovering.join()
        self.accounts.close()
        self.system.close()

    def _recover(self) -> None:
        self.recovery.run()
        self.worker.wake()
        self._then()

    def _stores(self) -> list[AccountStore]:
        now = time.monotonic()
        if now - self._looked >= LOOK_S:
            self._looked = now
            self.accounts.release_removed()
            self.recovery.open_hinted()
        return self.accounts.open_stores()
