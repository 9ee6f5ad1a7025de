"""Users with keys who watch a site, with a clock that the test sets forward and no threads."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from openviking.errors import OpenVikingError
from openviking.ingest.background import Turn
from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.model.task import NewTask
from openviking.model.watch import Watch
from openviking.service.fs import FileSystem
from openviking.service.task_run import TaskRun, tracked, with_task
from openviking.service.tenancy import Tenancy
from openviking.service.watch_clock import WatchClock
from openviking.service.watch_requests import WatchRequest
from openviking.service.watch_runs import WatchRuns
from openviking.service.watches import Watches
from openviking.store.batch import PutFile
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.tasks import SqliteTasks
from openviking.store.sqlite.watches import SqliteWatches

ROOT = Identity("default", "default", "root")
SOURCE = "https://example.org/handbook"


@dataclasses.dataclass(frozen=True)
class Added:
    """As much of an addition as its watch is about."""

    path: str | None = SOURCE
    watch_interval: Any = 60.0
    is_active: bool | None = None
    reason: str = "r"
    instruction: str = "i"
    source_name: str | None = None
    strict: bool = False
    include: str | None = None
    exclude: str | None = None
    ignore_dirs: str | None = None
    preserve_structure: bool | None = None
    tags: Any = None
    tag_mode: str = "replace"
    args: Any = dataclasses.field(default_factory=dict)


class Site:
    """What stands at the watched address: text that each look stores as one file, or an error that it meets."""

    def __init__(self) -> None:
        self.text = "first"
        self.error: OpenVikingError | None = None
        self.refusal: OpenVikingError | None = None
        self.asked: list[tuple[Identity, str, bool]] = []

    def again(self, identity: Identity, watch: Watch, internal: bool) -> NewJob:
        if self.refusal is not None:
            raise self.refusal
        self.asked.append((identity, watch.uri, internal))
        task = NewTask("add_resource", identity.user, watch.uri, internal=internal)
        return with_task(NewJob("look", task.id, {"path": watch.path}), task)

    def step(self, store: AccountStore, turn: Turn, run: TaskRun) -> dict[str, Any]:
        run.stage("fetching")
        if self.error is not None:
            raise self.error
        store.apply([PutFile(turn.payload["path"] + "/page.md", prepare("page.md", self.text.encode()))])
        return {}


class World:
    """The services beneath a server that watches, with a clock that the test sets forward."""

    def __init__(self, place: Path, clock: Any, **options: Any) -> None:
        self.clock = clock
        self.site = Site()
        self.tenancy = Tenancy(
            place, **{"mode": "api_key", "workers": 0, "steps": {"look": tracked(self.site.step)}, **options}
        )
        self.accounts = self.tenancy.accounts
        self.runs = WatchRuns(self.accounts, self.site.again)
        self.ticks = WatchClock(self._stores, self.runs.look, self.tenancy.worker.wake, clock)
        self.watches = Watches(self.accounts, self.tenancy.worker, self.runs, self.ticks)
        self.fs = FileSystem(self.accounts, self.tenancy.worker)

    def _stores(self) -> list[tuple[str, AccountStore]]:
        return [(name, self.timed(store)) for name, store in self.accounts.open_accounts()]

    def timed(self, store: Any) -> Any:
        if isinstance(store, SqliteStore) and store.watches._clock is not self.clock:
            store._watches = SqliteWatches(store._connections, self.clock)
            store._tasks = SqliteTasks(store._connections, self.clock)
        return store

    def user(self, name: str = "ane", **options: Any) -> Identity:
        if name == "ane":
            made = self.tenancy.admin.create_account(ROOT, "acme", name)
        else:
            made = self.tenancy.admin.register_user(ROOT, "acme", name, **options)
        return self.tenancy.keys.identify(made["user_key"])

    def add(self, who: Identity, at: str = "resources/handbook", /, **fields: Any) -> str:
        """Add a watched source, whose first look is done already; the id of the watch."""
        store = self.timed(self.accounts.store(who))
        request = WatchRequest.of(Added(**fields))
        request.check(who, store, at)
        store.apply([PutFile(f"{at}/page.md", prepare("page.md", self.site.text.encode()))])
        request.keep(who, store, at, "")
        kept = store.watches.at(at, None)
        return kept.id if kept is not None and request.interval is not None else ""

    def tick(self) -> float:
        wait = self.ticks.tick()
        for _, store in self._stores():
            while self.tenancy.worker.work(store):
                pass
        return wait

    def text(self, who: Identity, path: str = "resources/handbook") -> str:
        with self.accounts.store(who).read() as view:
            node = view.get(f"{path}/page.md")
            assert node is not None
            return view.text(node) or ""
