"""The lane of the vectors: beside the one of jobs, one call at a time, ended within moments, and never idle in vain."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.stubs.embedders import HashEmbedder, Vector, unavailable

from openviking.config.settings import EmbeddingSettings
from openviking.errors import FailedPreconditionError, UnavailableError
from openviking.ingest.background import Turn
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.providers.embedder import Refused, Unmade
from openviking.service import vector_lane as lane_module
from openviking.service.embedding import Embedding
from openviking.service.vector_lane import VectorLane
from openviking.service.worker import Worker
from openviking.store.batch import PutFile
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore
from openviking.store.vectors import LEASE_MS

PATIENCE_S = 20.0


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder(batch=4)


@pytest.fixture
def making(store: SqliteStore, embedder: HashEmbedder) -> Iterator[Callable[..., Worker]]:
    """``making(threads, kind=step, …)``: a worker with a lane beside it, which looks by itself once a minute."""
    made: list[Worker] = []

    def start(threads: int = 1, **steps: Callable[[AccountStore, Turn], bool]) -> Worker:
        embedding = Embedding(EmbeddingSettings(), lambda _: None, embedder)
        lane = VectorLane(lambda: [store], embedding, running=threads > 0, interval=60.0)
        made.append(Worker(lambda: [store], steps, threads, 60.0, lane))
        return made[-1]

    yield start
    for one in made:
        one.stop()


def put(store: SqliteStore, count: int, name: str = "f") -> None:
    store.apply(
        [
            PutFile(f"resources/{name}{number}.md", prepare("x.md", f"{name} {number}\n".encode()))
            for number in range(count)
        ]
    )


def until(condition: Callable[[], bool]) -> bool:
    look = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        if condition():
            return True
        look.wait(0.01)
    return False


def waiting(store: SqliteStore, embedder: HashEmbedder) -> int:
    return store.vectors.waiting(embedder.model.fingerprint)


def test_a_job_is_not_behind_vectors(store: SqliteStore, embedder: HashEmbedder, making: Callable[..., Worker]) -> None:
    done = threading.Event()

    def step(_store: AccountStore, _turn: Turn) -> bool:
        done.set()
        return False

    embedder.hang = True
    asked = threading.Event()
    embedder.before = lambda _: asked.set()
    worker = making(1, a=step)
    store.vectors.use(embedder.model)
    put(store, 20)
    worker.wake()
    assert asked.wait(PATIENCE_S)
    store.jobs.enqueue(NewJob("a", "k", {}))
    worker.wake()
    assert done.wait(PATIENCE_S)
    embedder.hang = False
    assert until(lambda: waiting(store, embedder) == 0)


def test_what_this_process_writes_is_begun_at_once(
    store: SqliteStore, embedder: HashEmbedder, making: Callable[..., Worker]
) -> None:
    """The lane's interval is a minute."""
    worker = making()
    assert until(lambda: store.vectors.enqueue_missing(embedder.model.fingerprint, 1) is False)
    for round_ in range(3):
        put(store, 4, f"r{round_}x")
        worker.wake()
        assert until(lambda: waiting(store, embedder) == 0)
    # Vectors of content that was there before come without a write too.
    assert embedder.calls >= 3


def test_whoever_waits_comes_before_the_backlog(
    store: SqliteStore, embedder: HashEmbedder, making: Callable[..., Worker]
) -> None:
    step = threading.Semaphore(0)

    def before(_: Sequence[str]) -> None:
        step.acquire(timeout=PATIENCE_S)

    embedder.before = before
    worker = making()
    store.vectors.use(embedder.model)
    put(store, 200)
    worker.wake()
    assert until(lambda: embedder.calls == 1)
    store.apply([PutFile("resources/own/mine.md", prepare("mine.md", b"mine\n"))])
    threading.Timer(0.05, lambda: step.release(30)).start()
    worker.drain(store, PATIENCE_S, below="resources/own/mine.md")
    assert "mine\n" in embedder.texts
    assert waiting(store, embedder) > 80
    step.release(1000)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [0, 1])
def test_stopping_ends_calls_and_waits_within_moments(
    store: SqliteStore, embedder: HashEmbedder, making: Callable[..., Worker], threads: int
) -> None:
    embedder.hang = True
    asked = threading.Event()
    embedder.before = lambda _: asked.set()
    worker = making(threads)
    store.vectors.use(embedder.model)
    put(store, 20)
    caught: list[FailedPreconditionError] = []

    def wait() -> None:
        try:
            worker.drain(store, None)
        except FailedPreconditionError as error:
            caught.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    assert asked.wait(PATIENCE_S)
    start = time.monotonic()
    worker.stop()
    waiter.join(PATIENCE_S)
    assert time.monotonic() - start < 4
    assert [error.details["missing"]["vectors"] > 0 for error in caught] == [True]
    # Whatever was claimed is to be had at once, and what comes of a call that was left behind is not stored twice.
    assert len(store.vectors.claim(embedder.model.fingerprint, 1000)) == waiting(store, embedder)
    embedder.hang = False
    assert until(lambda: not any(thread.name == "openviking-vectors-call" for thread in threading.enumerate()))
    assert store.vectors.coverage(embedder.model.fingerprint).have == 0


class _CutOff(HashEmbedder):
    """Makes the first half of a call, and the rest not before it is closed: then it gives what it has."""

    def passages(  # type: ignore[override]
        self, texts: Sequence[str], *, timeout: float
    ) -> list[Vector | Refused | Unmade]:
        half = len(texts) // 2
        made = super().passages(texts[:half], timeout=timeout)
        self.hang = True
        try:
            return [*made, *super().passages(texts[half:], timeout=timeout)]
        except UnavailableError as error:
            return [*made, *[Unmade(error)] * (len(texts) - half)]


