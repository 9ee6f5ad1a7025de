"""A task while its job is carried out: stages and progress go out, the wish to cancel comes in."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from openviking.errors import (
    ConflictError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    ProcessingError,
    UnimplementedError,
)
from openviking.ingest.background import Step, Turn
from openviking.model.imports import Progress
from openviking.model.task import NewTask
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.store.tasks import TaskStore

TASK: Final = "task"
"""The key under which the payload of a job names its task."""

INTERVAL_S: Final = 0.5
"""How often progress is written, and looked whether the task is to be cancelled."""

LASTING: Final = (
    ConflictError, FailedPreconditionError, InvalidArgumentError, NotFoundError, PermissionDeniedError, ProcessingError,
    UnimplementedError,
)  # fmt: skip
"""Errors that another attempt would meet as well."""


class TaskRun:
    """What the work of a task asks and tells; ``stopped`` says that the process ends or lost the job."""

    def __init__(
        self,
        tasks: TaskStore,
        task_id: str | None,
        stopped: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tasks = tasks
        self._id = task_id
        self._stopped = stopped
        self._clock = clock
        self._stage = ""
        self._looked = self._told = -INTERVAL_S
        self._wanted = False

    def stage(self, stage: str, progress: dict[str, Any] | None = None) -> None:
        """Say where the work is; written at once for another stage, else at the interval."""
        now = self._clock()
        if self._id is None or (stage == self._stage and now - self._told < INTERVAL_S):
            return
        self._stage, self._told, self._looked = stage, now, now
        self._wanted |= self._tasks.note(self._id, stage, progress) in {"cancelling", "cancelled"}

    def progress(self, progress: Progress) -> None:
        """Say how far an import is; fit to be its ``progress``."""
        numbers = {"done": progress.done, "total": progress.total, "bytes": progress.bytes, "name": progress.name}
        self.stage(progress.stage, numbers)

    def cancelled(self) -> bool:
        """Whether the work is to end before it is complete; fit to be an import's ``cancelled``."""
        return self._stopped() or self.wanted()

    def wanted(self) -> bool:
        """Whether somebody cancelled the task, as of the last interval."""
        now = self._clock()
        if self._id is not None and not self._wanted and now - self._looked >= INTERVAL_S:
            self._looked = now
            self._wanted = self._tasks.status(self._id) in {"cancelling", "cancelled"}
        return self._wanted

    def complete(self, result: Any) -> None:
        """The work is done: the task and its job end together."""
        if self._id is not None:
            self._tasks.end(self._id, "completed", result=result)

    def fail(self, error: str, result: Any = None) -> None:
        """The work can't be done: the task and its job end together."""
        if self._id is not None:
            self._tasks.end(self._id, "failed", result=result, error=error)


class Unfinished(Exception):  # noqa: N818
    """The work was interrupted at a place from which it can be carried on."""


Work = Callable[[AccountStore, Turn, TaskRun], Any]
"""Does a task's work from wherever it was left; its result. Raises `Unfinished` when it was told to stop."""


def with_task(job: NewJob, task: NewTask) -> NewJob:
    """``job`` with its task, fit for `tracked`."""
    return NewJob(job.kind, job.key, {**job.payload, TASK: task.id}, job.delay, task)


def tracked(work: Work) -> Step:
    """A step of a worker that does ``work`` and tells its task.

    An error that another attempt would meet too fails the task at once, with its code and details as result; others are raised, so that the job is tried
    again and its task waits for that. What a cancelled task did stays.
    """

    def step(store: AccountStore, turn: Turn) -> bool:
        run = TaskRun(store.tasks, turn.payload.get(TASK), turn.cancelled)
        if run.wanted():
            return False
        try:
            result = work(store, turn, run)
        except Unfinished:
            # A job that ends while its task is being cancelled ends it as cancelled.
            return not run.wanted()
        except LASTING as error:
            if TASK not in turn.payload:
                raise
            run.fail(error.message, {"code": error.code, "details": error.details})
        else:
            run.complete(result)
        return False

    return step
