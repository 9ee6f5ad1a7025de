"""Watches as their owners see them: listing, changing, removing, and looking at once (contract/core.md §3.13)."""

from __future__ import annotations

from typing import Any

from openviking.errors import ConflictError, InvalidArgumentError, NotFoundError
from openviking.model.identity import Identity
from openviking.model.watch import Watch, WatchChange, interval_ms
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.service.watch_clock import WatchClock
from openviking.service.watch_requests import refused
from openviking.service.watch_runs import WatchRuns
from openviking.service.worker import Worker
from openviking.text import quoted

_ATTEMPTS = 3


class Watches:
    """The watches of the caller alone; each call takes an id, the URI that the watch fills, or both.

    ``clock`` is None where this process looks at nothing by itself; without ``enabled`` nobody does.
    """

    def __init__(
        self, accounts: Accounts, worker: Worker, runs: WatchRuns, clock: WatchClock | None, *, enabled: bool = True
    ) -> None:
        self._accounts = accounts
        self._worker = worker
        self._runs = runs
        self._clock = clock
        self._enabled = enabled

    def find(self, identity: Identity, *, active_only: bool = False) -> dict[str, Any]:
        """``tasks``, the records of the caller's watches, the oldest first, and their ``total``."""
        found = self._accounts.store(identity).watches.find(identity.user, active_only=active_only)
        return {"tasks": [watch.to_dict(identity.account) for watch in found], "total": len(found)}

    def get(
        self, identity: Identity, task_id: str | None = None, to_uri: str | None = None, *, active_only: bool = False
    ) -> dict[str, Any]:
        """The record of a watch.

        Raises `NotFoundError` for one that is unknown or another's, with ``active_only`` also for a paused one, and
        `InvalidArgumentError` if id and URI name two watches, or neither is given.
        """
        watch = self._found(identity, task_id, to_uri)
        if active_only and not watch.active:
            raise _unknown(task_id if to_uri is None else to_uri)
        return watch.to_dict(identity.account)

    def update(
        self,
        identity: Identity,
        task_id: str | None = None,
        to_uri: str | None = None,
        *,
        watch_interval: float | None = None,
        is_active: bool | None = None,
        reason: str | None = None,
        instruction: str | None = None,
    ) -> dict[str, Any]:
        """Change a watch, and get its record; what is None stays. ``watch_interval`` in minutes, above 0.

        Of a watch that is made active, or whose interval changes, the next look is one interval after the last one,
        or at once if that is past. Raises as `get` does.
        """
        change = WatchChange(None if watch_interval is None else interval_ms(watch_interval), is_active, reason, instruction)  # fmt: skip
        watch = self._found(identity, task_id, to_uri)
        changed = self._accounts.store(identity).watches.change(watch.id, change)
        if changed is None:
            raise _unknown(watch.id)
        if self._clock is not None:
            self._clock.wake()
        return changed.to_dict(identity.account)

    def delete(self, identity: Identity, task_id: str | None = None, to_uri: str | None = None) -> dict[str, Any]:
        """Forget a watch; what it filled stays, and a look under way comes to its end. Raises as `get` does."""
        watch = self._found(identity, task_id, to_uri)
        if not self._accounts.store(identity).watches.remove(watch.id):
            raise _unknown(watch.id)
        return {"task_id": watch.id, "to_uri": watch.uri, "deleted": True}

    def trigger(self, identity: Identity, task_id: str | None = None, to_uri: str | None = None) -> dict[str, Any]:
        """Look now, also of a paused watch: ``run_task_id`` is the task of the import, the one under way if there is one.

        Raises as `get` does, `FailedPreconditionError` where nobody looks, and as the adding of the source does.
        """
        if not self._enabled:
            raise refused()
        store = self._accounts.store(identity)
        for _ in range(_ATTEMPTS):
            watch = self._found(identity, task_id, to_uri)
            task = watch.task if watch.running else self._runs.begin(identity, store, watch)
            if task:
                self._worker.wake()
                return {"task_id": watch.id, "to_uri": watch.uri, "scheduled": True, "run_task_id": task}
        raise ConflictError("The watch is being changed by others; try again", resource=watch.uri, retryable=True)

    def _found(self, identity: Identity, task_id: object, to_uri: str | None) -> Watch:
        watches = self._accounts.store(identity).watches
        if task_id is None and to_uri is None:
            raise InvalidArgumentError("Which watch? Give its task_id, or the to_uri that it fills", field="task_id")
        path = None if to_uri is None else resolve(identity, to_uri).path
        if task_id is None:
            watch = watches.at(path or "", identity.user)
        else:
            watch = watches.get(task_id, identity.user) if isinstance(task_id, str) else None
        if watch is None:
            raise _unknown(to_uri if task_id is None else task_id)
        if path is not None and watch.path != path:
            raise InvalidArgumentError(
                f"The watch {watch.id} fills {watch.uri}, not {to_uri}", field="to_uri", resource=watch.uri
            )
        return watch


def _unknown(which: object) -> NotFoundError:
    error = NotFoundError(which if isinstance(which, str) else quoted(which), "watch")
    error.message = f"Watch not found: {quoted(which)}"
    return error
