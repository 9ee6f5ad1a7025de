"""Keeping a claimed job while it is worked on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from openviking.errors import OpenVikingError
from openviking.store.jobs import Job, JobQueue

LEASE_MS: Final = 10_000
"""So long a job stays with its holder without a renewal, and so long another process waits after a crash."""

_RENEWALS: Final = 3


class Lease:
    """A context in which a thread renews the lease of ``job``, however long a piece of the work takes.

    The work asks `cancelled` between its pieces: the lease may have been lost to another process, or ``stopped`` say
    that it is to end. Whoever holds it reports on the job afterwards.
    """

    def __init__(
        self, jobs: JobQueue, job: Job, stopped: Callable[[], bool] = lambda: False, lease_ms: int = LEASE_MS
    ) -> None:
        self._jobs = jobs
        self._job = job
        self._stopped = stopped
        self._lease_ms = lease_ms
        self._lost = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"openviking-lease-{job.id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def lost(self) -> bool:
        """Whether the job is another's by now."""
        return self._lost.is_set()

    def cancelled(self) -> bool:
        """Whether the work is to end before it is complete."""
        return self.lost or self._stopped()

    def _keep(self) -> None:
        until = time.monotonic() + self._lease_ms / 1000
        while not self._ended.wait(self._lease_ms / 1000 / _RENEWALS):
            asked = time.monotonic()
            try:
                held = self._jobs.renew(self._job, self._lease_ms)
            except OpenVikingError:
                # An outage may be over before the lease is.
                held = asked < until
            else:
                until = asked + self._lease_ms / 1000
            if not held:
                self._lost.set()
                return
