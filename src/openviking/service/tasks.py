"""Tasks as their owners see them: listing, waiting and cancelling (contract/core.md §3.8)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, Final, cast

from openviking.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from openviking.model.identity import Identity
from openviking.model.listing import Listing
from openviking.model.task import ACTIVE, CANCELLABLE, STATUSES, NewTask, Status, Task
from openviking.service.accounts import Accounts
from openviking.service.task_run import with_task
from openviking.service.worker import Worker, time_limit
from openviking.store.jobs import NewJob
from openviking.store.system import SystemStore
from openviking.store.tasks import TaskFilter
from openviking.text import quoted, seconds_told

MAX_LIMIT: Final = 200
DEFAULT_LIMIT: Final = 50
_FIRST_LOOK_S: Final = 0.02
_LAST_LOOK_S: Final = 0.25


class TaskListing(Listing):
    """Records of tasks, newest first; ``next_cursor`` continues after the last, None at the end.

    ``total`` counts the listed ones only: others may come and go.
    """

    def __init__(self, records: list[Any], next_cursor: str | None) -> None:
        super().__init__(records, total=len(records), has_more=next_cursor is not None)
        self.next_cursor = next_cursor


class Tasks:
    """The tasks of the caller alone.

    ``system`` is the system store where there is a root key: with that a caller follows the tasks that the key caused.
    """

    def __init__(self, accounts: Accounts, worker: Worker, system: SystemStore | None = None) -> None:
        self._accounts = accounts
        self._worker = worker
        self._system = system

    def submit(self, identity: Identity, kind: str, resource_id: str, job: NewJob, **meta: Any) -> dict[str, Any]:
        """Queue ``job`` as a task of the caller of type ``kind``; its record.

        The job's key must be its own. Raises `ConflictError` if the same work is waiting already.
        """
        task = NewTask(kind, identity.user, resource_id, meta)
        store = self._accounts.store(identity)
        store.jobs.enqueue(with_task(job, task))
        self._worker.wake()
        return self.get(identity, task.id)

    def get(self, identity: Identity, task_id: str) -> dict[str, Any]:
        """The record of a task; raises `NotFoundError` for one that is unknown, another's or expired."""
        return self._found(identity, task_id).to_dict()

    def find(
        self,
        identity: Identity,
        *,
        task_type: str | None = None,
        status: str | None = None,
        resource_id: str | None = None,
        q: str | None = None,
        include_internal: bool = False,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
    ) -> TaskListing:
        """Tasks, newest first; ``q`` is part of an id, a type or a resource.

        Raises `InvalidArgumentError` for a limit outside of 0 to 200, an unknown status, and a cursor that no listing
        gave.
        """
        _check_limit(limit)
        if status and status not in STATUSES:
            raise InvalidArgumentError(
                f"status must be one of {', '.join(STATUSES)}, not {quoted(status)}", field="status"
            )
        wanted = TaskFilter(task_type or "", cast("Status", status or ""), resource_id or "", q or "", include_internal)
        before = None if not cursor else _number(cursor)
        if self._follows_root(identity):
            found = [(number, task) for number, task in self._watched(wanted) if before is None or number < before]
        else:
            tasks = self._accounts.store(identity).tasks.find(identity.user, wanted, limit + 1, before)
            found = [(task.number, task) for task in tasks]
        more = 0 < limit < len(found)
        return TaskListing([task.to_dict() for _, task in found[:limit]], str(found[limit - 1][0]) if more else None)

    def cancel(self, identity: Identity, task_id: str) -> dict[str, Any]:
        """Cancel a task; its record, ``cancelling`` until who works on it has stopped.

        Raises `NotFoundError`, `FailedPreconditionError` if it is over or of a type that can't be cancelled.
        """
        task = self._found(identity, task_id)
        if task.type not in CANCELLABLE:
            raise FailedPreconditionError(
                f"Tasks of type {task.type} can't be cancelled; {', '.join(sorted(CANCELLABLE))} can",
                resource=task_id,
                task_type=task.type,
            )
        store = self._accounts.store(identity)
        cancelled = store.tasks.cancel(task_id)
        self._worker.wake()
        return cancelled.to_dict()

    def wait(
        self,
        identity: Identity,
        task_id: str,
        timeout: float | None = None,
        *,
        work: Callable[[], bool] | None = None,
    ) -> dict[str, Any]:
        """Wait until a task is over; its record then, whatever became of it.

        ``work`` does a piece of what is waited for, and says whether there was one: where nobody else may do it. Raises `NotFoundError`, and `DeadlineExceededError` after ``timeout`` seconds: the task goes on then.
        """
        limit = time_limit(timeout)
        deadline = None if limit is None else time.monotonic() + limit
        look, pause = _FIRST_LOOK_S, threading.Event()
        self._worker.wake()
        while (task := self._found(identity, task_id)).status in ACTIVE:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise DeadlineExceededError(
                    f"Task {task_id} is {task.status} after {seconds_told(limit or 0.0)} ({task.stage or 'not begun'}); it goes on",
                    operation="wait", timeout=limit or 0.0, task_id=task_id, status=task.status, stage=task.stage,
                )  # fmt: skip
            if self._worker.stopping():
                raise FailedPreconditionError(
                    "Closed before the task was done; it is carried on later", task_id=task_id
                )
            if work is not None and work():
                look = _FIRST_LOOK_S
                continue
            pause.wait(look if left is None else min(look, left))
            look = min(2 * look, _LAST_LOOK_S)
        return task.to_dict()

    def _found(self, identity: Identity, task_id: str) -> Task:
        task = None
        if self._follows_root(identity):
            task = next((one for _, one in self._watched(TaskFilter(internal=True)) if one.id == task_id), None)
        elif isinstance(task_id, str):
            task = self._accounts.store(identity).tasks.get(task_id, identity.user)
        if task is None:
            raise _unknown(task_id)
        return task

    def _follows_root(self, identity: Identity) -> bool:
        return self._system is not None and identity.role == "root"

    def _watched(self, wanted: TaskFilter) -> list[tuple[int, Task]]:
        """What the root key follows with its numbers, newest first."""
        found: dict[str, tuple[int, Task]] = {}
        for number, account, task_id in [] if self._system is None else self._system.watched_tasks():
            # An account may be removed at this moment: its store is not there any more, or closed.
            with contextlib.suppress(NotFoundError, FailedPreconditionError):
                task = self._accounts.of(account).tasks.get(task_id, None)
                if task is not None and _fits(task, wanted):
                    found.setdefault(task_id, (number, task))
        return list(found.values())


def _fits(task: Task, wanted: TaskFilter) -> bool:
    pairs = ((wanted.type, task.type), (wanted.status, task.status), (wanted.resource_id, task.resource_id))
    said = (task.id, task.type, task.resource_id.lower())
    return (
        all(not asked or asked == value for asked, value in pairs)
        and any(wanted.text.lower() in text for text in said)
        and (wanted.internal or not task.internal)
    )


def _check_limit(limit: object) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit <= MAX_LIMIT:
        raise InvalidArgumentError(f"limit must be 0 to {MAX_LIMIT}, not {quoted(limit)}", field="limit")


def _number(cursor: object) -> int:
    if not isinstance(cursor, str) or not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise InvalidArgumentError(f"cursor {quoted(cursor)} was not given by a listing of tasks", field="cursor")
    return int(cursor)


def _unknown(task_id: object) -> NotFoundError:
    error = NotFoundError(task_id if isinstance(task_id, str) else quoted(task_id), "task")
    error.message = f"Task not found or expired: {quoted(task_id)}"
    return error
