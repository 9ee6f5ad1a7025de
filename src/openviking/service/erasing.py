"""Erasing on the disk what was removed, as a task: redacted messages, removed sessions and files, deleted users."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from openviking.errors import ConflictError, InvalidArgumentError, PermissionDeniedError
from openviking.ingest.background import PURGE_BATCH, Step, Turn
from openviking.ingest.sidecars import render
from openviking.model.identity import Identity
from openviking.model.task import NewTask
from openviking.service.accounts import Accounts
from openviking.service.task_run import TaskRun, Unfinished, tracked, with_task
from openviking.service.tasks import Tasks
from openviking.service.worker import Worker
from openviking.session.redaction import forget_names
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.text import quoted
from openviking.uri import URI

KIND: Final = "erase"
"""The kind of the job and the type of its task."""

ERASE_JOB: Final = NewJob(KIND, "", {"rewrite": None}, delay=30_000)
"""For what was removed without anybody waiting for its erasure: several such removals soon after each other are one."""


class Erasing:
    """Queues the erasure of an account; one at a time."""

    def __init__(self, accounts: Accounts, worker: Worker, tasks: Tasks) -> None:
        self._accounts = accounts
        self._worker = worker
        self._tasks = tasks

    def start(self, identity: Identity, *, rewrite: bool | None = None) -> dict[str, Any]:
        """Begin to overwrite what was removed from the caller's account before: ``task_id`` and ``status``.

        Summaries that are stale, and may still tell of it, are made anew first. ``rewrite`` true writes the whole
        database anew, and no byte of what was removed is left, while writers wait; false leaves that out; None does it
        up to a size at which they hardly notice (512 MiB). The task's ``result`` says what was done. Where an erasure
        waits already, it is that. Raises `InvalidArgumentError`, `PermissionDeniedError` for a member who
        asks for a rewrite.
        """
        if rewrite is not None and not isinstance(rewrite, bool):
            raise InvalidArgumentError(f"rewrite must be true, false or null, not {quoted(rewrite)}", field="rewrite")
        if rewrite and identity.role == "user":
            raise PermissionDeniedError(
                "Only an admin of the account may have the whole database written anew: everybody's writes wait for that",
                field="rewrite",
            )
        store = self._accounts.store(identity)
        task = NewTask(KIND, identity.user, str(URI(())), {"rewrite": rewrite})
        job = with_task(NewJob(KIND, f"{identity.user}\n{rewrite}", {"rewrite": rewrite}), task)
        try:
            store.jobs.enqueue(job)
        except ConflictError as error:
            return {"task_id": error.details["task_id"], "status": "accepted"}
        self._worker.wake()
        return {"task_id": task.id, "status": "accepted"}

    def wait(self, identity: Identity, *, rewrite: bool | None = None, timeout: float | None = None) -> dict[str, Any]:
        """As `start`, and the task when it has ended. Raises `DeadlineExceededError`; it goes on then."""
        began = self.start(identity, rewrite=rewrite)
        store = self._accounts.store(identity)
        return self._tasks.wait(
            identity, began["task_id"], timeout, work=lambda: self._worker.work(store, kinds=(KIND,))
        )


def erasing_steps() -> dict[str, Step]:
    """The kind of job for a worker."""
    return {KIND: tracked(_carry_out)}


def erase(
    store: AccountStore, stage: Callable[[str], None], stopped: Callable[[], bool], *, rewrite: bool | None
) -> dict[str, Any]:
    """Purge all that was removed and overwrite it; what was done. Raises `Unfinished` when told to stop."""
    forget_names(store)
    stage("summaries")
    while render(store):
        if stopped():
            raise Unfinished
    stage("purging")
    while store.purge(PURGE_BATCH):
        if stopped():
            raise Unfinished
    stage("overwriting")
    erased = store.erase(stopped, rewrite=rewrite)
    if erased is None:
        raise Unfinished
    return dataclasses.asdict(erased)


def _carry_out(store: AccountStore, turn: Turn, run: TaskRun) -> dict[str, Any]:
    return erase(store, run.stage, run.cancelled, rewrite=turn.payload["rewrite"])
