"""Work that outlives the call that caused it: rows claimed with a lease by a worker of any process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from openviking.model.task import NewTask

MAX_ATTEMPTS: Final = 5
"""Attempts after which a job is given up, be it that they failed or that their processes ended."""

TIDY: Final = "tidy"
"""The key under which a payload names the kind of job that clears up after one that ends without having been done.

That is queued, with the same payload, in the transaction that ends it: because it was cancelled or given up.
"""

LATER: Final = "later"
"""The key of jobs that tidy up some day: nobody waits for them."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """Work to queue. A second job of the same kind and ``key`` that still waits is the same job.

    ``delay`` milliseconds pass before it may be claimed (each new request postpones it no further). A ``task`` is made
    with it, in the same transaction; its key must be its own.
    """

    kind: str
    key: str
    payload: dict[str, Any]
    delay: int = 0
    task: NewTask | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job; ``attempt`` counts from 1. Only the holder of ``lease`` may report on it."""

    id: int
    kind: str
    key: str
    payload: dict[str, Any]
    attempt: int
    lease: str


class JobQueue(Protocol):
    """The queue of one account."""

    def enqueue(self, job: NewJob) -> int:
        """The id of the queued job, or of the one that waits already."""
        ...

    def start(self, job: NewJob, lease_ms: int) -> Job:
        """``job``, queued and claimed at once; one that waits already is it then, with the new payload."""
        ...

    def claim(
        self, kinds: Sequence[str], lease_ms: int, *, up_to: int | None = None, due_only: bool = True
    ) -> Job | None:
        """The next job that is due or whose lease has run out; with ``up_to`` of those with at most that id.

        With ``due_only`` False one that was never tried need not be due; the delay of a retry holds in any case. A
        job whose lease ran out in its last attempt is given up instead.
        """
        ...

    def renew(self, job: Job, lease_ms: int) -> bool:
        """Keep the lease; False if it was lost."""
        ...

    def finish(self, job: Job, *, succeeded: bool = True) -> None:
        """The job is over and forgotten; if it succeeded, so are those of its kind and key that were given up before."""
        ...

    def fail(self, job: Job, error: str, *, retry_in: int, counts: bool = True) -> None:
        """The attempt failed: it is tried again after ``retry_in`` milliseconds, or given up after the last attempt.

        One that does not count uses up no attempt.
        """
        ...

    def give_back(self, job: Job) -> None:
        """The job was interrupted: it is due again, and the attempt does not count."""
        ...

    def waiting(self, up_to: int | None = None) -> dict[str, int]:
        """Jobs that are not done by kind, those with an id of at most ``up_to`` only; without those of key `LATER`."""
        ...

    def newest(self) -> int:
        """The highest job id ever given, 0 if none."""
        ...

    def next_due(self, kinds: Sequence[str] | None = None) -> int | None:
        """When (milliseconds since the epoch) the next job (of these kinds) may be claimed, None when nothing waits."""
        ...

    def failed(self) -> list[tuple[Job, str]]:
        """Jobs that were given up, with their last error."""
        ...
