"""Whether all is well, for people and probes: queues, index, models, disk (contract/core.md §3.1, §3.11)."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from openviking.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    OpenVikingError,
    UnavailableError,
)
from openviking.ingest.prepare import PREPARED
from openviking.model.identity import Identity
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.service.describing import Describing
from openviking.service.embedding import Embedding
from openviking.service.model_calls import without_quotes
from openviking.service.processed import queue_status
from openviking.service.targets import visible_roots
from openviking.service.worker import Worker, time_limit
from openviking.store.port import AccountStore, Stats

Seen = TypeVar("Seen")
VECTORS: Final = "vectors"
LEAST_FREE_BYTES: Final = 64 * 1024 * 1024
"""With less room on the disk than this no write is to be expected to succeed."""


class Observer:
    """The state of the caller's account; the root key, which has none, sees the sum of those that are open.

    No answer names anything stored: counts and states are all there is, and for the root key the errors of models.
    """

    def __init__(self, accounts: Accounts, worker: Worker, embedding: Embedding, *, root_sees_all: bool) -> None:
        self._accounts = accounts
        self._worker = worker
        self._embedding = embedding
        self._root_sees_all = root_sees_all

    def queue(self, identity: Identity) -> dict[str, Any]:
        """What is waiting, and what was given up."""
        rows, failed, pending = [], 0, 0
        for name, waiting, errors in self._queues(identity):
            rows.append((name, waiting, "-", "-", "-", errors, waiting + errors))
            failed, pending = failed + errors, pending + waiting
        rows.append(("TOTAL", pending, "-", "-", "-", failed, pending + failed))
        heads = ("Queue", "Pending", "In Progress", "Processed", "Requeued", "Errors", "Total")
        return _component("queue", _table(heads, rows), has_errors=failed > 0)

    def vikingdb(self, identity: Identity) -> dict[str, Any]:
        """Records, and how many of their passages have a vector."""
        records = passages = have = of = 0
        model = self._embedding.known_model() if self._embedding.enabled else None
        fingerprint = "" if model is None else model.fingerprint
        for stats, coverage in self._of_each(
            identity, lambda store: (_stats(store), store.vectors.coverage(fingerprint))
        ):
            records, passages = records + stats.records, passages + stats.passages
            have, of = have + coverage.have, of + coverage.of
        rows = [("context", records, passages, f"{have}/{of}" if self._embedding.enabled else "off", "fused_0_1")]
        return _component("vikingdb", _table(("Collection", "Records", "Passages", "Vectors", "Scale"), rows))

    def models(self, identity: Identity) -> dict[str, Any]:
        """The models there are, and whether they answer."""
        state, told = self._model(identity)
        rows = [("embedding", told.get("provider", "-"), told.get("model", "-"), told.get("dimension", "-"), state)]
        if (eyes := self._worker.describing) is not None:
            rows.append(("pictures", *self._describing(identity, eyes)))
        failing = any(row[-1] not in {"ready", "off", "not loaded"} for row in rows)
        return _component("models", _table(("Use", "Provider", "Model", "Dimension", "State"), rows), failing=failing)

    def lock(self, identity: Identity) -> dict[str, Any]:  # noqa: ARG002 - the same for everybody
        """Locks: there are none that a caller could meet."""
        return _component("lock", "No path is ever locked: readers have snapshots, writers take turns.")

    def retrieval(self, identity: Identity) -> dict[str, Any]:
        """What find searches with at this moment."""
        if not self._embedding.enabled:
            return _component("retrieval", "find searches with words (no embedding model is configured)")
        questions = self._embedding.questions
        error = None if questions.outage is None and questions.answered else self._embedding.trouble()
        if error is not None:
            return _component(
                "retrieval", f"find searches with words alone: {told_of_model(error, identity)}", has_errors=True
            )
        return _component("retrieval", "find searches with words and vectors")

    def filesystem(self, identity: Identity) -> dict[str, Any]:
        """Files, directories and the room that is left."""
        files = directories = 0
        for stats in self._of_each(identity, _stats):
            files, directories = files + stats.files, directories + stats.directories
        trouble = disk_trouble(self._accounts.path)
        rows = [(files, directories, "ok" if trouble is None else trouble)]
        return _component("filesystem", _table(("Files", "Directories", "Disk"), rows), failing=trouble is not None)

    def system(self, identity: Identity) -> dict[str, Any]:
        """All of it, and whether it is well together."""
        calls: Sequence[Callable[[Identity], dict[str, Any]]] = (
            self.queue, self.vikingdb, self.models, self.lock, self.retrieval, self.filesystem,
        )  # fmt: skip
        components = {one["name"]: one for one in (call(identity) for call in calls)}
        errors = [f"{name}: {one['status']}" for name, one in components.items() if not one["is_healthy"]]
        return {"is_healthy": not errors, "errors": errors, "components": components}

    def is_healthy(self, identity: Identity) -> bool:
        """Whether the stores and the disk work."""
        return bool(self.filesystem(identity)["is_healthy"])

    def count(self, identity: Identity, uri: str | None = None) -> int:
        """Records at and below ``uri`` that the caller may see."""
        target = resolve(identity, uri or "viking://")
        with self._accounts.store(identity).read() as view:
            return sum(view.count_records(path) for path in visible_roots(view, identity, target))

    def wait(self, identity: Identity, timeout: float | None = None) -> dict[str, Any]:
        """Await what was queued before the call; how much each queue had, and what was given up meanwhile.

        Raises what `Worker.drain` raises but for work that was given up, whose errors are counted here.
        """
        limit = time_limit(timeout)
        deadline = None if limit is None else time.monotonic() + limit
        counts = {name: waiting for name, waiting, _ in self._queues(identity)}
        lost: list[dict[str, Any]] = []

        def drain(store: AccountStore) -> None:
            try:
                self._worker.drain(store, None if deadline is None else max(deadline - time.monotonic(), 0.0))
            except InternalError as error:
                lost.extend(error.details.get("failed", [{"kind": "work"}]))

        self._of_each(identity, drain)
        # What was given up may be another user's: neither its name nor its error, which may tell the name.
        errors = [f"{one['kind']} was given up" for one in lost]
        return queue_status(semantic=counts["Semantic"], embedding=counts["Embedding"], semantic_errors=errors)

    def _of_each(self, identity: Identity, look: Callable[[AccountStore], Seen]) -> list[Seen]:
        """What ``look`` finds in the store of the caller, or in each that is open; not in those closed meanwhile."""
        if not (self._root_sees_all and identity.role == "root"):
            return [look(self._accounts.store(identity))]
        seen = []
        for store in self._accounts.open_stores():
            try:
                seen.append(look(store))
            except FailedPreconditionError:
                # Its account was removed, if it is not the worker that ends.
                if self._worker.stopping():
                    raise
        return seen

    def _queues(self, identity: Identity) -> list[tuple[str, int, int]]:
        """Name, waiting and given up of each queue."""
        jobs = vectors = failed = 0
        for waiting, given_up in self._of_each(
            identity, lambda store: (self._worker.waiting(store), len(store.jobs.failed()))
        ):
            vectors += waiting.get(VECTORS, 0)
            jobs += sum(count for kind, count in waiting.items() if kind != VECTORS)
            failed += given_up
        return [("Semantic", jobs, failed), ("Embedding", vectors, 0)]

    def _model(self, identity: Identity) -> tuple[str, dict[str, Any]]:
        if not self._embedding.enabled:
            return "off", {"provider": "none"}
        try:
            told = self._embedding.describe()
        except OpenVikingError as error:
            return told_of_model(error, identity), {}
        trouble = self._embedding.trouble()
        if trouble is not None:
            return told_of_model(trouble, identity), told
        return ("ready" if self._embedding.has_model else "not loaded"), told

    @staticmethod
    def _describing(identity: Identity, eyes: Describing) -> tuple[str, str, str, str]:
        """Provider, model, no dimension, and state of the model that describes pictures."""
        outage = eyes.calls.outage
        try:
            told = eyes.describe()
        except OpenVikingError as error:
            return "-", "-", "-", told_of_model(error, identity)
        state = "ready" if eyes.calls.answered else "not loaded"
        if outage is not None:
            state = told_of_model(outage.error, identity)
        return told.get("provider", "-"), told.get("model", "-"), "-", state


class Readiness:
    """Whether a server can serve; nobody's identity is asked, and nobody's data is told of."""

    def __init__(
        self, path: Path, embedding: Embedding, probe: Callable[[], object], recovered: Callable[[], bool]
    ) -> None:
        self._path = path
        self._embedding = embedding
        self._probe = probe
        self._recovered = recovered

    def checks(self) -> dict[str, Any]:
        """``ready``, and what was looked at: ``ok``, ``not_configured`` or what is wrong.

        A model that does not answer is told of but no reason not to be ready: words answer meanwhile.
        """
        if not self._recovered():
            return {"status": "not_ready", "reason": "initializing"}
        disk = disk_trouble(self._path) or "ok"
        try:
            self._probe()
            store = "ok"
        except OpenVikingError as error:
            # The message may name a path of the host.
            store = f"the store does not answer ({error.code})"
        checks = {
            "agfs": {"status": disk, "checks": {"filesystem": disk, "multiwrite_sync": "not_configured"}},
            "vectordb": store,
            "api_key_manager": store,
            "embedding": self._embedder(),
            "ollama": "not_configured",
        }
        ready = disk == "ok" and store == "ok"
        return {"status": "ready" if ready else "not_ready", "checks": checks}

    def _embedder(self) -> str:
        if not self._embedding.enabled:
            return "not_configured"
        error = self._embedding.trouble()
        if error is None:
            return "ok"
        if isinstance(error, UnavailableError | DeadlineExceededError):
            return "the embedding model does not answer; words answer alone"
        return "the embedding model can't be used as it is configured; words answer alone"


def _stats(store: AccountStore) -> Stats:
    with store.read() as view:
        return view.stats(PREPARED)


def told_of_model(error: OpenVikingError, identity: Identity) -> str:
    """What a caller is told of a model's failure: its own words may quote what somebody else sent it."""
    return error.message if identity.role == "root" else without_quotes(error)


def disk_trouble(path: Path) -> str | None:
    """Why nothing could be written to ``path``, None if all is well."""
    if not os.access(path, os.W_OK | os.X_OK):
        return "the data directory can't be written to"
    try:
        free = shutil.disk_usage(path).free
    except OSError as error:
        return f"the disk can't be asked: {error.strerror}"
    if free < LEAST_FREE_BYTES:
        return f"the disk is full: {free // (1024 * 1024)} MB are free"
    return None


def _component(name: str, status: str, *, failing: bool = False, has_errors: bool = False) -> dict[str, Any]:
    return {"name": name, "is_healthy": not failing, "has_errors": failing or has_errors, "status": status}


def _table(heads: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    cells = [[str(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
