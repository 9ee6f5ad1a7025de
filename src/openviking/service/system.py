"""Waiting for queued work, the state of an account, and its audit (contract/core.md §3.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openviking.ingest.prepare import PREPARED
from openviking.model.identity import Identity
from openviking.service.accounts import Accounts
from openviking.service.worker import Worker, time_limit


class System:
    """What is done, what is waiting, and whether all is well."""

    def __init__(self, accounts: Accounts, worker: Worker) -> None:
        self._accounts = accounts
        self._worker = worker

    def wait_processed(
        self, identity: Identity, timeout: float | None = None, progress: Callable[[int], None] | None = None
    ) -> dict[str, Any]:
        """Await everything that was queued before the call, and what that queues in turn, and help with it.

        Raises `DeadlineExceededError` that says what is missing after ``timeout`` seconds, `InternalError` for work
        that was given up.
        """
        time_limit(timeout)
        self._worker.drain(self._accounts.store(identity), timeout, progress)
        return self.status(identity)

    def status(self, identity: Identity) -> dict[str, Any]:
        """Counts of files, records and passages, and of what is waiting or was given up."""
        store = self._accounts.store(identity)
        with store.read() as view:
            stats = view.stats(PREPARED)
        return {
            "account": identity.account,
            "user": identity.user,
            "files": stats.files,
            "directories": stats.directories,
            "records": stats.records,
            "passages": stats.passages,
            "waiting": store.jobs.waiting(),
            "failed": [{"kind": job.kind, "key": job.key, "error": error} for job, error in store.jobs.failed()],
            "stale_sidecars": stats.dirty,
            "outdated_files": stats.outdated,
            "change": stats.change,
        }

    def check(self, identity: Identity) -> list[str]:
        """What is inconsistent in the account's store, a sentence each; empty when all is well."""
        return self._accounts.store(identity).check()
