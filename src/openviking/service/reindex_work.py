"""What a worker does for a reindex: looking piece by piece, mending, parsing again, summaries, vectors."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from openviking.errors import OpenVikingError
from openviking.ingest.background import PREPARE_BATCH, PREPARE_BYTES, Step, Turn, described
from openviking.ingest.prepare import PREPARED, prepare
from openviking.ingest.sidecars import render
from openviking.model.node import Node
from openviking.service.auditing import pieces
from openviking.service.embedding import Embedding
from openviking.service.task_run import TASK, TaskRun, Unfinished, tracked
from openviking.store.audit import KINDS, PRUNE, VECTORS, Damage, Piece
from openviking.store.batch import Operation, Outdate, PutFile, Remove, SetTags
from openviking.store.port import AccountStore

KIND: Final = "reindex"
MAX_WARNINGS: Final = 20
LOST: Final = ("content_missing", "content_changed")

_KEPT: Final = "vectors are kept by content and model: those that were there are right and were not made again"


@dataclass(slots=True)
class _Work:
    """One reindex: what is to be done, and what was done so far."""

    store: AccountStore
    run: TaskRun
    payload: dict[str, Any]
    counts: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    queued: int = 0

    @property
    def path(self) -> str:
        return str(self.payload["path"])

    def warn(self, told: str) -> None:
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(told)

    def check(self) -> None:
        """Raises `Unfinished` where the work is to end before it is complete."""
        if self.run.cancelled():
            raise Unfinished

    def looked(self, *, bytes_too: bool) -> Iterator[Piece]:
        """The pieces of the place, until the task is cancelled."""
        done = 0
        whole = not self.path and bool(self.payload["recursive"])
        for piece in pieces(
            self.store, (self.path,), whole=whole, bytes_too=bytes_too, recursive=self.payload["recursive"]
        ):
            yield piece
            done += piece.counts.get("files", 0) + piece.counts.get("directories", 0)
            self.run.stage("scanning", {"done": done})
            self.check()


class ReindexWork:
    """Carries out the jobs of `openviking.service.reindex`."""

    def __init__(self, embedding: Embedding | None) -> None:
        self._embedding = embedding

    def steps(self) -> dict[str, Step]:
        """The kind of job for a worker."""
        return {KIND: tracked(self.carry_out)}

    def carry_out(self, store: AccountStore, turn: Turn, run: TaskRun) -> dict[str, Any]:
        """Do it, or carry on where it was left; raises `Unfinished`."""
        work = _Work(store, run, turn.payload)
        _begin(work)
        with store.read() as view:
            work.counts["scanned_records"] = view.count_records(work.path)
        if turn.payload["mode"] == PRUNE:
            _prune(work)
        elif turn.payload["mode"] == VECTORS:
            self._queue_vectors(work)
        else:
            _derive(work)
        names = ("scanned_records", "rebuilt_records", "deleted_records", "would_delete_records",
                 "unsupported_records", "failed_records", "repaired")  # fmt: skip
        counts = {name: work.counts[name] for name in names}
        taken = max(round((time.time() - turn.payload["began"]) * 1000), 0)
        return {"status": "completed", **counts, "duration_ms": taken, "warnings": work.warnings}

    def _queue_vectors(self, work: _Work) -> None:
        """Queue what has no vector, with ``force`` everything."""
        force = bool(work.payload.get("force"))
        for piece in work.looked(bytes_too=False):
            nodes = piece.nodes if force else piece.wanting
            work.queued += work.store.audit.queue_vectors(nodes, force=force)
        work.counts["rebuilt_records"] = work.counts["scanned_records"]
        if self._embedding is None or not self._embedding.enabled:
            work.warn("there is no embedding model: records are found by their words")
        else:
            work.warn(f"{work.queued} passages were queued" + ("" if force else f"; {_KEPT}"))


def _begin(work: _Work) -> None:
    """Note what is to be made anew, once: an attempt that carries on must not begin from the start."""
    task = work.store.tasks.get(str(work.payload.get(TASK, "")), None)
    if task is not None and task.stage:
        return
    operations: list[Operation] = []
    if work.payload.get("tags") is not None:
        tags = tuple(work.payload["tags"])
        everywhere = bool(work.payload["recursive"]) and bool(work.payload["is_dir"])
        operations.append(SetTags(work.path, tags, work.payload["tag_mode"], everywhere))
    if work.payload["mode"] not in {PRUNE, VECTORS}:
        operations.append(Outdate(work.path, work.payload["recursive"]))
        # What a model would not look at may be another's to look at by now.
        work.store.pictures.forget_refusals(work.path)
        if work.payload.get("describe"):
            work.store.pictures.forget(work.path)
    if operations:
        work.store.apply(operations)
    work.run.stage("scanning", {"done": 0})


def _mended(work: _Work, found: list[Damage]) -> None:
    work.counts["repaired"] += work.store.audit.mend(found)
    for damage in found:
        work.warn(f"{damage.path or 'the store'}: {damage.detail}")


def _derive(work: _Work) -> None:
    """Mend what is derived from files, and make it anew."""
    for piece in work.looked(bytes_too=True):
        _mended(work, [one for one in piece.found if KINDS[one.kind][0] != PRUNE])
        work.queued += work.store.audit.queue_vectors(piece.wanting)
    _prepare(work)
    while made := render(work.store, work.path):
        work.counts["summaries"] += made
        work.run.stage("summarising", {"done": work.counts["summaries"]})
        work.check()


def _prune(work: _Work) -> None:
    """Remove files whose bytes are lost, and what belongs to nothing."""
    for piece in work.looked(bytes_too=True):
        found = [one for one in piece.found if KINDS[one.kind][0] == PRUNE]
        if work.payload["dry_run"]:
            work.counts["would_delete_records"] += len(found)
            for damage in found:
                work.warn(f"{damage.path or 'the store'}: {damage.detail}")
            continue
        lost = [one for one in found if one.kind in LOST]
        if lost:
            removals = [Remove(one.path or "", base=one.key[1]) for one in lost]
            outcomes = work.store.apply(removals, tolerant=True).outcomes
            work.counts["deleted_records"] += sum(outcome.kind == "removed" for outcome in outcomes)
        _mended(work, [one for one in found if one.kind not in LOST])
        for damage in lost:
            work.warn(f"{damage.path}: its bytes are missing or damaged")


def _prepare(work: _Work) -> None:
    """Prepare what is outdated at and below the place anew."""
    passed_over: set[int] = set()
    while True:
        work.check()
        with work.store.read() as view:
            found = [
                node
                for node in view.outdated(PREPARED, PREPARE_BATCH + len(passed_over), work.path)
                if node.id not in passed_over
            ]
        if not found:
            return
        puts: list[tuple[Node, PutFile]] = []
        held = 0
        for node in found:
            if puts and held + node.size > PREPARE_BYTES:
                break
            held += node.size
            try:
                with work.store.read() as view:
                    data = view.data(node)
                    description = "" if work.payload.get("describe") else described(view, node)
            except OpenVikingError as error:
                passed_over.add(node.id)
                work.counts["failed_records"] += 1
                work.warn(f"{node.uri}: {error.message}")
                continue
            made = prepare(node.name, data, node.hash, description=description)
            puts.append((node, PutFile(node.path, made, mode="replace", base=node.hash)))
        outcomes = work.store.apply([put for _, put in puts], tolerant=True).outcomes if puts else ()
        for (node, _), outcome in zip(puts, outcomes, strict=True):
            # Whoever was faster has it prepared; what can't be written is not tried for ever.
            if outcome.error is not None:
                passed_over.add(node.id)
            work.counts["rebuilt_records"] += outcome.error is None
        work.run.stage("parsing", {"done": work.counts["rebuilt_records"]})
