"""Queued work is done once it may be, given up in the end, and whoever waits for it is told the truth."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from openviking.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    UnavailableError,
)
from openviking.ingest.background import Turn
from openviking.ingest.prepare import prepare
from openviking.service import worker as worker_module
from openviking.service.outages import Outages
from openviking.service.worker import MAX_ROUNDS, Worker
from openviking.store.batch import PutFile
from openviking.store.jobs import MAX_ATTEMPTS, NewJob
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore

Making = Callable[..., Worker]


def failing(_store: AccountStore, _turn: Turn) -> bool:
    raise InvalidArgumentError("it does not work")


def doing_nothing(_store: AccountStore, _turn: Turn) -> bool:
    return False


def attempts(store: SqliteStore) -> int:
    with store._connections.reading() as connection:
        return int(connection.execute("SELECT max(attempt) FROM jobs").fetchone()[0])


def test_waiting_keeps_the_delay_between_attempts(store: SqliteStore, worker: Making) -> None:
    store.jobs.enqueue(NewJob("a", "k", {}, delay=60_000))
    with pytest.raises(DeadlineExceededError) as caught:
        worker(a=failing).drain(store, 0.3)
    assert caught.value.details["missing"] == {"a": 1}
    assert attempts(store) == 1


def test_whoever_waits_is_told_what_was_given_up(
    store: SqliteStore, worker: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "RETRY_MS", 0)
    one = worker(a=failing, b=doing_nothing)
    store.jobs.enqueue(NewJob("a", "k", {}))
    store.jobs.enqueue(NewJob("b", "k", {}))
    with pytest.raises(InternalError, match="Given up: a;") as caught:
        one.drain(store, 30)
    # Neither whose work it was nor its error, which may name things of others.
    assert caught.value.details["failed"] == [{"kind": "a"}]
    assert store.jobs.waiting() == {}
    assert [job.attempt for job, _ in store.jobs.failed()] == [MAX_ATTEMPTS]
    store.jobs.enqueue(NewJob("b", "k", {}))
    one.drain(store, 30)


def test_a_fault_of_a_job_is_recorded_and_ends_nothing_else(store: SqliteStore, worker: Making) -> None:
    def faulty(_store: AccountStore, _turn: Turn) -> bool:
        raise ZeroDivisionError("by zero")

    one = worker(a=faulty, b=doing_nothing)
    store.jobs.enqueue(NewJob("a", "k", {}))
    store.jobs.enqueue(NewJob("b", "k", {}))
    assert one.work(store)
    assert one.work(store)
    assert store.jobs.waiting() == {"a": 1}


def test_waiting_ends_although_others_go_on_writing(store: SqliteStore, worker: Making) -> None:
    """A job that queues another one like it without an end, as steady writes do."""

    def causing(store: AccountStore, turn: Turn) -> bool:
        store.jobs.enqueue(NewJob("a", str(int(turn.payload["number"]) + 1), {"number": turn.payload["number"] + 1}))
        return False

    store.jobs.enqueue(NewJob("a", "0", {"number": 0}))
    worker(a=causing).drain(store, 30)
    assert store.jobs.waiting() == {"a": 1}
    store.jobs.enqueue(NewJob("of another release", "k", {}))
    with pytest.raises(DeadlineExceededError) as caught:
        worker(a=causing).drain(store, 0.2)
    assert caught.value.details["missing"] == {"of another release": 1}
    job = store.jobs.claim(("a",), 60_000)
    assert job is not None
    assert job.payload == {"number": MAX_ROUNDS + 1}


def test_what_awaited_work_queues_is_awaited_too(store: SqliteStore, worker: Making) -> None:
    done: list[str] = []

    def causing(store: AccountStore, turn: Turn) -> bool:
        done.append(turn.payload["name"])
        following = {"import": "sidecars", "sidecars": "purge"}.get(turn.payload["name"])
        if following is not None:
            store.jobs.enqueue(NewJob("a", following, {"name": following}, delay=60_000))
        return False

    store.jobs.enqueue(NewJob("a", "import", {"name": "import"}))
    worker(a=causing).drain(store, 30)
    assert done == ["import", "sidecars", "purge"]
    assert store.jobs.waiting() == {}


def test_what_queued_work_gives_up_is_told(store: SqliteStore, worker: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "RETRY_MS", 0)

    def causing(store: AccountStore, _turn: Turn) -> bool:
        store.jobs.enqueue(NewJob("a", "k", {}))
        return False

    store.jobs.enqueue(NewJob("b", "k", {}))
    with pytest.raises(InternalError, match="Given up: a;"):
        worker(a=failing, b=causing).drain(store, 30)


@pytest.mark.parametrize("wrong", [-1, -0.001, math.nan, True, "5", [1]])
def test_a_timeout_that_is_no_number_of_seconds_is_refused_before_anything_is_done(
    store: SqliteStore, worker: Making, wrong: object
) -> None:
    store.jobs.enqueue(NewJob("a", "k", {}))
    with pytest.raises(InvalidArgumentError, match="timeout must be a number of seconds") as caught:
        worker(a=doing_nothing).drain(store, wrong)  # type: ignore[arg-type]
    assert caught.value.details["field"] == "timeout"
    assert store.jobs.waiting() == {"a": 1}
    worker(a=doing_nothing).drain(store, math.inf)


def test_a_store_that_fails_is_left_alone_for_longer_and_longer(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Told by the errors of claims; the clock of the pauses is the test's own."""
    now = [0.0]
    tries: list[float] = []
    enough, broken = threading.Event(), threading.Event()
    broken.set()

    def claim(*_: object, **__: object) -> None:
        if not broken.is_set():
            enough.set()
            return
        tries.append(now[0])
        if len(tries) == 8:
            broken.clear()
        raise UnavailableError("The disk is full", service="store", reason="full")

    monkeypatch.setattr(type(store.jobs), "claim", claim)
    outages = Outages(lambda: now[0])
    monkeypatch.setattr(worker_module, "Outages", lambda: outages)
    store.jobs.enqueue(NewJob("a", "k", {}))
    one = Worker(lambda: [store], {"a": doing_nothing}, 1, 0.001)
    while not enough.is_set():
        # Between two tries the thread waits for this clock; it may be looked at any number of times.
        now[0] += outages.left(store)
        one.wake()
        enough.wait(0.001)
    one.stop()
    assert [round(two - first, 3) for first, two in pairwise(tries)] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0]
    assert [record.getMessage() for record in caplog.records] == ["background work failed: The disk is full"]


