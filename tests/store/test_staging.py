"""A large file is stored in pieces that let others write in between, and is shown at once."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.stubs.queries import words

from openviking.errors import AlreadyExistsError, NotFoundError, UnavailableError
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.scope import Scope
from openviking.store.batch import MakeDirectory, Operation, PutFile, Remove, StoredPassage
from openviking.store.port import AccountStore
from openviking.store.sqlite import connection as connecting
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.passages import STAGED_PASSAGES
from openviking.store.sqlite.purge import PURGED_PASSAGES, STAGED_MS
from openviking.store.sqlite.staging import PIECE_PASSAGES

pytestmark = pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)

PATH = "resources/big.txt"
COUNT = STAGED_PASSAGES + 500
PIECES = -(-COUNT // PIECE_PASSAGES)


def large(text: str = "x" * COUNT, **fields: object) -> PutFile:
    """A file with a passage for each letter, which is also its only term."""
    cut = tuple(
        StoredPassage(start, start + 1, 1, 1, "", "", letter.encode(), "", "", letter, 1)
        for start, letter in enumerate(text)
    )
    content = dataclasses.replace(prepare("big.txt", text.encode()), passages=cut)
    return PutFile(PATH, content, **fields)  # type: ignore[arg-type]


def state(store: AccountStore) -> dict[str, bool]:
    """Which of the terms are found, and whether that is what the text says."""
    with store.read() as view:
        node = view.get(PATH)
        text = view.text(node) if node is not None else None
        found = {term: bool(view.search(words(term), Scope(), 10)) for term in "xyz"}
        if node is not None:
            rows = view.passages(node)
            assert [row.start for row in rows] == list(range(len(text or "")))
            assert [row.hash.decode() for row in rows] == list(text or "")
    assert found == {term: term in (text or "") for term in "xyz"}
    return found


def passages(store: AccountStore) -> int:
    with store.read() as view:
        return view.stats(0).passages


def clear(store: AccountStore) -> None:
    while store.purge(100):
        assert store.check() == []


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def other(store: AccountStore, place: Path) -> Iterator[AccountStore]:
    """The same account as another process has it."""
    with contextlib.closing(SqliteStore(place, PathAnalyser())) as opened:
        assert opened is not store
        yield opened


@contextlib.contextmanager
def before_each_lock(store: AccountStore, act: Callable[[int], object]) -> Iterator[list[object]]:
    """Calls ``act`` with 0, 1, … whenever ``store`` is about to take the write lock; what came of it is listed."""
    assert isinstance(store, SqliteStore)
    results: list[object] = []

    def traced(statement: str) -> None:
        if statement == "BEGIN IMMEDIATE":
            number = len(results)
            results.append(None)
            try:
                results[number] = act(number)
            except Exception as error:  # noqa: BLE001
                # An error in here would be swallowed by the database.
                results[number] = error

    store._connections._writer.set_trace_callback(traced)
    yield results
    store._connections._writer.set_trace_callback(None)


@pytest.mark.cpu_budget(10)
def test_others_read_the_old_state_and_write_between_the_pieces(
    store: AccountStore, other: AccountStore, put: Callable[..., PutFile]
) -> None:
    store.apply([large("x" * COUNT)])

    def between(number: int) -> object:
        assert other.check() == []
        other.apply([put(f"resources/{number}.md", "other")])
        return state(other)

    with before_each_lock(store, between) as seen:
        [outcome] = store.apply([large("y" * COUNT)]).outcomes
    assert outcome.kind == "updated"
    assert seen == [{"x": True, "y": False, "z": False}] * (PIECES + 1)
    assert state(other) == state(store) == {"x": False, "y": True, "z": False}
    assert store.check() == []
    clear(store)
    assert passages(store) == COUNT + PIECES + 1
    assert store.check() == []


def test_a_piece_is_bounded(store: AccountStore, other: AccountStore) -> None:
    counts: list[int] = []
    with before_each_lock(store, lambda _: counts.append(passages(other))):
        store.apply([large()])
    assert counts == [*range(0, COUNT, PIECE_PASSAGES), COUNT]
    assert store.jobs.waiting() == {"sidecars": 1}
    assert store.purge(100) == 0


def test_what_did_not_change_is_left_alone(store: AccountStore, other: AccountStore) -> None:
    store.apply([large("x" * COUNT + "y" * 10)])
    with store.read() as view:
        node = view.get(PATH)
        assert node is not None
        before = [row.id for row in view.passages(node)][:COUNT]
    with before_each_lock(store, lambda _: state(other)) as seen:
        store.apply([large("x" * COUNT + "z" * COUNT, base=node.hash)])
    assert seen == [{"x": True, "y": True, "z": False}] * (PIECES + 1)
    with store.read() as view:
        assert [row.id for row in view.passages(node)][:COUNT] == before
    assert state(store) == {"x": True, "y": False, "z": True}
    assert passages(store) == 2 * COUNT
    with before_each_lock(store, lambda _: None) as seen:
        store.apply([large("x" * COUNT + "z" * COUNT)])
        store.apply([large("x" * COUNT + "z" * COUNT + "y")])
    assert len(seen) == 2, "nothing is staged where little is new"
    assert store.check() == []


def test_a_short_file_instead_of_a_large_one_leaves_its_passages_to_the_purge(store: AccountStore) -> None:
    store.apply([large()])
    with before_each_lock(store, lambda _: None) as seen:
        store.apply([large("y")])
    assert len(seen) == 1
    assert state(store) == {"x": False, "y": True, "z": False}
    assert "purge" in store.jobs.waiting()
    assert store.check() == []
    assert [store.purge(100), store.purge(100), store.purge(100)] == [1, 1, 0]
    assert COUNT > PURGED_PASSAGES
    assert passages(store) == 1


FASTER = {
    "another tail": ("x" * COUNT + "z" * 9, False),
    "another beginning": ("x" * 9 + "z" * COUNT, True),
    "a short file": ("y", True),
    "no file": ("", True),
}


@pytest.mark.parametrize("what", sorted(FASTER))
def test_another_writer_that_is_faster_is_written_over(store: AccountStore, other: AccountStore, what: str) -> None:
    after, anew = FASTER[what]
    store.apply([large("x" * COUNT)])

    def faster(number: int) -> None:
        if number == PIECES:
            other.apply([large(after)] if after else [Remove(PATH)])

    with before_each_lock(store, faster) as results:
        store.apply([large("x" * COUNT + "y" * COUNT)])
    assert set(results) == {None}
    assert (len(results) > PIECES + 1) == anew
    assert state(store) == {"x": True, "y": True, "z": False}
    assert store.check() == []
    clear(store)
    assert passages(store) == 2 * COUNT


@pytest.mark.parametrize("when", [1, PIECES])
def test_a_writer_that_was_given_up_stages_anew(
    store: AccountStore, other: AccountStore, place: Path, when: int
) -> None:
    def give_up(number: int) -> None:
        if number == when:
            age(place)
            assert other.purge(100) == 1

    with before_each_lock(store, give_up) as results:
        store.apply([large()])
    assert [result for result in results if result] == []
    assert state(store) == {"x": True, "y": False, "z": False}
    assert store.check() == []
    clear(store)
    assert passages(store) == COUNT


def age(place: Path) -> None:
    """As if all that is staged had not been touched for long."""
    with contextlib.closing(sqlite3.connect(place / "store.db")) as connection, connection:
        assert connection.execute(
            "UPDATE nodes SET updated_at = updated_at - ? WHERE name LIKE 'staged-%'", (STAGED_MS + 1000,)
        ).rowcount


def test_a_put_that_is_refused_stages_nothing(store: AccountStore) -> None:
    store.apply([large("y")])
    with before_each_lock(store, lambda _: None) as seen:
        with pytest.raises(AlreadyExistsError):
            store.apply([large(mode="create")])
        with pytest.raises(NotFoundError):
            store.apply([large(below="resources/none")])
    assert len(seen) == 2


def test_a_batch_that_fails_leaves_what_it_staged_to_the_purge(
    store: AccountStore, put: Callable[..., PutFile]
) -> None:
    with pytest.raises(NotFoundError):
        store.apply([large(), put("resources/none.md", "y", mode="replace")])
    assert state(store) == {"x": False, "y": False, "z": False}
    assert store.jobs.waiting() == {"purge": 1}
    assert store.check() == []
    clear(store)
    assert passages(store) == 0


def test_operations_of_one_batch_build_on_each_other(store: AccountStore) -> None:
    both: list[Operation] = [
        MakeDirectory("resources/d"),
        large(below="resources/d"),
        Remove(PATH),
        large("y" * COUNT, mode="create"),
    ]
    again = large("z" * COUNT)
    kinds = [outcome.kind for outcome in store.apply([*both, again, again]).outcomes]
    assert kinds == ["created", "created", "removed", "created", "updated", "unchanged"]
    assert state(store) == {"x": False, "y": False, "z": True}
    assert store.check() == []
    clear(store)
    assert passages(store) == COUNT


def test_one_that_fails_in_a_tolerant_batch_is_undone_alone(store: AccountStore) -> None:
    outcomes = store.apply([large(), large("y" * COUNT, mode="create"), large("z" * COUNT)], tolerant=True).outcomes
    assert [outcome.kind for outcome in outcomes] == ["created", "failed", "updated"]
    assert state(store) == {"x": False, "y": False, "z": True}
    clear(store)
    assert passages(store) == COUNT


KILLED = """
import os, signal, sys
from pathlib import Path
from openviking.ingest.prepare import PathAnalyser
from openviking.store.sqlite.account import SqliteStore
from test_staging import large

