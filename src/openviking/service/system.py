"""Waiting for queued work, the state of an account, and its audit (contract/core.md §3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from openviking.errors import DeadlineExceededError, OpenVikingError, UnavailableError
from openviking.ingest.prepare import PREPARED
from openviking.model.identity import Identity
from openviking.model.imports import Progress
from openviking.service.accounts import Accounts
from openviking.service.auditing import Auditing
from openviking.service.embedding import Embedding
from openviking.service.targets import sees_all, visible_roots
from openviking.service.worker import Worker
from openviking.store.port import AccountStore, Job, View
from openviking.uri import URI, from_path

REFUSED_LISTED: Final = 200
REFUSED_LOOKED_AT: Final = 10_000
"""Among so many refused passages of an account those are looked for that a caller may see."""


class System:
    """What is done, what is waiting, and whether all is well."""

    def __init__(self, accounts: Accounts, worker: Worker, embedding: Embedding, warnings: Sequence[str] = ()) -> None:
        self._accounts = accounts
        self._worker = worker
        self._embedding = embedding
        self._warnings = list(warnings)
        self._auditing = Auditing(accounts)

    def wait_processed(
        self, identity: Identity, timeout: float | None = None, progress: Callable[[Progress], None] | None = None
    ) -> dict[str, Any]:
        """Await everything that was queued before the call, and what that queues in turn, and help with it.

        Raises what `Worker.drain` raises. Passages that the embedding model refuses are no error; `status` lists them.
        """
        self._worker.drain(self._accounts.store(identity), timeout, progress)
        return self.status(identity)

    def status(self, identity: Identity) -> dict[str, Any]:
        """Counts of files, records and passages, and of what is waiting or was given up.

        Counts are those of the account; what is listed by name is only what the caller may see.
        """
        store = self._accounts.store(identity)
        with store.read() as view:
            stats = view.stats(PREPARED)
            seen = _Seen(view, identity)
        embedding = self._vectors(store, seen)
        failed = store.jobs.failed()
        waiting = store.jobs.waiting()
        if embedding.get("waiting"):
            waiting["vectors"] = embedding["waiting"]
        if pictures := self._worker.pictures_waiting(store):
            waiting["pictures"] = pictures
        return {
            "account": identity.account,
            "user": identity.user,
            "files": stats.files,
            "directories": stats.directories,
            "records": stats.records,
            "passages": stats.passages,
            "waiting": waiting,
            "failed": [{"kind": job.kind, "key": job.key, "error": error} for job, error in failed if seen.job(job)],
            "failed_total": len(failed),
            "stale_sidecars": stats.dirty,
            "outdated_files": stats.outdated,
            "change": stats.change,
            "embedding": embedding,
            "pictures": self._worker.picture_status(store),
            "warnings": self._warnings,
        }

    def _vectors(self, store: AccountStore, seen: _Seen) -> dict[str, Any]:
        """The embedding model, how many passages have a vector of it, and what keeps the others from having one."""
        if not self._embedding.enabled:
            return {"provider": "none", "state": "off"}
        error: OpenVikingError | None = None
        try:
            try:
                fingerprint = self._embedding.model_in_time().fingerprint
            except (UnavailableError, DeadlineExceededError) as caught:
                error, fingerprint = caught, ""
            else:
                self._embedding.make_known(store)
                error = self._no_answer()
            described = self._embedding.describe()
        except OpenVikingError as caught:
            return {"state": "failing", "error": caught.message}
        dimension = described.get("dimension")
        if not fingerprint:
            # The store knows what the service does not tell: what was made under the name of its model.
            known = [one for one in store.vectors.models() if one.name == described.get("model")]
            if known:
                fingerprint, dimension = known[0].fingerprint, known[0].dimension
        coverage = store.vectors.coverage(fingerprint)
        waiting = store.vectors.waiting(fingerprint) if fingerprint else coverage.of
        refused = store.vectors.refused(fingerprint, REFUSED_LISTED if seen.all else REFUSED_LOOKED_AT)
        outage = self._embedding.calls.outage or self._embedding.questions.outage
        if error is None and outage is not None:
            error = outage.error
        return {
            "provider": described.get("provider"),
            "model": described.get("model"),
            "dimension": dimension,
            "state": "failing" if error is not None else "working" if waiting else "ready",
            "error": None if error is None else error.message,
            "have": coverage.have,
            "of": coverage.of,
            "waiting": waiting,
            "refused": [
                {"uri": str(from_path(one.path)), "lines": [one.first_line, one.last_line], "error": one.error}
                for one in refused
                if seen.path(one.path)
            ][:REFUSED_LISTED],
            "refused_total": coverage.refused,
        }

    def _no_answer(self) -> OpenVikingError | None:
        """Why a service does not answer whose model is known without asking it."""
        try:
            self._embedding.ask_once()
        except (UnavailableError, DeadlineExceededError) as error:
            return error
        return None

    def consistency(
        self, identity: Identity, uri: str, *, timeout: float | None = None, cursor: str | None = None
    ) -> dict[str, Any]:
        """Whether all at and below ``uri`` is whole and in the index: as `Auditing.audit`."""
        return self._auditing.audit(identity, uri, timeout=timeout, cursor=cursor)

    def check(self, identity: Identity) -> list[str]:
        """What is inconsistent in the account's store, a sentence each; empty when all is well."""
        return self._accounts.store(identity).check()


class _Seen:
    """What a caller may see of what an account's status lists."""

    def __init__(self, view: View, identity: Identity) -> None:
        self.all = sees_all(identity, URI(()))
        self._roots = [from_path(root) for root in visible_roots(view, identity, URI(()))]

    def path(self, path: str) -> bool:
        """Whether a node may be named."""
        return self.all or any(from_path(path).is_within(root) for root in self._roots)

    def job(self, job: Job) -> bool:
        """Whether a job may be told of: what belongs to no place is told to those who see everything."""
        place = job.payload.get("root") or job.payload.get("parent") if job.kind == "import" else None
        return self.all or (place is not None and self.path(place))
