"""Waiting for the memories of a commit, by the embedded door alone: over HTTP a task is looked at until it is over."""

from __future__ import annotations

from typing import Any

from openviking.errors import InvalidArgumentError, ProcessingError
from openviking.model.identity import Identity
from openviking.service.accounts import Accounts
from openviking.service.tasks import Tasks
from openviking.service.worker import Worker
from openviking.session.commit import KIND, OVER


class SessionWaiting:
    """Mixed into `openviking.OpenViking`."""

    _identity: Identity
    _accounts: Accounts
    _tasks: Tasks
    _worker: Worker

    def wait_commit(self, task_id: str, timeout: float | None = None) -> dict[str, Any]:
        """The task that `commit_session` named when it is done; its ``result`` says which memories were made.

        Where no thread does background work this call does it. Vectors are not waited for. Raises `NotFoundError`,
        `InvalidArgumentError` for a task of another kind, `ProcessingError` if it failed or was cancelled, `DeadlineExceededError` after ``timeout`` seconds: it goes on.
        """
        kind = self._tasks.get(self._identity, task_id)["task_type"]
        if kind != KIND:
            # Nobody may be there who does it.
            raise InvalidArgumentError(f"The task {task_id} is of type {kind}, not {KIND}", field="task_id")
        store = self._accounts.store(self._identity)
        task = self._tasks.wait(
            self._identity, task_id, timeout, work=lambda: self._worker.work(store, due_only=False, kinds=(KIND, OVER))
        )
        if task["status"] != "completed":
            raise ProcessingError(task["error"] or f"The task was {task['status']}", task_id=task_id)
        return task
