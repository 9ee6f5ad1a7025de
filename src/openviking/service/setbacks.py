"""Jobs that an outage of the store kept from being done: they are tried again later, and no attempt is used up."""

from __future__ import annotations

import threading
from typing import Final

from openviking.store.port import AccountStore, Job

LONGEST_MS: Final = 60_000
"""The longest pause before a job is tried again."""


class Setbacks:
    """Puts such jobs off, for twice as long each time; as soon as the store lets it, where that fails as well."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[tuple[AccountStore, Job, str, int]] = []
        self._times: dict[tuple[int, int], int] = {}

    def note(self, store: AccountStore, job: Job, error: str, first_ms: int) -> None:
        """Put ``job`` off by ``first_ms`` milliseconds at first. Raises as the store if it can't be noted now."""
        with self._lock:
            times = self._times[id(store), job.id] = self._times.get((id(store), job.id), -1) + 1
            self._open.append((store, job, error, min(first_ms << min(times, 20), LONGEST_MS)))
        self.report(store)

    def report(self, store: AccountStore) -> None:
        """Note in ``store`` what could not be noted before, so that no claim takes it for a process that ended."""
        # Whoever claims next waits for it.
        with self._lock:
            for one in [one for one in self._open if one[0] is store]:
                _, job, error, pause = one
                store.jobs.fail(job, error, retry_in=pause, counts=False)
                self._open.remove(one)

    def over(self, store: AccountStore, job: Job) -> None:
        """The job met something else than an outage."""
        with self._lock:
            self._times.pop((id(store), job.id), None)