def test_waiting_for_sidecars_ends_although_others_go_on_writing(store: SqliteStore, worker: Making) -> None:
    """Between any two pieces of the job another file is written, deeper than all before."""
    numbers = iter(range(10_000))

    def write() -> None:
        number = next(numbers)
        path = f"resources/deep{'/d' * 9}/{number % 50}/{number}.md"
        store.apply([PutFile(path, prepare("x.md", b"# later\n"))])

    from openviking.ingest.background import STEPS

    def step(store: AccountStore, turn: Turn) -> bool:
        write()
        return STEPS["sidecars"](store, turn)

    store.apply([PutFile(f"resources/early/{name}/x.md", prepare("x.md", b"# early\n")) for name in "abc"])
    worker(sidecars=step).drain(store, 30)
    assert next(numbers) < 100
    with store.read() as view:
        early = [view.sidecars(f"resources/early/{name}") for name in "abc"]
    assert [sidecars is not None and not sidecars.stale for sidecars in early] == [True] * 3


def test_a_kind_of_another_release_is_waited_for_without_spinning(store: SqliteStore, worker: Making) -> None:
    store.jobs.enqueue(NewJob("of another release", "k", {}))
    start = time.thread_time()
    with pytest.raises(DeadlineExceededError):
        worker().drain(store, 0.5)
    assert time.thread_time() - start < 0.25
    one = worker(a=doing_nothing)
    assert one._until_due(Outages()) == 60.0