class _Closing(Embedding):
    """Closes an embedder that was given too."""

    def close(self) -> None:
        self.embedder.close()
        super().close()


def test_what_a_call_had_made_when_the_store_was_closed_stays(store: SqliteStore) -> None:
    embedder = _CutOff(batch=16)
    store.vectors.use(embedder.model)
    put(store, 12)
    queued = waiting(store, embedder)
    asked = threading.Event()
    embedder.before = lambda _: asked.set()
    embedding = _Closing(EmbeddingSettings(), lambda _: None, embedder)
    lane = VectorLane(lambda: [store], embedding, running=True, interval=60.0)
    assert asked.wait(PATIENCE_S)
    lane.stop()
    have = store.vectors.coverage(embedder.model.fingerprint).have
    assert 0 < have < queued
    assert waiting(store, embedder) == queued - have


def test_a_long_call_keeps_its_passages(
    store: SqliteStore, embedder: HashEmbedder, making: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_module, "RENEWED_S", 0.05)
    embedder.hang = True
    worker = making()
    store.vectors.use(embedder.model)
    put(store, 4)
    worker.wake()
    assert until(lambda: embedder.calls == 1)
    first = store.vectors.next_due(embedder.model.fingerprint)
    assert first is not None
    assert until(lambda: (store.vectors.next_due(embedder.model.fingerprint) or 0) > first)
    assert (store.vectors.next_due(embedder.model.fingerprint) or 0) > time.time() * 1000 + LEASE_MS / 2
    embedder.hang = False
    assert until(lambda: waiting(store, embedder) == 0)


def test_an_outage_is_told_once_and_heals_by_itself(
    store: SqliteStore, embedder: HashEmbedder, making: Callable[..., Worker], caplog: pytest.LogCaptureFixture
) -> None:
    embedder.error = unavailable()
    worker = making()
    store.vectors.use(embedder.model)
    put(store, 20)
    worker.wake()
    assert until(lambda: embedder.calls >= 2)
    used, start = time.process_time(), time.monotonic()
    embedder.error = None
    assert until(lambda: waiting(store, embedder) == 0)
    assert time.process_time() - used < 0.3 + 0.2 * (time.monotonic() - start)
    said = [record.getMessage() for record in caplog.records]
    assert said == ["vectors have to wait: stub: connection refused"]


@pytest.mark.slow
def test_many_threads_that_wait_do_not_hammer_a_model_that_fails(
    store: SqliteStore, embedder: HashEmbedder, making: Callable[..., Worker]
) -> None:
    embedder.error = unavailable()
    worker = making()
    store.vectors.use(embedder.model)
    put(store, 40)
    failures: list[Exception] = []

    def wait() -> None:
        try:
            worker.drain(store, 2.5)
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=wait) for _ in range(6)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    # At most all of them were under way when the outage began, each with its proof; then one after each pause.
    assert len(failures) == len(threads)
    assert embedder.calls <= 2 * len(threads) + (time.monotonic() - start)


def test_a_store_that_cannot_take_vectors_ends_a_wait(
    store: SqliteStore, embedder: HashEmbedder, making: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = making(0)
    store.vectors.use(embedder.model)
    put(store, 4)

    def full(*_: object) -> int:
        raise UnavailableError("The disk is full", service="store", reason="full")

    with monkeypatch.context() as patch:
        patch.setattr(type(store.vectors), "put", full)
        with pytest.raises(UnavailableError, match="The disk is full"):
            worker.drain(store, None)
    assert embedder.calls <= 3
    worker.drain(store, None)
    assert waiting(store, embedder) == 0


def test_a_refused_batch_of_texts_is_not_waited_for(
    store: SqliteStore, embedder: HashEmbedder, making: Callable[..., Worker]
) -> None:
    put(store, 3, "POISON")

    making(0).drain(store, None)
    refused = store.vectors.refused(embedder.model.fingerprint, 10)
    assert len([one for one in refused if one.path.endswith(".md")]) == 3


def test_a_long_backlog_of_one_store_keeps_no_other_waiting(
    store: SqliteStore, embedder: HashEmbedder, tmp_path: Path
) -> None:
    other = SqliteStore(tmp_path / "other", PathAnalyser())
    step = threading.Semaphore(0)

    def before(_: Sequence[str]) -> None:
        step.acquire(timeout=PATIENCE_S)

    embedder.before = before
    for one, count in ((store, 200), (other, 4)):
        one.vectors.use(embedder.model)
        put(one, count, "one" if one is store else "other")
    embedding = Embedding(EmbeddingSettings(), lambda _: None, embedder)
    lane = VectorLane(lambda: [store, other], embedding, running=True, interval=60.0)
    step.release(3)
    assert until(lambda: waiting(other, embedder) == 0)
    assert waiting(store, embedder) > 180
    step.release(1000)
    lane.stop()
    other.close()


@pytest.mark.slow
def test_a_store_that_cannot_take_vectors_is_left_alone_for_longer_and_longer(
    store: SqliteStore, embedder: HashEmbedder, making: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise UnavailableError("The disk is full", service="store", reason="full")

    store.vectors.use(embedder.model)
    put(store, 4)
    with monkeypatch.context() as patch:
        patch.setattr(type(store.vectors), "put", full)
        worker = making()
        assert until(lambda: embedder.calls == 2)
        start = time.monotonic()
        assert until(lambda: embedder.calls == 3)
        assert time.monotonic() - start > 0.7
    worker.wake()
    assert until(lambda: waiting(store, embedder) == 0)
