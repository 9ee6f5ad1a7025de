"""Making the index of a part of the tree anew, as a task that survives the process (contract/core.md §3.3)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from openviking.errors import (
    ConflictError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    ProcessingError,
    UnsupportedURIError,
)
from openviking.index.choices import one_of
from openviking.index.tags import accepted_tags
from openviking.model.identity import Identity
from openviking.model.task import ACTIVE, NewTask
from openviking.service.access import check_changeable, resolve
from openviking.service.accounts import Accounts
from openviking.service.lease import LEASE_MS
from openviking.service.reindex_work import KIND
from openviking.service.running import Running
from openviking.service.targets import sees_all
from openviking.service.task_run import with_task
from openviking.service.tasks import Tasks
from openviking.service.worker import Worker, time_limit
from openviking.store.jobs import NewJob

TASK_TYPE: Final = "admin_reindex"
MODES: Final = ("vectors_only", "semantic_and_vectors", "prune_orphans")


class Reindexing:
    """Queues the work, and does it at once for who waits."""

    def __init__(self, accounts: Accounts, worker: Worker, running: Running, tasks: Tasks) -> None:
        self._accounts = accounts
        self._worker = worker
        self._running = running
        self._tasks = tasks

    def start(
        self,
        identity: Identity,
        uri: str,
        mode: str = "vectors_only",
        *,
        wait: bool = True,
        timeout: float | None = None,
        dry_run: bool = False,
        force: bool = False,
        recursive: bool = True,
        tags: Sequence[str] | None = None,
        tag_mode: str = "replace",
    ) -> dict[str, Any]:
        """Make the records at and below ``uri`` anew: what was scanned, rebuilt and deleted; without ``wait`` its task.

        ``vectors_only`` queues what has no vector, also what the model refused; with ``force`` all vectors are made
        again. ``semantic_and_vectors`` parses the files again and makes the summaries anew; with ``force`` pictures are
        described anew, too, if there is a model for that. ``prune_orphans`` removes
        files whose bytes are lost, and at ``viking://`` what belongs to nothing; with ``dry_run`` it only counts.
        Each mends what the audit says it does. ``recursive`` False means the directory and the files right in it.
        ``tags`` are given to all of it. Raises `PermissionDeniedError` for a member outside of the own tree,
        `UnsupportedURIError` for sessions, `ConflictError` if it is under way there already, `NotFoundError`, and with
        ``wait`` what `Worker.drain` raises.
        """
        one_of("mode", mode, MODES)
        tag_mode = one_of("tag_mode", tag_mode, ("replace", "append"))
        if dry_run and mode != "prune_orphans":
            raise InvalidArgumentError(f"dry_run is for prune_orphans, not for {mode}", field="dry_run")
        deadline = None if (limit := time_limit(timeout)) is None else time.monotonic() + limit
        target = resolve(identity, uri)
        own = target.scope == "user" and target.parts[1:2] == (identity.user,)
        if not sees_all(identity, target) or (identity.role == "user" and not own):
            raise PermissionDeniedError(f"Access denied for {target}", resource=str(target))
        if target.scope == "user" and target.parts[2:3] == ("sessions",):
            raise UnsupportedURIError(f"{target} can't be reindexed: sessions are no records", resource=str(target))
        store = self._accounts.store(identity)
        with store.read() as view:
            node = view.get(target.path)
        if node is None:
            raise NotFoundError(str(target), "file")
        if store.tasks.under_way(TASK_TYPE, str(target)) is not None:
            raise ConflictError(f"{target} is being reindexed already", resource=str(target), retryable=True)
        if tags is not None and target.parts:
            check_changeable(identity, target)
        task = NewTask(TASK_TYPE, identity.user, str(target), {"mode": mode})
        payload = {
            "path": target.path, "mode": mode, "dry_run": dry_run, "force": force, "recursive": recursive,
            "is_dir": node.is_dir, "tags": list(accepted_tags(tags)[0]) if tags is not None and target.parts else None,
            "tag_mode": tag_mode, "began": time.time(),
            "describe": force and mode == "semantic_and_vectors" and self._worker.describing is not None,
        }  # fmt: skip
        # In a queue of its own per place: the same work that waits already is refused there.
        job = with_task(NewJob(KIND, target.path, payload), task)
        told = {"uri": str(target), "mode": mode, "object_type": "directory" if node.is_dir else "file"}
        if not wait:
            store.jobs.enqueue(job)
            self._worker.wake()
            return {**told, "status": "accepted", "task_id": task.id}
        with self._running.call():
            self._worker.carry_out(store, store.jobs.start(job, LEASE_MS), deadline)
        record = self._tasks.get(identity, task.id)
        if record["status"] in ACTIVE:
            record = self._tasks.wait(identity, task.id, None if deadline is None else deadline - time.monotonic())
        if record["status"] == "cancelled":
            return {**told, "status": "cancelled"}
        if record["status"] == "failed":
            why = record["result"] or {}
            if why.get("code") == NotFoundError.code:
                raise NotFoundError(str(target), "file")
            details: dict[str, Any] = {**why.get("details", {}), "task_id": task.id}
            raise ProcessingError(record["error"] or "Reindexing failed", **details)
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        self._worker.drain(store, left, below=target.path)
        self._worker.wake()
        return {**told, **record["result"]}
