"""Threads that do queued work for the open stores, and the draining of queues by a waiting caller.

Jobs and vectors have lanes of their own: an hour of embedding delays no summary, purge or import.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from openviking.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpenVikingError,
)
from openviking.ingest.background import STEPS, Step, Turn
from openviking.model.imports import Progress
from openviking.service.lease import LEASE_MS, Lease
from openviking.service.outages import Outages
from openviking.service.vector_lane import VectorLane
from openviking.service.vector_wait import VectorWait
from openviking.store.port import AccountStore, Job
from openviking.text import counted, quoted, seconds_told

RETRY_MS: Final = 2_000
FOLLOWING: Final = ("sidecars", "purge", "prepare")
"""Kinds of jobs that follow a write; whoever waits for one write waits for these and for no other's import."""

MAX_ROUNDS: Final = 4
"""Times that a wait looks for what the work that it waited for has queued: an import queues purges and sidecars."""

_FIRST_LOOK_S: Final = 0.02
_LAST_LOOK_S: Final = 0.5

_log = logging.getLogger(__name__)


class Worker:
    """Claims jobs of the open stores; any process with a worker does the work of all.

    ``vectors`` is the lane beside it, None where there is no embedding model; it is woken, waited for and stopped with
    the worker.
    """

    def __init__(
        self,
        stores: Callable[[], list[AccountStore]],
        extra: dict[str, Step],
        threads: int,
        interval: float,
        vectors: VectorLane | None = None,
    ) -> None:
        self._stores = stores
        self._vectors = vectors
        self._steps = {**STEPS, **extra}
        self._interval = interval
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"openviking-worker-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look for work now rather than at the next interval."""
        self._wake.set()
        if self._vectors is not None:
            self._vectors.wake()

    def stop(self) -> None:
        """End the threads; a job in progress is given back at its next piece."""
        self._stop.set()
        self._wake.set()
        if self._vectors is not None:
            self._vectors.stop()
        for thread in self._threads:
            thread.join()

    def stopping(self) -> bool:
        """Whether `stop` was called, so that work under way is to end."""
        return self._stop.is_set()

    def waiting(self, store: AccountStore, up_to: int | None = None, below: str | None = None) -> dict[str, int]:
        """What is not done yet: jobs by kind (those with an id of at most ``up_to``), and ``vectors`` (at and below ``below``)."""
        waiting = store.jobs.waiting(up_to)
        vectors = 0 if self._vectors is None else self._vectors.waiting(store, below or "")
        return {**waiting, "vectors": vectors} if vectors else waiting

    def make_known(self, store: AccountStore) -> None:
        """See to it that what is written to ``store`` from now on is queued for the embedding model, if that is known."""
        if self._vectors is not None:
            self._vectors.embedding.make_known(store)

    def vectors_to_come(self, store: AccountStore, path: str, written: int) -> int:
        """How many passages at and below ``path`` wait for a vector; ``written`` ones if the model is not known yet."""
        if self._vectors is None or not self._vectors.embedding.enabled:
            return 0
        known = self._vectors.embedding.has_model
        return self._vectors.waiting(store, path) if known else written

    def vector_status(self, store: AccountStore, path: str, *, written: bool) -> str:
        """What has become of the vectors of a file: ``complete``, ``queued``, or ``skipped`` without a model.

        ``written``: it was changed, and nobody waited.
        """
        if self._vectors is None or not self._vectors.embedding.enabled:
            return "skipped"
        return "queued" if written or self._vectors.waiting(store, path) else "complete"

    def drain(
        self,
        store: AccountStore,
        timeout: float | None,
        progress: Callable[[Progress], None] | None = None,
        *,
        below: str | None = None,
    ) -> None:
        """Do and await everything that was queued in ``store`` before the call, and what that work queued in turn.

        With ``below`` only what follows a write there: of jobs the `FOLLOWING`, of vectors those of passages at and
        below that path and of the summaries above it. Somebody else's backlog is not waited for, and does not come
        before them. Passages that the model refuses are
        not waited for. Raises `DeadlineExceededError` that says what is missing (nothing is lost then), `InternalError`
        if a job was given up meanwhile, `FailedPreconditionError` if the worker is stopped, `InvalidArgumentError` for
        a ``timeout`` that is no number of seconds; without a timeout `UnavailableError` if the embedding model fails
        for good. A job of a kind that only another release knows is waited for.
        """
        limit = time_limit(timeout)
        deadline = None if limit is None else time.monotonic() + limit
        given_up = {job.id for job, _ in store.jobs.failed()}
        newest = 0
        kinds = None if below is None else FOLLOWING
        # Nothing tells what others queue meanwhile from what this work does: a bound keeps them from going on for ever.
        for _ in range(MAX_ROUNDS):
            before, newest = newest, store.jobs.newest()
            if newest == before or not _of_kinds(store, newest, kinds):
                break
            self._drain_up_to(store, newest, limit, deadline, progress, below)
        lost = [
            (job, error)
            for job, error in store.jobs.failed()
            if job.id <= newest and job.id not in given_up and (kinds is None or job.kind in kinds)
        ]
        if lost:
            # Whose work it was, and the names in its error, are not for everybody who waits: `status` tells those who
            # may know.
            raise InternalError(
                f"Given up: {', '.join(sorted(job.kind for job, _ in lost))}; the status says why",
                failed=[{"kind": job.kind} for job, _ in lost],
            )
        if self._vectors is not None and self._vectors.embedding.enabled:
            VectorWait(self._vectors, store, limit, deadline, progress).until_made(below)

    def _drain_up_to(
        self,
        store: AccountStore,
        newest: int,
        limit: float | None,
        deadline: float | None,
        progress: Callable[[Progress], None] | None,
        below: str | None,
    ) -> None:
        """Do and await the jobs with an id of at most ``newest``."""
        look, most = _FIRST_LOOK_S, 0
        kinds = None if below is None else FOLLOWING
        while waiting := _of_kinds(store, newest, kinds):
            if progress is not None:
                left = sum(waiting.values())
                most = max(most, left)
                progress(Progress("working", most - left, most, 0, ""))
            if self._stop.is_set():
                raise FailedPreconditionError(
                    "Closed before the queued work was done; nothing is lost",
                    missing=self.waiting(store, newest, below),
                )
            if deadline is not None and time.monotonic() >= deadline:
                missing = {
                    kind: count
                    for kind, count in self.waiting(store, newest, below).items()
                    if kinds is None or kind in {*kinds, "vectors"}
                }
                raise DeadlineExceededError(
                    f"Still to be done after {seconds_told(limit or 0.0)}: "
                    + ", ".join(counted(count, kind) for kind, count in missing.items()),
                    operation="wait",
                    timeout=limit or 0.0,
                    missing=missing,
                )
            if self.work(store, up_to=newest, due_only=False, deadline=deadline, kinds=kinds):
                look = _FIRST_LOOK_S
                continue
            # Another holds it, or it is tried again later.
            pause = look if deadline is None else min(look, max(deadline - time.monotonic(), 0))
            self._stop.wait(pause)
            look = min(2 * look, _LAST_LOOK_S)

    def work(
        self,
        store: AccountStore,
        *,
        up_to: int | None = None,
        due_only: bool = True,
        deadline: float | None = None,
        kinds: tuple[str, ...] | None = None,
    ) -> bool:
        """Do one job of ``store`` (of those with an id of at most ``up_to``, of these kinds); False if there was none to claim."""
        job = store.jobs.claim(kinds or tuple(self._steps), LEASE_MS, up_to=up_to, due_only=due_only)
        if job is None:
            return False
        self.carry_out(store, job, deadline)
        return True

    def carry_out(self, store: AccountStore, job: Job, deadline: float | None = None) -> None:
        """Do a claimed job to its end, or until ``deadline``, and report on it."""

        def stopped() -> bool:
            return self._stop.is_set() or (deadline is not None and time.monotonic() >= deadline)

        try:
            with Lease(store.jobs, job, stopped) as lease:
                done = self._done(store, job, lease)
        except OpenVikingError as error:
            _log.warning("job %s %s failed: %s", job.kind, job.key, error.message)
            store.jobs.fail(job, error.message, retry_in=RETRY_MS * job.attempt)
        except Exception as error:  # noqa: BLE001
            # The edge of a job: its fault is recorded with it and ends nothing else.
            _log.exception("job %s %s failed", job.kind, job.key)
            store.jobs.fail(job, repr(error), retry_in=RETRY_MS * job.attempt)
        except BaseException:
            with contextlib.suppress(OpenVikingError):
                store.jobs.give_back(job)
            raise
        else:
            if done:
                store.jobs.finish(job)
            else:
                store.jobs.give_back(job)

    def _done(self, store: AccountStore, job: Job, lease: Lease) -> bool:
        """Do the pieces of a job; False if it was cancelled between two."""
        with store.read() as view:
            turn = Turn(job.payload, view.change, lease.cancelled)
        while self._steps[job.kind](store, turn):
            if lease.cancelled():
                return False
        return True

    def _run(self) -> None:
        outages = Outages()
        while not self._stop.is_set():
            self._wake.clear()
            worked = False
            for store in self._stores():
                if outages.over(store):
                    worked |= self._one(store, outages)
            if not worked and not self._stop.is_set():
                self._wake.wait(self._until_due(outages))

    def _one(self, store: AccountStore, outages: Outages) -> bool:
        try:
            worked = self.work(store)
        except OpenVikingError as error:
            if outages.note(store, error.message) and not self._stop.is_set():
                _log.warning("background work failed: %s", error.message)
        except Exception as error:  # noqa: BLE001
            # The edge of the thread: a fault in one job must not end the work for all.
            if outages.note(store, repr(error)):
                _log.exception("background work failed")
        else:
            outages.end(store)
            return worked
        return False

    def _until_due(self, outages: Outages) -> float:
        """Seconds until there may be work: a job that is due, or the next try of a store that does not answer."""
        wait = self._interval
        for store in self._stores():
            if not outages.over(store):
                wait = min(wait, outages.left(store))
                continue
            try:
                due = store.jobs.next_due(tuple(self._steps))
            except OpenVikingError as error:
                outages.note(store, error.message)
                due = None
            if due is not None:
                wait = min(wait, max(due / 1000 - time.time(), 0.01))
        return wait


def _of_kinds(store: AccountStore, up_to: int, kinds: tuple[str, ...] | None) -> dict[str, int]:
    """Jobs that are not done by kind."""
    waiting = store.jobs.waiting(up_to)
    return waiting if kinds is None else {kind: count for kind, count in waiting.items() if kind in kinds}


def time_limit(timeout: object) -> float | None:
    """``timeout`` as seconds, None for no limit.

    Raises `InvalidArgumentError` unless it is a number of at least 0.
    """
    if timeout is None:
        return None
    # Not a number compares with nothing.
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout >= 0:
        raise InvalidArgumentError(
            f"timeout must be a number of seconds of at least 0, or None for no limit, not {quoted(timeout)}",
            field="timeout",
            value=quoted(timeout),
        )
    return min(float(timeout), threading.TIMEOUT_MAX)
