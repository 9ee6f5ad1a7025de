"""Waiting for queued work, the state of an account, and its audit (contract/core.md §3.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from openviking.errors import NotFoundError, OpenVikingError
from openviking.ingest.embedding import BLANK
from openviking.ingest.prepare import PREPARED
from openviking.model.identity import Identity
from openviking.model.imports import Progress
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.service.embedding import Embedding
from openviking.service.targets import sees_all, visible_roots
from openviking.service.worker import Worker
from openviking.store.port import AccountStore, Gap
from openviking.uri import from_path

REFUSED_LISTED: Final = 200
MISSING_LISTED: Final = 20
PENDING_COUNTED: Final = 10_000


class System:
    """What is done, what is waiting, and whether all is well."""

    def __init__(self, accounts: Accounts, worker: Worker, embedding: Embedding) -> None:
        self._accounts = accounts
        self._worker = worker
        self._embedding = embedding

    def wait_processed(
        self, identity: Identity, timeout: float | None = None, progress: Callable[[Progress], None] | None = None
    ) -> dict[str, Any]:
        """Await everything that was queued before the call, and what that queues in turn, and help with it.

        Raises what `Worker.drain` raises. Passages that the embedding model refuses are no error; `status` lists them.
        """
        self._worker.drain(self._accounts.store(identity), timeout, progress)
        return self.status(identity)

    def status(self, identity: Identity) -> dict[str, Any]:
        """Counts of files, records and passages, and of what is waiting or was given up."""
        store = self._accounts.store(identity)
        with store.read() as view:
            stats = view.stats(PREPARED)
        embedding = self._vectors(store)
        waiting = store.jobs.waiting()
        if embedding.get("waiting"):
            waiting["vectors"] = embedding["waiting"]
        return {
            "account": identity.account,
            "user": identity.user,
            "files": stats.files,
            "directories": stats.directories,
            "records": stats.records,
            "passages": stats.passages,
            "waiting": waiting,
            "failed": [{"kind": job.kind, "key": job.key, "error": error} for job, error in store.jobs.failed()],
            "stale_sidecars": stats.dirty,
            "outdated_files": stats.outdated,
            "change": stats.change,
            "embedding": embedding,
        }

    def _vectors(self, store: AccountStore) -> dict[str, Any]:
        """The embedding model, how many passages have a vector of it, and what keeps the others from having one."""
        if not self._embedding.enabled:
            return {"provider": "none", "state": "off"}
        try:
            model = self._embedding.model_in_time()
            self._embedding.make_known(store)
            described = self._embedding.describe()
        except OpenVikingError as error:
            return {"state": "failing", "error": error.message}
        coverage = store.vectors.coverage("" if model is None else model.fingerprint)
        waiting = coverage.of if model is None else store.vectors.waiting(model.fingerprint)
        refused = [] if model is None else store.vectors.refused(model.fingerprint, REFUSED_LISTED)
        outage = self._embedding.calls.outage or self._embedding.questions.outage
        return {
            "provider": described.get("provider"),
            "model": described.get("model"),
            "dimension": described.get("dimension"),
            "state": "failing" if outage is not None else "working" if waiting else "ready",
            "error": None if outage is None else outage.error.message,
            "have": coverage.have,
            "of": coverage.of,
            "waiting": waiting,
            "refused": [
                {"uri": str(from_path(one.path)), "lines": [one.first_line, one.last_line], "error": one.error}
                for one in refused
                if one.error != BLANK
            ],
        }

    def consistency(self, identity: Identity, uri: str) -> dict[str, Any]:
        """Whether all files at and below ``uri`` are whole and in the index; some of what is missing, and why.

        ``pending_count`` directories are yet to get their summaries; that is no fault. For the root, and for those who
        see all of it, everything that the store's tables promise each other is compared too: ``problems``.
        """
        target = resolve(identity, uri)
        store = self._accounts.store(identity)
        with store.read() as view:
            if view.get(target.path) is None:
                raise NotFoundError(str(target), "directory")
            expected = missing = pending = 0
            gaps: list[Gap] = []
            for path in visible_roots(view, identity, target):
                expected += view.count_records(path)
                pending += len(view.dirty(PENDING_COUNTED, path))
                count, some = view.gaps(path, MISSING_LISTED)
                missing += count
                gaps += some
        problems = store.check() if not target.parts and sees_all(identity, target) else []
        return {
            "ok": not missing and not problems,
            "expected_count": expected,
            "missing_record_count": missing,
            "missing_records_truncated": missing > min(len(gaps), MISSING_LISTED),
            "missing_records": [
                {
                    "uri": str(from_path(gap.path)), "path": gap.path, "level": gap.level,
                    "key": f"{gap.node_id:032x}", "reason": gap.reason,
                }
                for gap in gaps[:MISSING_LISTED]
            ],
            "pending_count": pending,
            "problems": problems[:MISSING_LISTED],
        }  # fmt: skip

    def check(self, identity: Identity) -> list[str]:
        """What is inconsistent in the account's store, a sentence each; empty when all is well."""
        return self._accounts.store(identity).check()