def test_closing_ends_a_wait(store: SqliteStore, worker: Making) -> None:
    store.jobs.enqueue(NewJob("of another release", "k", {}))
    one = worker()
    told = threading.Event()
    caught: list[FailedPreconditionError] = []

    def wait() -> None:
        try:
            one.drain(store, None, lambda _: told.set())
        except FailedPreconditionError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    assert told.wait(20)
    one.stop()
    thread.join(20)
    assert [error.details["missing"] for error in caught] == [{"of another release": 1}]


def test_a_job_stopped_between_two_pieces_keeps_its_attempts(store: SqliteStore, worker: Making) -> None:
    begun = threading.Event()

    def endless(_store: AccountStore, turn: Turn) -> bool:
        begun.set()
        return bool(turn.cancelled) or True

    store.jobs.enqueue(NewJob("a", "k", {}))
    one = worker(1, a=endless)
    assert begun.wait(20)
    one.stop()
    assert store.jobs.waiting() == {"a": 1}
    assert attempts(store) == 0
    with pytest.raises(DeadlineExceededError):
        worker(a=endless).drain(store, 0.05)
    assert attempts(store) == 0


def test_an_interrupted_wait_gives_the_job_back(store: SqliteStore, worker: Making) -> None:
    def interrupted(_store: AccountStore, _turn: Turn) -> bool:
        raise KeyboardInterrupt

    store.jobs.enqueue(NewJob("a", "k", {}))
    with pytest.raises(KeyboardInterrupt):
        worker(a=interrupted).drain(store, 30)
    assert store.jobs.waiting() == {"a": 1}
    assert attempts(store) == 0


def test_an_outage_of_the_store_uses_up_no_attempt(
    store: SqliteStore, worker: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "RETRY_MS", 0)
    with store._connections.writing() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

    def writing(_store: AccountStore, _turn: Turn) -> bool:
        text = "".join(f"word{number} " for number in range(5_000)).encode()
        store.apply([PutFile("resources/a.md", prepare("a.md", text))])
        return False

    one = worker(a=writing)
    store.jobs.enqueue(NewJob("a", "k", {}))
    for _ in range(MAX_ATTEMPTS + 2):
        assert one.work(store, kinds=("a",))
        assert (attempts(store), store.jobs.failed()) == (0, [])
    with store._connections.writing() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert one.work(store, kinds=("a",))
    assert "a" not in store.jobs.waiting()
    with store.read() as view:
        assert view.get("resources/a.md") is not None


def test_an_outage_that_can_not_even_be_noted_uses_up_no_attempt(
    store: SqliteStore, worker: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "RETRY_MS", 0)
    monkeypatch.setattr(worker_module, "LEASE_MS", 0)
    down = [True] * (MAX_ATTEMPTS + 1)

    def locked(_store: AccountStore, _turn: Turn) -> bool:
        if down:
            down.pop()
            store._connections._writer.execute("PRAGMA query_only = ON")
            store.apply([PutFile("resources/a.md", prepare("a.md", b"a"))])
        return False

    one = worker(a=locked)
    store.jobs.enqueue(NewJob("a", "k", {}))
    while down:
        with pytest.raises(UnavailableError, match="can't be written"):
            one.work(store)
        store._connections._writer.execute("PRAGMA query_only = OFF")
    assert one.work(store)
    assert (store.jobs.waiting(), store.jobs.failed()) == ({}, [])


def test_what_can_not_be_given_back_in_an_outage_uses_up_no_attempt(
    store: SqliteStore, worker: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "RETRY_MS", 0)
    monkeypatch.setattr(worker_module, "LEASE_MS", 0)
    done: list[int] = []

    def closing(_store: AccountStore, turn: Turn) -> bool:
        done.append(turn.attempt)
        if len(done) <= MAX_ATTEMPTS + 1:
            store._connections._writer.execute("PRAGMA query_only = ON")
        return False

    one = worker(a=closing)
    store.jobs.enqueue(NewJob("a", "k", {}))
    for _ in range(MAX_ATTEMPTS + 1):
        with pytest.raises(UnavailableError, match="can't be written"):
            one.work(store)
        store._connections._writer.execute("PRAGMA query_only = OFF")
    assert one.work(store)
    assert set(done) == {1}
    assert (store.jobs.waiting(), store.jobs.failed()) == ({}, [])
