"""Making the index of a part of the tree anew, as a task that survives the process (contract/core.md §3.3)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from openviking.errors import (
    ConflictError,
    InvalidArgumentError,
    NotFoundError,
    OpenVikingError,
    PermissionDeniedError,
    UnsupportedURIError,
)
from openviking.index.choices import one_of
from openviking.index.tags import accepted_tags
from openviking.ingest.background import PREPARE_BATCH, PREPARE_BYTES, Step, Turn
from openviking.ingest.prepare import PREPARED, prepare
from openviking.model.identity import Identity
from openviking.model.node import Node
from openviking.model.task import ACTIVE, NewTask
from openviking.service.access import check_changeable, resolve
from openviking.service.accounts import Accounts
from openviking.service.embedding import Embedding
from openviking.service.lease import LEASE_MS
from openviking.service.running import Running
from openviking.service.targets import sees_all
from openviking.service.task_run import TaskRun, Unfinished, tracked, with_task
from openviking.service.tasks import Tasks
from openviking.service.worker import Worker, time_limit
from openviking.store.batch import Operation, Outdate, PutFile, Remove, SetTags, TagMode
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore

KIND: Final = "reindex"
TASK_TYPE: Final = "admin_reindex"
MODES: Final = ("vectors_only", "semantic_and_vectors", "prune_orphans")
MAX_WARNINGS: Final = 20

_KEPT: Final = "vectors are kept by content and model: those that were there are right and were not made again"


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
        recursive: bool = True,
        tags: Sequence[str] | None = None,
        tag_mode: str = "replace",
    ) -> dict[str, Any]:
        """Make the records at and below ``uri`` anew: what was scanned, rebuilt and deleted; without ``wait`` its task.

        ``vectors_only`` queues what has no vector, also what the model refused. ``semantic_and_vectors`` parses the
        files again and makes the summaries anew. ``prune_orphans`` removes files whose bytes are lost from the disk;
        with ``dry_run`` it only counts them. ``tags`` are given to all of it. Raises `PermissionDeniedError` for a
        member outside of the own tree, `UnsupportedURIError` for sessions, `ConflictError` if it is under way there
        already, `NotFoundError`, and with ``wait`` what `Worker.drain` raises.
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
        operations: list[Operation] = []
        kept = () if tags is None else accepted_tags(tags)[0]
        if tags is not None and target.parts:
            check_changeable(identity, target)
            chosen: TagMode = "append" if tag_mode == "append" else "replace"
            operations.append(SetTags(target.path, kept, chosen, recursive and node.is_dir))
        if mode == "semantic_and_vectors":
            operations.append(Outdate(target.path, recursive))
        task = NewTask(TASK_TYPE, identity.user, str(target), {"mode": mode})
        payload = {
            "path": target.path, "mode": mode, "dry_run": dry_run, "recursive": recursive, "began": time.time(),
        }  # fmt: skip
        # In a queue of its own per place: the same work that waits already is refused there.
        job = with_task(NewJob(KIND, target.path, payload), task)
        told = {"uri": str(target), "mode": mode, "object_type": "directory" if node.is_dir else "file"}
        if operations:
            store.apply(operations)
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
            raise OpenVikingError(record["error"] or "Reindexing failed", task_id=task.id)
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        self._worker.drain(store, left, below=target.path)
        self._worker.wake()
        return {**told, **record["result"]}


