"""Watching from the embedded door: what an addition asks for, the clock, and imports that have a task."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from openviking.config.settings import FetchSettings
from openviking.errors import InvalidArgumentError
from openviking.ingest.background import Step, Turn
from openviking.model.identity import Identity
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.service.resources import import_target, remote_address, resuming
from openviking.service.running import Running
from openviking.service.task_run import TASK
from openviking.service.watch_additions import import_again
from openviking.service.watch_clock import WatchClock
from openviking.service.watch_requests import WatchRequest
from openviking.service.watch_runs import WatchRuns
from openviking.service.watches import Watches
from openviking.service.worker import Worker
from openviking.store.port import AccountStore


@dataclass(frozen=True, slots=True)
class Asked:
    """What is said of a watch by an addition."""

    path: str | None
    watch_interval: float | None
    reason: str = ""
    instruction: str = ""
    is_active: bool | None = None
    source_name: str | None = None
    strict: bool = False
    include: Any = None
    exclude: Any = None
    ignore_dirs: Any = None
    preserve_structure: bool | None = None
    tags: Any = None
    tag_mode: str = "append"
    args: dict[str, Any] = field(default_factory=dict)


class Watching:
    """The watches of a process that has a store open; ``running`` says whether it looks at sources by itself."""

    def __init__(self, accounts: Accounts, worker: Worker, fetch: FetchSettings, *, running: bool) -> None:
        self._accounts = accounts
        self._fetch = fetch
        runs = WatchRuns(accounts, import_again(accounts, fetch))
        self._clock = WatchClock(accounts.open_accounts, runs.look, worker.wake)
        self.watches = Watches(accounts, worker, runs, self._clock, enabled=fetch.watches)
        if running and fetch.watches:
            self._clock.start()

    def stop(self) -> None:
        """Look no more."""
        self._clock.stop()

    @contextlib.contextmanager
    def addition(
        self, identity: Identity, asked: Asked, to: str | None, parent: str | None, running: Running
    ) -> Iterator[Callable[[str], list[str]]]:
        """Around an addition, which says at its end what it has filled, and is told what to say of its watch; closing waits for both.

        Raises `InvalidArgumentError` for what is on this machine, `ConflictError` if ``to`` is watched otherwise.
        """
        request = WatchRequest.of(asked, enabled=self._fetch.watches)
        if request.interval is None and to is None and not request.ends:
            yield lambda _: []
            return
        if request.interval is not None and remote_address(asked.path) is None:
            raise InvalidArgumentError(
                "Only a URL can be watched: add what is on this machine again when it has changed",
                field="watch_interval",
            )
        store = self._accounts.store(identity)
        root, _ = import_target(identity, store, to, parent, create_parent=True)
        request.check(identity, store, root)

        def watched(root_uri: str) -> list[str]:
            return request.keep(identity, store, resolve(identity, root_uri).path, "")

        with running.call():
            yield watched


def import_work(accounts: Accounts, fetch: FetchSettings) -> dict[str, Step]:
    """The steps of a worker for imports: those with a task are carried out as a server does it, others carried on."""
    resume = resuming(fetch, accounts.path)

    # The network is nothing that a find should have to load.
    def carried_out(kind: str, store: AccountStore, turn: Turn) -> bool:
        from openviking.ingest.fetch.fetcher import Fetcher  # noqa: PLC0415
        from openviking.service.import_step import import_steps  # noqa: PLC0415
        from openviking.service.uploads import Uploads  # noqa: PLC0415

        return import_steps(Uploads(accounts), Fetcher(fetch, accounts.path))[kind](store, turn)

    def imported(store: AccountStore, turn: Turn) -> bool:
        return carried_out("import", store, turn) if TASK in turn.payload else resume(store, turn)

    def over(store: AccountStore, turn: Turn) -> bool:
        return carried_out("import_over", store, turn)

    return {"import": imported, "import_over": over}
