"""What waits for a vector, who gets it in which order, and what is stored of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.store.vectors.claims import Clock, paths, refusals

from openviking.errors import InternalError
from openviking.ingest.prepare import content_hash, prepare_sidecar
from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.store.batch import PutFile, PutSidecars, Remove
from openviking.store.port import AccountStore
from openviking.store.sqlite import connection as connecting
from openviking.store.vectors import ALONE, LEASE_MS, RETRY_MS, MadeVector, PendingPassage

pytestmark = pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)

Put = Callable[..., PutFile]
Rows = Callable[[str], list[tuple[object, ...]]]
Made = Callable[..., list[MadeVector]]
Embed = Callable[..., list[str]]
Cut = Callable[[str, int], PutFile]
BeforeTheLock = Callable[[AccountStore, Callable[[], object]], list[object]]

DIMENSION = 4
MODEL = EmbeddingModel("m", DIMENSION, 512, "", "", "cls", 0.3, 0.9, multilingual=False)
PRINT = MODEL.fingerprint


CODE = 'def get_user(name):\n    """Look a user up."""\n    return USERS[name]\n'
FRONT = "---\ntitle: Guide\ntags: [apples, pears]\n---\n# Guide\n\n## Setup\n\nUnpack it.\n"


@pytest.mark.parametrize(
    ("name", "text"), [("a.md", FRONT), ("a.py", CODE), ("a.txt", "plain words\n"), ("a.md", " \n")]
)
def test_the_text_of_a_claimed_passage_is_proved_by_its_hash(
    ready: AccountStore, put: Put, name: str, text: str
) -> None:
    ready.apply([put(f"resources/{name}", text)])
    claimed = ready.vectors.claim(PRINT, 10)
    assert claimed
    for one in claimed:
        with ready.read() as view:
            body = view.slice(one.node, one.start, one.end)
        assert (one.node.path, one.level) == (f"resources/{name}", 2)
        assert content_hash(one.title, one.breadcrumb, one.symbol, body) == one.hash


def test_sidecars_wait_too(ready: AccountStore, put: Put, embed: Embed) -> None:
    ready.apply([put("resources/d/a.md", "alpha")])
    embed(ready)
    abstract, overview = prepare_sidecar("d", "About alpha"), prepare_sidecar("d", "# d\n\n- alpha\n")
    ready.apply([PutSidecars("resources/d", 0, "About alpha", "# d\n\n- alpha\n", "extractive", abstract, overview)])
    claimed = ready.vectors.claim(PRINT, 10)
    assert sorted((one.node.path, one.level, one.title) for one in claimed) == [
        ("resources/d", 0, ""),
        ("resources/d", 1, ""),
    ]


def test_without_a_model_nothing_waits(store: AccountStore, put: Put, rows: Rows) -> None:
    store.apply([put("resources/a.md", "alpha")])
    assert store.vectors.claim(PRINT, 10) == []
    assert store.vectors.waiting(PRINT) == store.vectors.newest(PRINT) == 0
    assert store.vectors.next_due(PRINT) is None
    assert store.vectors.put(PRINT, [MadeVector(b"h", "l", np.ones((1, 4), np.float32))]) == 0
    assert store.vectors.coverage(PRINT) == Coverage(0, 1)
    store.apply([Remove("resources/a.md")])
    assert rows("SELECT * FROM loose UNION ALL SELECT hash, id FROM pending") == []
    assert store.check() == []


def test_vectors_are_kept_as_small_numbers_of_length_one(ready: AccountStore, put: Put, rows: Rows) -> None:
    ready.apply([put("resources/a.md", "alpha")])
    [one] = ready.vectors.claim(PRINT, 10)
    windows = np.asarray([[3, 0, 4, 0], [1, 2, 3, 4]], np.float32)
    assert ready.vectors.put(PRINT, [MadeVector(one.hash, one.lease, windows)]) == 1
    [(digest, blob)] = rows("SELECT hash, vector FROM vectors")
    assert digest == one.hash
    assert isinstance(blob, bytes)
    stored = np.frombuffer(blob, "<f2").reshape(2, DIMENSION).astype(np.float32)
    assert np.allclose(stored, windows / np.linalg.norm(windows, axis=1, keepdims=True), atol=1e-3)
    assert ready.check() == []


@pytest.mark.parametrize("shape", [(1, 5), (4,), (0, 5), (1, 4, 1)])
def test_vectors_of_another_shape_are_an_error(
    ready: AccountStore, put: Put, shape: tuple[int, ...], rows: Rows, made: Made
) -> None:
    ready.apply([put("resources/a.md", "alpha"), put("resources/b.md", "beta")])
    first, second = ready.vectors.claim(PRINT, 10)
    with pytest.raises(InternalError) as caught:
        ready.vectors.put(PRINT, [*made([first]), MadeVector(second.hash, second.lease, np.ones(shape, np.float32))])
    assert str(shape) in caught.value.message
    assert "dimension 4" in caught.value.message
    assert rows("SELECT * FROM vectors") == []
    assert ready.vectors.waiting(PRINT) == 2


@pytest.mark.parametrize("numbers", [[0, 0, 0, 0], [1, np.nan, 0, 0], [np.inf, 0, 0, 0]])
def test_a_vector_without_direction_is_a_refusal(ready: AccountStore, put: Put, numbers: list[float]) -> None:
    ready.apply([put("resources/a.md", "alpha")])
    [one] = ready.vectors.claim(PRINT, 10)
    vectors: NDArray[np.float32] = np.asarray([[1, 0, 0, 0], numbers], np.float32)
    assert ready.vectors.put(PRINT, [MadeVector(one.hash, one.lease, vectors)]) == 1
    [refused] = ready.vectors.refused(PRINT, 10)
    assert "without direction" in refused.error


def test_large_and_small_numbers_have_a_direction(ready: AccountStore, put: Put) -> None:
    ready.apply([put("resources/a.md", "alpha"), put("resources/b.md", "beta")])
    small, large = ready.vectors.claim(PRINT, 10)
    vectors = [np.full((1, DIMENSION), size, np.float32) for size in (1e-30, 1e30)]
    both = [MadeVector(one.hash, one.lease, its) for one, its in zip((small, large), vectors, strict=True)]
    assert ready.vectors.put(PRINT, both) == 2
    assert ready.vectors.coverage(PRINT) == Coverage(2, 2)


def test_small_files_come_first_then_the_newest(ready: AccountStore, cut: Cut) -> None:
    ready.apply([cut("resources/small", 16)])
    ready.apply([cut("resources/large", 257)])
    ready.apply([cut("resources/middle", 17), cut("resources/later", 1)])
    ready.apply([cut("resources/middling", 256)])
    claimed = ready.vectors.claim(PRINT, 1000)
    order = ["later", "small", "middling", "middle", "large"]
    assert list(dict.fromkeys(paths(claimed))) == [f"resources/{name}" for name in order]
    assert len(claimed) == 16 + 257 + 17 + 1 + 256
    assert [one.start for one in claimed[1:17]] == list(reversed(range(16)))


def test_what_is_written_again_moves_up(ready: AccountStore, put: Put) -> None:
    ready.apply([put("resources/a.txt", "alpha"), put("resources/b.txt", "beta")])
    newest = ready.vectors.newest(PRINT)
    ready.apply([put("resources/c.txt", "alpha")])
    assert ready.vectors.newest(PRINT) >= newest
    assert ready.vectors.waiting(PRINT, up_to=newest) == ready.vectors.waiting(PRINT) == 2
    assert paths(ready.vectors.claim(PRINT, 10)) == ["resources/c.txt", "resources/b.txt"]


def test_those_queued_until_a_moment(ready: AccountStore, put: Put, made: Made) -> None:
    ready.apply([put("resources/a.txt", "alpha"), put("resources/b.txt", "beta")])
    newest = ready.vectors.newest(PRINT)
    ready.apply([put("resources/c.txt", "gamma")])
    assert ready.vectors.waiting(PRINT, up_to=newest) == 2
    claimed = ready.vectors.claim(PRINT, 10, up_to=newest)
    assert paths(claimed) == ["resources/b.txt", "resources/a.txt"]
    assert ready.vectors.put(PRINT, made(claimed)) == 2
    assert ready.vectors.waiting(PRINT, up_to=newest) == 0
    assert ready.vectors.waiting(PRINT) == 1


def test_those_at_and_below_a_path(ready: AccountStore, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    ready.apply([put("resources/d/a.txt", "alpha"), put("resources/d/e/b.txt", "beta"), put("resources/dd.txt", "dd")])
    ready.apply([put("resources/copy.txt", "beta")])
    for most in (4000, 0):
        monkeypatch.setattr("openviking.store.sqlite.pending.NARROW_PASSAGES", most)
        for below, wanted in (
            ("resources/d", 2),
            ("resources/d/e", 1),
            ("resources/d/e/b.txt", 1),
            ("resources/copy.txt", 1),
            ("resources/d/nothing", 0),
            ("resources", 3),
            ("", 3),
        ):
            assert ready.vectors.waiting(PRINT, below=below) == wanted
            claimed = ready.vectors.claim(PRINT, 10, below=below)
            assert len(claimed) == wanted, below
            ready.vectors.give_back(PRINT, claimed)


def test_what_is_claimed_is_nobody_elses(ready: AccountStore, other: AccountStore, cut: Cut) -> None:
    ready.apply([cut("resources/a", 10)])
    first, second = ready.vectors.claim(PRINT, 6), other.vectors.claim(PRINT, 6)
    assert (len(first), len(second)) == (6, 4)
    assert not {one.hash for one in first} & {one.hash for one in second}
    assert other.vectors.claim(PRINT, 6) == []
    assert ready.vectors.waiting(PRINT) == 10


def test_what_another_claims_in_between_is_its_own(
    ready: AccountStore, other: AccountStore, cut: Cut, before_the_lock: BeforeTheLock
) -> None:
    ready.apply([cut("resources/a", 10)])
    others: list[PendingPassage] = []
    before_the_lock(ready, lambda: others.extend(other.vectors.claim(PRINT, 6)))
    claimed = ready.vectors.claim(PRINT, 6)
    assert (len(claimed), len(others)) == (4, 6)
    assert not {one.hash for one in claimed} & {one.hash for one in others}


def test_a_lease_runs_out(
    ready: AccountStore, other: AccountStore, put: Put, clock: Clock, rows: Rows, made: Made
) -> None:
    ready.apply([put("resources/a.md", "alpha")])
    old = ready.vectors.claim(PRINT, 10)
    assert ready.vectors.next_due(PRINT) == clock.now + LEASE_MS
    clock.now += LEASE_MS - 1
    assert other.vectors.claim(PRINT, 10) == []
    clock.now += 1
    new = other.vectors.claim(PRINT, 10)
    assert [one.hash for one in new] == [one.hash for one in old]
    ready.vectors.give_back(PRINT, old)
    assert ready.vectors.put(PRINT, refusals(old)) == 0, "only the holder may give back or refuse"
    assert ready.vectors.claim(PRINT, 10) == []
    assert ready.vectors.put(PRINT, made(old)) == 1, "a vector is right whoever made it"
    assert other.vectors.put(PRINT, made(new)) == 0
    assert len(rows("SELECT 1 FROM vectors")) == 1
    assert ready.check() == []


def test_what_is_given_back_waits_for_its_time(ready: AccountStore, put: Put, clock: Clock) -> None:
    ready.apply([put("resources/a.md", "alpha"), put("resources/b.md", "beta")])
    [first, second] = ready.vectors.claim(PRINT, 10)
    ready.vectors.give_back(PRINT, [first])
    assert ready.vectors.next_due(PRINT) == clock.now
    [again] = ready.vectors.claim(PRINT, 10)
    ready.vectors.give_back(PRINT, [again, second], retry_in=5_000)
    assert ready.vectors.claim(PRINT, 10) == []
    assert ready.vectors.next_due(PRINT) == clock.now + 5_000
    clock.now += 5_000
    assert len(ready.vectors.claim(PRINT, 10)) == 2


def test_an_idle_look_takes_no_lock(
    ready: AccountStore, put: Put, place: Path, monkeypatch: pytest.MonkeyPatch, made: Made
) -> None:
    ready.apply([put("resources/a.md", "alpha")])
    claimed = ready.vectors.claim(PRINT, 10)
    monkeypatch.setattr(connecting, "BUSY_TIMEOUT_S", 0.0)
    holder = sqlite3.connect(place / "store.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert ready.vectors.claim(PRINT, 10) == []
    assert ready.vectors.enqueue_missing(PRINT, 10) is False
    ready.vectors.use(MODEL)
    ready.vectors.give_back(PRINT, [])
    assert ready.vectors.put(PRINT, []) == 0
    holder.close()
    assert ready.vectors.put(PRINT, made(claimed)) == 1


def test_what_failed_is_put_off_for_longer_and_longer_and_comes_alone(
    ready: AccountStore, put: Put, clock: Clock
) -> None:
    ready.apply([put("resources/new.md", "beta"), put("resources/old.md", "alpha")])
    started, pauses = clock.now, []
    for attempt in range(3):
        [bad, *others] = sorted(ready.vectors.claim(PRINT, 10), key=lambda one: one.node.path, reverse=True)
        assert (bad.node.path, bad.attempts) == ("resources/old.md", attempt)
        assert len(others) == (attempt < ALONE)
        ready.vectors.give_back(PRINT, others)
        ready.vectors.give_back(PRINT, [bad], failed=True)
        # The others are to be had at once, and do not wait for it.
        others = ready.vectors.claim(PRINT, 10)
        assert [one.node.path for one in others] == ["resources/new.md"]
        ready.vectors.give_back(PRINT, others, retry_in=0 if attempt == 0 else RETRY_MS << attempt)
        if attempt:
            pauses.append((ready.vectors.next_due(PRINT) or 0) - clock.now)
        clock.now += RETRY_MS << attempt
    assert pauses == [RETRY_MS << 1, RETRY_MS << 2]
    assert clock.now - started == 7 * RETRY_MS
    # What failed often does not spoil a call for what comes before it, and is left for the next.
    ready.apply([put("resources/newest.md", "gamma")])
    first = ready.vectors.claim(PRINT, 10)
    assert ready.check() == []
    assert [one.node.path for one in first] == ["resources/newest.md", "resources/new.md"]
    assert [one.node.path for one in ready.vectors.claim(PRINT, 1)] == ["resources/old.md"]
