"""Threads that do queued work for the open stores, and the draining of queues by a waiting caller.

Jobs and vectors have lanes of their own: an hour of embedding delays no summary, purge or import.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from openviking.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpenVikingError,
)
from openviking.ingest.background import STEPS, Step, Turn
from openviking.model.imports import Progress
from openviking.service.describing import Describing
from openviking.service.describing_lane import DescribingLane
from openviking.service.lease import LEASE_MS, Lease
from openviking.service.outages import Outages
from openviking.service.setbacks import Setbacks
from openviking.service.vector_lane import VectorLane
from openviking.service.vector_wait import VectorWait
from openviking.store.outage import is_outage
from openviking.store.port import AccountStore, Job
from openviking.text import counted, quoted, seconds_told

RETRY_MS: Final = 2_000
FOLLOWING: Final = ("sidecars", "purge", "prepare")
"""Kinds of jobs that follow a write; whoever waits for one write waits for these and for no other's import."""

SLOW_THREADS: Final = 2
"""Threads for the jobs in which a model is asked: one that does not answer keeps the other's commit waiting no longer."""

MAX_ROUNDS: Final = 4
"""Times that a wait looks for what the work that it waited for has queued: an import queues purges and sidecars."""

_FIRST_LOOK_S: Final = 0.02
_LAST_LOOK_S: Final = 0.5

_log = logging.getLogger(__name__)


class Worker:
    """Claims jobs of the open stores; any process with a worker does the work of all.

    ``vectors`` is the lane beside it, None where there is no embedding model; it is woken, waited for and stopped with
    the worker. So is the lane of its own in which ``describing`` looks at pictures. The kinds of jobs that are ``slow``,
    because a model is asked in them, have threads of their own beside the others.
    """

    def __init__(
        self,
        stores: Callable[[], list[AccountStore]],
        extra: dict[str, Step],
        threads: int,
        interval: float,
        vectors: VectorLane | None = None,
        describing: Describing | None = None,
        slow: tuple[str, ...] = (),
    ) -> None:
        self._stores = stores
        self._vectors = vectors
        self._pictures: DescribingLane | None = None
        self._steps = {**STEPS, **extra}
        self._interval = interval
        self._setbacks = Setbacks()
        # Of their own: who clears an event must be who can do what it tells of.
        self._wake, self._wake_slow = threading.Event(), threading.Event()
        self._stop = threading.Event()
        quick = tuple(kind for kind in self._steps if kind not in slow)
        lanes = [(quick, self._wake)] * threads
        lanes += [(slow, self._wake_slow)] * (SLOW_THREADS if threads and slow else 0)
        self._threads = [
            threading.Thread(target=self._run, args=lane, name=f"openviking-worker-{number}", daemon=True)
            for number, lane in enumerate(lanes)
        ]
        if describing is not None and describing.enabled:
            self._pictures = DescribingLane(
                stores, describing, running=threads > 0, interval=interval, written=self._wake_jobs
            )
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look for work now rather than at the next interval."""
        self._wake_jobs()
        if self._pictures is not None:
            self._pictures.wake()

    def _wake_jobs(self) -> None:
        self._wake.set()
        self._wake_slow.set()
        if self._vectors is not None:
            self._vectors.wake()

    def stop(self) -> None:
        """End the threads; a job in progress is given back at its next piece."""
        self._stop.set()
        self._wake.set()
        self._wake_slow.set()
        if self._pictures is not None:
            self._pictures.stop()
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
        if vectors:
            waiting = {**waiting, "vectors": vectors}
        if pictures := self.pictures_waiting(store, below or ""):
            waiting = {**waiting, "pictures": pictures}
        return waiting

    def pictures_waiting(self, store: AccountStore, below: str = "") -> int:
        """How many pictures at and below a path a model is still to describe."""
        return 0 if self._pictures is None else self._pictures.waiting(store, below)

    @property
    def describing(self) -> Describing | None:
        """The model that describes pictures, if there is one."""
        return None if self._pictures is None else self._pictures.describing

    def picture_status(self, store: AccountStore) -> dict[str, Any]:
        """The model that describes pictures, how many wait for it, and how many it never will."""
        return {"state": "off"} if self._pictures is None else self._pictures.status(store)

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
            described = 0
            if self._pictures is not None:
                described = self._pictures.until_described(store, limit, deadline, below or "")
            before, newest = newest, store.jobs.newest()
            if not described and (newest == before or not _of_kinds(store, newest, kinds)):
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
        self._setbacks.report(store)
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
            if done:
                store.jobs.finish(job)
            else:
                store.jobs.give_back(job)
        except OpenVikingError as error:
            _log.warning("job %s %s failed: %s", job.kind, job.key, error.message)
            if is_outage(error):
                self._setbacks.note(store, job, error.message, RETRY_MS)
                return
            self._setbacks.over(store, job)
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
            self._setbacks.over(store, job)

    def _done(self, store: AccountStore, job: Job, lease: Lease) -> bool:
        """Do the pieces of a job; False if it was cancelled between two."""
        with store.read() as view:
            turn = Turn(job.payload, view.change, lease.cancelled, attempt=job.attempt)
        while self._steps[job.kind](store, turn):
            if lease.cancelled():
                return False
        return True

    def _run(self, kinds: tuple[str, ...], wake: threading.Event) -> None:
        outages = Outages()
        while not self._stop.is_set():
            wake.clear()
            worked = False
            for store in self._stores():
                if outages.over(store):
                    worked |= self._one(store, outages, kinds)
            if not worked and not self._stop.is_set():
                wake.wait(self._until_due(outages, kinds))

    def _one(self, store: AccountStore, outages: Outages, kinds: tuple[str, ...]) -> bool:
        try:
            worked = self.work(store, kinds=kinds)
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

    def _until_due(self, outages: Outages, kinds: tuple[str, ...] = ()) -> float:
        """Seconds until there may be work: a job that is due, or the next try of a store that does not answer."""
        wait = self._interval
        for store in self._stores():
            if not outages.over(store):
                wait = min(wait, outages.left(store))
                continue
            try:
                due = store.jobs.next_due(kinds or tuple(self._steps))
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