store = SqliteStore(Path(sys.argv[1]), PathAnalyser())
left = [int(sys.argv[3])]

def traced(statement):
    if statement == sys.argv[2]:
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1

store._connections._writer.set_trace_callback(traced)
store.apply([large("y" * int(sys.argv[4]))])
"""


@pytest.mark.parametrize(
    ("statement", "number"), [("BEGIN IMMEDIATE", 1), ("BEGIN IMMEDIATE", PIECES), ("COMMIT", PIECES)]
)
def test_a_killed_writer_leaves_nothing_but_work_for_the_purge(
    open_store: Callable[[Path], AccountStore], place: Path, statement: str, number: int
) -> None:
    store = open_store(place)
    store.apply([large("x")])
    store.purge(100)
    waited = store.jobs.newest()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(place), statement, str(number), str(COUNT)], env=environment, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    staged = passages(store) - 1
    assert staged == min(number * PIECE_PASSAGES, COUNT)
    assert state(store) == {"x": True, "y": False, "z": False}
    assert store.check() == []
    assert store.purge(100) == 0, "another process may still be at it"
    assert passages(store) == staged + 1
    assert store.jobs.newest() > waited
    assert "purge" in store.jobs.waiting()
    age(place)
    assert store.purge(100)
    clear(store)
    assert passages(store) == 1
    assert store.check() == []
    store.apply([large("y" * COUNT)])
    assert state(store) == {"x": False, "y": True, "z": False}


def test_the_purge_comes_back_for_what_may_still_be_staged(store: AccountStore, other: AccountStore) -> None:
    def look(number: int) -> None:
        if number == 1:
            job = other.jobs.claim(("purge",), 1000, due_only=False)
            assert job is not None
            assert other.purge(100) == 0
            other.jobs.finish(job)
            assert other.jobs.waiting()["purge"] == 1

    with before_each_lock(store, look) as results:
        store.apply([large()])
    assert set(results) == {None}
    assert "purge" not in store.jobs.waiting(), "nothing is staged any more"


def test_a_lock_that_others_keep_is_said_to_be_busy(
    store: AccountStore, place: Path, put: Callable[..., PutFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "BUSY_TIMEOUT_S", 0.0)
    with contextlib.closing(sqlite3.connect(place / "store.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match=r"busy.*try again") as caught:
            store.apply([put("resources/a.md", "a")])
        assert caught.value.details["retryable"] is True
        connection.execute("ROLLBACK")
    store.apply([put("resources/a.md", "a")])


def test_a_thread_that_had_the_lock_for_long_lets_others_in(store: AccountStore) -> None:
    assert isinstance(store, SqliteStore)
    times: list[float] = []
    store._connections._writer.set_trace_callback(lambda _: times.append(time.monotonic()))
    for _ in range(2):
        with store._connections.writing():
            until = time.monotonic() + 1.5 * connecting.LONG_S
            while time.monotonic() < until:
                pass
    begun, committed, again, _ = times
    assert committed - begun > connecting.LONG_S
    assert again - committed >= connecting.PAUSE_S
