"""Work that outlives the call that caused it: rows claimed with a lease by a worker of any process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class NewJob:
    """Work to queue. A second job of the same kind and ``key`` that still waits is the same job.

    ``delay`` milliseconds pass before it may be claimed (each new request postpones it no further).
    """

    kind: str
    key: str
    payload: dict[str, Any]
    delay: int = 0


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

    def claim(
        self, kinds: Sequence[str], lease_ms: int, *, only: int | None = None, due_only: bool = True
    ) -> Job | None:
        """The next job that is due (with ``due_only`` False also one that is not) or whose lease has run out."""
        ...

    def renew(self, job: Job, lease_ms: int) -> bool:
        """Keep the lease; False if it was lost."""
        ...

    def finish(self, job: Job) -> None:
        """The job is done and forgotten."""
        ...

    def fail(self, job: Job, error: str, *, retry_in: int | None) -> None:
        """The attempt failed: try again after ``retry_in`` milliseconds, or (None) keep it as failed."""
        ...

    def waiting(self, up_to: int | None = None) -> dict[str, int]:
        """Jobs that are not done by kind, those with an id of at most ``up_to`` only."""
        ...

    def newest(self) -> int:
        """The highest job id ever given, 0 if none."""
        ...

    def next_due(self) -> int | None:
        """When (milliseconds since the epoch) the next job may be claimed, None when nothing waits."""
        ...

    def failed(self) -> list[tuple[Job, str]]:
        """Jobs that were given up, with their last error."""
        ...
