"""Removing what a deleted user leaves, by a durable job: the id is free again only when nothing is left.

The intention is written first, in the system store, and stops the user's key. The job and its task follow in the
account's store; if the process ends between the two, `UserDeletions.resume` queues them at the next start. Every part of
the work can be repeated.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from openviking.errors import ConflictError, UnavailableError
from openviking.ingest.background import Step, Turn
from openviking.model.account import User
from openviking.model.task import NewTask, new_task_id
from openviking.service.accounts import Accounts
from openviking.service.erasing import ERASE_JOB, erasing_steps
from openviking.service.task_run import TASK, TaskRun, Unfinished, tracked, with_task
from openviking.store.batch import Remove
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.store.system import SystemStore
from openviking.uri import URI

KIND: Final = "user_delete"
PURGED_AT_ONCE: Final = 256
STOPPING_S: Final = 30.0
"""How long work of the user that is under way may take to stop before the attempt is put off."""

_LOOK_S: Final = 0.05


class UserDeletions:
    """Queues and carries out the removal of users' data; ``forget`` removes what an account keeps of a user outside of its store."""

    def __init__(
        self,
        accounts: Accounts,
        system: SystemStore,
        forget: Callable[[str, str], object] = lambda _account, _user: None,
    ) -> None:
        self._accounts = accounts
        self._system = system
        self._forget = forget

    def steps(self) -> dict[str, Step]:
        """The kinds of jobs for a worker: the removal, and the erasure that follows it."""
        return {KIND: tracked(self._carry_out), **erasing_steps()}

    def begin(self, account: str, user: str, owner: str, *, watched: bool) -> User:
        """Note that a user is to be deleted, which stops the key, and queue the removal as a task of ``owner``.

        One that is under way goes on; one that was given up begins anew. ``watched`` lets the root key follow it.
        Raises `NotFoundError`.
        """
        noted = self._system.begin_deletion(account, user, new_task_id(), watched=watched)
        return self._queue(noted, owner, watched=watched)

    def resume(self) -> int:
        """Queue what a process that ended has left, and again what was given up; how many users that are."""
        users = self._system.deletions()
        for user in users:
            self._queue(user, "", watched=False)
        return len(users)

    def _queue(self, user: User, owner: str, *, watched: bool) -> User:
        store = self._accounts.of(user.account)
        before = store.tasks.get(user.deletion or "", None)
        if before is not None and not before.over:
            return user
        if before is not None:
            user = self._system.begin_deletion(
                user.account, user.id, new_task_id(), watched=watched, instead_of=user.deletion
            )
        task = NewTask(KIND, owner, str(_tree(user.id)), {"user_id": user.id}, id=user.deletion or "")
        payload = {"account": user.account, "user": user.id, "number": user.number}
        # Where another process was faster, the same work waits already.
        with contextlib.suppress(ConflictError):
            store.jobs.enqueue(with_task(NewJob(KIND, f"{user.id}\n{user.number}", payload), task))
        # A worker that is busy with the user's own import would come to the removal only after that.
        store.tasks.cancel_all(user.id, but=task.id)
        return user

    def _carry_out(self, store: AccountStore, turn: Turn, run: TaskRun) -> dict[str, Any]:
        account, user, number = (turn.payload[name] for name in ("account", "user", "number"))
        task = turn.payload[TASK]
        present = self._system.user(account, user)
        if present is None or present.number != number or present.deletion is None:
            # It was done before; the id may be another's by now.
            return {"account_id": account, "user_id": user, "removed": 0}
        run.stage("stopping")
        self._stop_work(store, user, task, run)
        run.stage("removing")
        if run.cancelled():
            raise Unfinished
        removed = store.apply([Remove(_tree(user).path, recursive=True)]).outcomes[0].count
        run.stage("purging")
        while store.purge(PURGED_AT_ONCE):
            if run.cancelled():
                raise Unfinished
        store.tasks.forget(user, but=task)
        store.watches.forget(user)
        self._forget(account, user)
        store.jobs.enqueue(ERASE_JOB)
        self._system.end_deletion(account, user, number)
        return {"account_id": account, "user_id": user, "removed": removed}

    @staticmethod
    def _stop_work(store: AccountStore, user: str, task: str, run: TaskRun) -> None:
        """Cancel what the user has under way, and wait until nobody works on it: it might write into a tree that is gone."""
        until = time.monotonic() + STOPPING_S
        pause = threading.Event()
        while store.tasks.cancel_all(user, but=task):
            if run.cancelled():
                raise Unfinished
            if time.monotonic() >= until:
                raise UnavailableError(
                    f"Work of the user {user} did not stop within {STOPPING_S:g} s",
                    service="worker",
                    reason="work under way",
                )
            pause.wait(_LOOK_S)


def _tree(user: str) -> URI:
    return URI(("user", user))
