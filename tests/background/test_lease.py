"""A job stays with its holder however long a piece of it takes, and its holder learns when it does not."""

from __future__ import annotations

import threading
from collections.abc import Callable

from openviking.service.lease import Lease
from openviking.store.jobs import NewJob
from openviking.store.sqlite.account import SqliteStore

SHORT_MS = 60
PATIENCE_S = 20.0


def until(condition: Callable[[], bool]) -> bool:
    """Whether ``condition`` comes true within the patience."""
    look = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        if condition():
            return True
        look.wait(0.01)
    return False


def test_a_lease_is_renewed_while_the_work_says_nothing(store: SqliteStore) -> None:
    job = store.jobs.start(NewJob("a", "k", {}), SHORT_MS)
    first = store.jobs.next_due()
    assert first is not None
    others = threading.active_count()
    with Lease(store.jobs, job, lease_ms=SHORT_MS) as lease:
        assert until(lambda: (store.jobs.next_due() or 0) > first + 3 * SHORT_MS)
        assert store.jobs.claim(("a",), SHORT_MS) is None
        assert not lease.cancelled()
    assert threading.active_count() == others


def test_who_loses_a_lease_is_told(store: SqliteStore) -> None:
    job = store.jobs.start(NewJob("a", "k", {}), -1)
    other = store.jobs.claim(("a",), 60_000)
    assert other is not None
    with Lease(store.jobs, job, lease_ms=SHORT_MS) as lease:
        assert until(lease.cancelled)
        assert lease.lost
    store.jobs.finish(job)
    assert store.jobs.waiting() == {"a": 1}


def test_an_outage_that_outlasts_the_lease_loses_it(store: SqliteStore) -> None:
    job = store.jobs.start(NewJob("a", "k", {}), SHORT_MS)
    broken = SqliteStore(store._connections._path.parent, store._analyser)
    broken.close()
    with Lease(broken.jobs, job, lease_ms=SHORT_MS) as lease:
        assert until(lease.cancelled)


def test_work_that_is_stopped_is_cancelled_and_not_lost(store: SqliteStore) -> None:
    job = store.jobs.start(NewJob("a", "k", {}), 60_000)
    stopped = threading.Event()
    with Lease(store.jobs, job, stopped.is_set) as lease:
        assert not lease.cancelled()
        stopped.set()
        assert lease.cancelled()
        assert not lease.lost