class ReindexWork:
    """What a worker does for it."""

    def __init__(self, embedding: Embedding | None) -> None:
        self._embedding = embedding

    def steps(self) -> dict[str, Step]:
        """The kind of job for a worker."""
        return {KIND: tracked(self.carry_out)}

    def carry_out(self, store: AccountStore, turn: Turn, run: TaskRun) -> dict[str, Any]:
        """Do it, or carry on where it was left; raises `Unfinished`."""
        path, mode, recursive = turn.payload["path"], turn.payload["mode"], turn.payload["recursive"]
        counts = {"scanned_records": 0, "rebuilt_records": 0, "deleted_records": 0, "would_delete_records": 0,
                  "unsupported_records": 0, "failed_records": 0}  # fmt: skip
        warnings: list[str] = []
        with store.read() as view:
            counts["scanned_records"] = view.count_records(path)
        if mode == "prune_orphans":
            lost = self._lost(store, path, run, recursive=recursive)
            if turn.payload["dry_run"]:
                counts["would_delete_records"] = len(lost)
            elif lost:
                outcomes = store.apply([Remove(node.path, base=node.hash) for node in lost], tolerant=True).outcomes
                counts["deleted_records"] = sum(outcome.kind == "removed" for outcome in outcomes)
            warnings += [f"{node.uri}: its bytes are missing or damaged" for node in lost[:MAX_WARNINGS]]
        else:
            if mode == "semantic_and_vectors":
                counts["rebuilt_records"], failed = self._prepare(store, path, run)
                counts["failed_records"] = len(failed)
                warnings += failed[:MAX_WARNINGS]
            queued = self._queue_vectors(store, path)
            if mode == "vectors_only":
                counts["rebuilt_records"] = counts["scanned_records"]
                if self._embedding is not None and self._embedding.enabled:
                    warnings.append(f"{queued} passages were queued; {_KEPT}")
                else:
                    warnings.append("there is no embedding model: records are found by their words")
        taken = round((time.time() - turn.payload["began"]) * 1000)
        return {"status": "completed", **counts, "duration_ms": max(taken, 0), "warnings": warnings}

    def _queue_vectors(self, store: AccountStore, path: str) -> int:
        model = None if self._embedding is None or not self._embedding.enabled else self._embedding.known_model()
        return 0 if model is None else store.vectors.repair(model.fingerprint, path)

    @staticmethod
    def _prepare(store: AccountStore, path: str, run: TaskRun) -> tuple[int, list[str]]:
        """Prepare what is outdated at and below ``path`` anew; how many, and what could not be."""
        done = 0
        passed_over: set[int] = set()
        failed: list[str] = []
        while True:
            if run.cancelled():
                raise Unfinished
            with store.read() as view:
                found = [
                    node
                    for node in view.outdated(PREPARED, PREPARE_BATCH + len(passed_over), path)
                    if node.id not in passed_over
                ]
            if not found:
                return done, failed
            puts: list[tuple[Node, PutFile]] = []
            held = 0
            for node in found:
                if puts and held + node.size > PREPARE_BYTES:
                    break
                held += node.size
                try:
                    with store.read() as view:
                        data = view.data(node)
                except OpenVikingError as error:
                    passed_over.add(node.id)
                    failed.append(f"{node.uri}: {error.message}")
                    continue
                puts.append(
                    (node, PutFile(node.path, prepare(node.name, data, node.hash), mode="replace", base=node.hash))
                )
            outcomes = store.apply([put for _, put in puts], tolerant=True).outcomes if puts else ()
            for (node, _), outcome in zip(puts, outcomes, strict=True):
                # Whoever was faster has it prepared; what can't be written is not tried for ever.
                if outcome.error is not None:
                    passed_over.add(node.id)
                done += outcome.error is None
            run.stage("parsing", {"done": done})

    @staticmethod
    def _lost(store: AccountStore, path: str, run: TaskRun, *, recursive: bool) -> list[Node]:
        """Files whose bytes are missing or damaged."""
        lost: list[Node] = []
        with store.read() as view:
            for looked, entry in enumerate(view.walk(path, depth=None if recursive else 1, files_only=True)):
                if run.cancelled():
                    raise Unfinished
                try:
                    view.data(entry.node)
                    view.text(entry.node)
                except OpenVikingError:
                    lost.append(entry.node)
                run.stage("scanning", {"done": looked})
        return lost
