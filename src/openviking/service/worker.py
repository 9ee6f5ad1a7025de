"""Threads that do queued work for the open stores, and the draining of queues by a waiting caller."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from openviking.errors import DeadlineExceededError, OpenVikingError
from openviking.ingest.background import STEPS, Step
from openviking.store.port import AccountStore, Job

LEASE_MS: Final = 30_000
MAX_ATTEMPTS: Final = 5
RETRY_MS: Final = 2_000
_IDLE_LOOK_S: Final = 0.05

_log = logging.getLogger(__name__)


class Worker:
    """Claims jobs of the open stores; any process with a worker does the work of all."""

    def __init__(
        self, stores: Callable[[], list[AccountStore]], extra: dict[str, Step], threads: int, interval: float
    ) -> None:
        self._stores = stores
        self._steps = {**STEPS, **extra}
        self._interval = interval
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"openviking-worker-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look for work now rather than at the next interval."""
        self._wake.set()

    def stop(self) -> None:
        """End the threads; a job in progress is left to its lease."""
        self._stop.set()
        self._wake.set()
        for thread in self._threads:
            thread.join()

    def drain(self, store: AccountStore, timeout: float | None, progress: Callable[[int], None] | None = None) -> None:
        """Do and await everything that was queued in ``store`` before the call.

        ``progress`` gets the number of jobs that are left. Raises `DeadlineExceededError` that says what is missing;
        nothing is lost then.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        newest = store.jobs.newest()
        while waiting := store.jobs.waiting(newest):
            if progress is not None:
                progress(sum(waiting.values()))
            if deadline is not None and time.monotonic() >= deadline:
                raise DeadlineExceededError(
                    f"Still to be done after {timeout:g} s: {', '.join(f'{count} {kind}' for kind, count in waiting.items())}",
                    operation="wait",
                    timeout=timeout or 0.0,
                    missing=waiting,
                )
            if not self.work(store, due_only=False, deadline=deadline):
                self._stop.wait(_IDLE_LOOK_S)

    def work(self, store: AccountStore, *, due_only: bool = True, deadline: float | None = None) -> bool:
        """Do one job of ``store``; False if there was none to claim."""
        job = store.jobs.claim(tuple(self._steps), LEASE_MS, due_only=due_only)
        if job is None:
            return False
        self.carry_out(store, job, deadline)
        return True

    def carry_out(self, store: AccountStore, job: Job, deadline: float | None = None) -> None:
        """Do a claimed job to its end, or until ``deadline``, and report on it."""
        step, renewed = self._steps[job.kind], time.monotonic()
        try:
            while step(store, job.payload):
                if self._stop.is_set() or (deadline is not None and time.monotonic() >= deadline):
                    store.jobs.fail(job, "interrupted", retry_in=0)
                    return
                if time.monotonic() - renewed > LEASE_MS / 3000:
                    if not store.jobs.renew(job, LEASE_MS):
                        return
                    renewed = time.monotonic()
        except OpenVikingError as error:
            _log.warning("job %s %s failed: %s", job.kind, job.key, error.message)
            store.jobs.fail(job, error.message, retry_in=RETRY_MS * job.attempt if job.attempt < MAX_ATTEMPTS else None)
            return
        except Exception as error:  # noqa: BLE001
            # The edge of a job: its fault is recorded with it and ends nothing else.
            _log.exception("job %s %s failed", job.kind, job.key)
            store.jobs.fail(job, repr(error), retry_in=RETRY_MS * job.attempt if job.attempt < MAX_ATTEMPTS else None)
            return
        store.jobs.finish(job)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            worked = False
            for store in self._stores():
                worked |= self._one(store)
            if not worked and not self._stop.is_set():
                self._wake.wait(self._until_due())

    def _one(self, store: AccountStore) -> bool:
        try:
            return self.work(store)
        except OpenVikingError as error:
            if not self._stop.is_set():
                _log.warning("background work failed: %s", error.message)
        except Exception:  # noqa: BLE001
            # The edge of the thread: a fault in one job must not end the work for all.
            _log.exception("background work failed")
        return False

    def _until_due(self) -> float:
        wait = self._interval
        with contextlib.suppress(OpenVikingError):
            for store in self._stores():
                due = store.jobs.next_due()
                if due is not None:
                    wait = min(wait, max(due / 1000 - time.time(), 0.01))
        return wait
