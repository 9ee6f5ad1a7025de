"""Everything below the doors of a server, wired: accounts with their users and keys, use cases, background work."""

from __future__ import annotations

import contextlib
from typing import Final, Self

from openviking.config.settings import Settings
from openviking.errors import OpenVikingError
from openviking.ingest.fetch.fetcher import Fetcher
from openviking.model.identity import Identity
from openviking.providers.embedder import Embedder
from openviking.providers.selection import embedder_of
from openviking.service.authentication import Rules
from openviking.service.batch_writing import BatchWriting
from openviking.service.configured import check_models
from openviking.service.describing import Describing
from openviking.service.editing import Editing
from openviking.service.embedding import Embedding
from openviking.service.erasing import Erasing
from openviking.service.extraction import Extraction
from openviking.service.idle_sessions import IdleSessions
from openviking.service.imports import Imports
from openviking.service.observer import Observer, Readiness
from openviking.service.reindex import Reindexing
from openviking.service.running import Running
from openviking.service.sessions import Sessions, session_steps
from openviking.service.skills import Skills
from openviking.service.stats import Stats
from openviking.service.tenancy import Tenancy
from openviking.service.use_cases import UseCases
from openviking.service.watch_additions import import_again
from openviking.service.watch_clock import WatchClock
from openviking.service.watch_runs import WatchRuns
from openviking.service.watches import Watches
from openviking.store.system import Page

JOB_THREADS: Final = 2
"""Threads that do the jobs of a server at least: one account's long import keeps no other's summaries waiting."""

CLOSING_S: Final = 10.0
"""Seconds that closing waits for imports under way to stop."""


class Services:
    """What a server offers; `close` stops background work and releases the data directory, and loses nothing."""

    def __init__(self, settings: Settings, rules: Rules, *, embedder: Embedder | None = None) -> None:
        check_models(settings, given=embedder is not None)
        self.settings = settings
        self.rules = rules
        self.embedding = Embedding(settings.embedding, embedder_of, embedder)
        self.extraction = Extraction(settings.memory, settings.vlm)
        fetcher = Fetcher(settings.fetch, settings.path)
        self.tenancy = Tenancy(
            settings.path,
            rules.mode,
            hashed=settings.server.hashed_keys,
            workers=max(settings.workers, JOB_THREADS) if settings.workers else 0,
            interval=settings.poll_interval,
            embedding=self.embedding,
            steps=session_steps(self.extraction),
            fetcher=fetcher,
            uploads=settings.uploads,
            describing=Describing(settings.vlm),
        )
        self.running = Running()
        cases = UseCases(settings, self.tenancy.accounts, self.tenancy.worker, self.embedding, self.running)
        self._cases = cases
        self.fs, self.content, self.search = cases.fs, cases.content, cases.search
        self.resources, self.system, self.relations = cases.resources, cases.system, cases.relations
        self.context = cases.context
        self.observer = Observer(
            self.tenancy.accounts, self.tenancy.worker, self.embedding, root_sees_all=rules.mode == "api_key"
        )
        self.readiness = Readiness(
            settings.path, self.embedding, lambda: self.tenancy.system.accounts(Page(limit=1)), self.tenancy.recovered
        )
        self.admin, self.tasks, self.keys = self.tenancy.admin, self.tenancy.tasks, self.tenancy.keys
        self.uploads = self.tenancy.uploads
        accounts, worker = self.tenancy.accounts, self.tenancy.worker
        self.idle_sessions = IdleSessions(accounts.open_accounts, worker.wake, settings.sessions)
        self.sessions = Sessions(accounts, worker, settings.sessions, self.idle_sessions.clock.expect, self.extraction)
        self.stats = Stats(accounts)
        self.skills = Skills(accounts, worker, self.search, self.uploads)
        self.imports = Imports(
            accounts, worker, self.running, self.tasks, self.uploads, fetcher, watching=settings.fetch.watches
        )
        runs = WatchRuns(accounts, import_again(accounts, settings.fetch))
        self.watch_clock = WatchClock(accounts.open_accounts, runs.look, worker.wake)
        self.watches = Watches(accounts, worker, runs, self.watch_clock, enabled=settings.fetch.watches)
        self.erasing = Erasing(accounts, worker, self.tasks)
        self.reindexing = Reindexing(accounts, worker, self.running, self.tasks)
        self.batches = BatchWriting(accounts, worker)
        self.editing = Editing(accounts, worker)

    def start(self) -> Self:
        """Make good what earlier processes left, in the background."""
        self.tenancy.start(self._look_at_clocks)
        if self.settings.workers and self.settings.fetch.watches:
            self.watch_clock.start()
        if self.settings.workers:
            self.idle_sessions.start()
        return self

    def _look_at_clocks(self) -> None:
        """The clocks may have looked, and gone to sleep, before the accounts of earlier processes were open."""
        self.watch_clock.wake()
        self.idle_sessions.clock.wake()

    def begin_to_stop(self) -> None:
        """Have calls that wait for background work end; others go on until `close`."""
        self.watch_clock.stop()
        self.idle_sessions.stop()
        self.tenancy.worker.stop()

    def stopping(self) -> bool:
        """Whether `begin_to_stop` or `close` was called."""
        return self.tenancy.worker.stopping()

    def check_caller(self, identity: Identity) -> None:
        """Raises what a call is told that was under way when its account or user was removed; nothing if they are there."""
        self.tenancy.accounts.check(identity)

    def close(self) -> None:
        """Stop background work and release everything; nothing queued is lost."""
        self.watch_clock.stop()
        self.idle_sessions.stop()
        self.tenancy.worker.stop()
        self.running.wait(CLOSING_S)
        self._cases.close()
        self.extraction.close()
        if self.embedding.enabled:
            for store in self.tenancy.accounts.open_stores():
                with contextlib.suppress(OpenVikingError):
                    store.vectors.keep_cache()
        self.tenancy.close()
        self.embedding.close()
