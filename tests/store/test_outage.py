"""A store that cannot answer says so: in our own errors, never by an empty answer."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.stubs.queries import words

from openviking.errors import FailedPreconditionError, OpenVikingError, ResourceExhaustedError, UnavailableError
from openviking.model.scope import Scope
from openviking.store.batch import PutFile, SetTags
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.connection import translated
from openviking.store.sqlite.schema import MIGRATIONS

pytestmark = pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)

Put = Callable[..., PutFile]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


def filled(store: AccountStore, put: Put) -> None:
    for number in range(30):
        store.apply([put(f"resources/{number}.md", f"zorblax {number} " * 200)])


def every_question(store: AccountStore) -> list[Callable[[], object]]:
    """Each of the ways to ask a store something."""

    def through_view(ask: Callable[..., object]) -> Callable[[], object]:
        def asking() -> object:
            with store.read() as view:
                return ask(view)

        return asking

    return [
        through_view(lambda view: view.get("resources/1.md")),
        through_view(lambda view: view.children("resources", hidden=True)),
        through_view(lambda view: list(view.walk(""))),
        through_view(lambda view: view.search(words("zorblax"), Scope(), 10)),
        through_view(lambda view: view.records(Scope(), 10)),
        through_view(lambda view: view.stats(0)),
        store.jobs.waiting,
        store.jobs.next_due,
    ]


@pytest.mark.parametrize("content", [b"this is no database" * 300, b"SQLite format 3\x00" + b"\xff" * 8000])
def test_a_file_that_is_no_database_is_refused(
    open_store: Callable[[Path], AccountStore], place: Path, content: bytes
) -> None:
    place.mkdir()
    (place / "store.db").write_bytes(content)
    with pytest.raises(UnavailableError):
        open_store(place)
    assert (place / "store.db").read_bytes() == content


def test_a_database_that_was_overwritten_is_an_error_for_every_question(
    open_store: Callable[[Path], AccountStore], place: Path, put: Put
) -> None:
    store = open_store(place)
    filled(store, put)
    store.close()
    size = (place / "store.db").stat().st_size
    with (place / "store.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    try:
        store = open_store(place)
    except UnavailableError:
        return
    for ask in every_question(store):
        with pytest.raises(UnavailableError):
            ask()
    store.close()


def test_a_truncated_database_is_an_error(open_store: Callable[[Path], AccountStore], place: Path, put: Put) -> None:
    store = open_store(place)
    filled(store, put)
    store.close()
    with (place / "store.db").open("r+b") as file:
        file.truncate(8192)
    with pytest.raises(UnavailableError):
        every_question(open_store(place))[2]()


@pytest.mark.parametrize("how", ["directory removed", "file removed", "file replaced"])
def test_a_store_whose_file_is_gone_answers_nothing_and_takes_nothing(
    store: AccountStore, place: Path, put: Put, how: str
) -> None:
    filled(store, put)
    if how == "directory removed":
        shutil.rmtree(place)
    else:
        (place / "store.db").unlink()
    if how == "file replaced":
        (place / "store.db").write_bytes(b"")
    for ask in every_question(store):
        with pytest.raises(UnavailableError):
            ask()
    with pytest.raises(UnavailableError):
        store.apply([put("resources/new.md", "lost")])
    assert not (place / "store.db").exists() or (place / "store.db").read_bytes() == b""


def test_a_place_that_cannot_be_a_directory_is_an_error(
    open_store: Callable[[Path], AccountStore], place: Path
) -> None:
    place.write_text("a file")
    with pytest.raises(UnavailableError):
        open_store(place)
    with pytest.raises(UnavailableError):
        open_store(place / "below")


def test_a_database_of_a_newer_release_is_refused_and_left_alone(
    open_store: Callable[[Path], AccountStore], place: Path
) -> None:
    open_store(place).close()
    connection = sqlite3.connect(place / "store.db")
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(FailedPreconditionError) as caught:
        open_store(place)
    assert caught.value.details == {"found": len(MIGRATIONS) + 1, "supported": len(MIGRATIONS)}


def test_opening_waits_for_another_that_is_making_the_database(
    open_store: Callable[[Path], AccountStore], place: Path
) -> None:
    place.mkdir()
    other = sqlite3.connect(place / "store.db", isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE early (x)")
    opened: list[object] = []

    def opening() -> None:
        try:
            opened.append(open_store(place).check())
        except OpenVikingError as error:
            opened.append(error)

    opener = threading.Thread(target=opening)
    opener.start()
    until = time.perf_counter() + 0.1
    while opener.is_alive() and time.perf_counter() < until:
        pass
    assert opened == []
    other.execute("ROLLBACK")
    other.close()
    opener.join()
    assert opened == [[]]


def test_a_full_disk_is_said_and_undoes_the_batch(store: AccountStore, put: Put) -> None:
    filled(store, put)
    with store.read() as view:
        change = view.change
    assert isinstance(store, SqliteStore)
    with store._connections.writing() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    store._connections._writer.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(ResourceExhaustedError, match="full"):
        store.apply([put("resources/huge.md", "word " * 40_000)])
    with store.read() as view:
        assert view.change == change
        assert view.get("resources/huge.md") is None
    assert store.check() == []
    store._connections._writer.execute("PRAGMA max_page_count = 1000000")
    store.apply([put("resources/huge.md", "word " * 40_000)])
    assert store.check() == []


@pytest.mark.usefixtures("store")
def test_every_error_of_the_database_is_translated() -> None:
    kinds: list[type[sqlite3.Error]] = [
        sqlite3.Error, sqlite3.InterfaceError, sqlite3.DatabaseError, sqlite3.DataError, sqlite3.OperationalError,
        sqlite3.IntegrityError, sqlite3.InternalError, sqlite3.ProgrammingError, sqlite3.NotSupportedError,
    ]  # fmt: skip
    for kind in kinds:
        with pytest.raises(UnavailableError, match="because"), translated():
            raise kind("because a full stop")


@pytest.mark.usefixtures("store")
def test_memory_that_does_not_suffice_is_an_outage() -> None:
    """SQLite claims that too when a damaged page names a length of gigabytes."""
    with pytest.raises(UnavailableError, match="memory"), translated():
        raise MemoryError


FOREIGN = {
    "tables": "CREATE TABLE nodes (x); INSERT INTO nodes VALUES (1);",
    "another application": "PRAGMA application_id = 7;",
    "our tables under another application": "CREATE TABLE meta (name, value); PRAGMA application_id = 7;",
}


@pytest.mark.parametrize("what", sorted(FOREIGN))
def test_a_database_of_another_program_is_refused_and_left_alone(
    open_store: Callable[[Path], AccountStore], place: Path, what: str
) -> None:
    place.mkdir()
    connection = sqlite3.connect(place / "store.db")
    connection.executescript(FOREIGN[what])
    connection.close()
    before = (place / "store.db").read_bytes()
    with pytest.raises(FailedPreconditionError, match="another program") as caught:
        open_store(place)
    assert str(place / "store.db") in caught.value.message
    assert (place / "store.db").read_bytes() == before
    assert [one.name for one in place.iterdir()] == ["store.db"]


def test_a_store_that_may_not_be_written_is_named_with_the_cause(store: AccountStore, place: Path, put: Put) -> None:
    filled(store, put)
    path = place / "store.db"
    with (
        contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection,
        pytest.raises(UnavailableError, match="readonly") as caught,
        translated(path),
    ):
        connection.execute("DELETE FROM nodes")
    assert str(path) in caught.value.message


def test_a_closed_store_says_so(store: AccountStore, put: Put) -> None:
    filled(store, put)
    store.close()
    store.close()
    for ask in every_question(store):
        with pytest.raises(FailedPreconditionError, match="closed"):
            ask()
    for change in (
        lambda: store.apply([SetTags("resources/1.md", ("k=v",))]),
        lambda: store.jobs.enqueue(NewJob("a", "k", {})),
        lambda: store.purge(1),
        store.check,
    ):
        with pytest.raises(FailedPreconditionError, match="closed"):
            change()


def test_closing_waits_for_reads_that_are_under_way(store: AccountStore, put: Put) -> None:
    filled(store, put)
    inside, go_on = threading.Event(), threading.Event()
    seen: list[int] = []

    def reading() -> None:
        with store.read() as view:
            walk = view.walk("resources")
            next(walk)
            inside.set()
            go_on.wait()
            seen.append(len(list(walk)))

    reader = threading.Thread(target=reading)
    reader.start()
    inside.wait()
    closer = threading.Thread(target=store.close)
    closer.start()
    with contextlib.suppress(FailedPreconditionError):
        while True:
            store.jobs.newest()
    assert closer.is_alive()
    go_on.set()
    reader.join()
    closer.join()
    assert seen == [29]


@pytest.mark.cpu_budget(6)
def test_closing_while_many_threads_work(open_store: Callable[[Path], AccountStore], place: Path, put: Put) -> None:
    """Each call is answered rightly or told that the store is closed; nothing else ever escapes."""
    store = open_store(place)
    filled(store, put)
    for _ in range(5):
        wrong: list[BaseException | int] = []
        started = threading.Barrier(7)

        def work(
            number: int, store: AccountStore, started: threading.Barrier, wrong: list[BaseException | int]
        ) -> None:
            started.wait()
            try:
                for turn in range(1000):
                    if number == 0:
                        store.apply([SetTags("resources/1.md", (f"k={turn}",))])
                    with store.read() as view:
                        if (count := len(view.search(words("zorblax"), Scope(), 100))) < 30:
                            wrong.append(count)
            except FailedPreconditionError:
                pass
            except BaseException as error:  # noqa: BLE001
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(number, store, started, wrong)) for number in range(6)]
        for thread in threads:
            thread.start()
        started.wait()
        store.check()
        store.close()
        for thread in threads:
            thread.join()
        assert wrong == []
        store = open_store(place)
    assert store.check() == []
    store.close()


def test_threads_that_come_and_go_leave_nothing_open(store: AccountStore, put: Put) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("no /proc on this system")
    filled(store, put)

    def ask() -> None:
        with store.read() as view:
            assert view.get("resources/1.md") is not None

    ask()
    before = len(list(descriptors.iterdir()))
    for _ in range(200):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert len(list(descriptors.iterdir())) <= before + 10


@pytest.mark.cpu_budget(4)
def test_many_threads_write_and_read(store: AccountStore, put: Put) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        try:
            for turn in range(8):
                path = f"resources/t{number}/{turn}.md"
                store.apply([put(path, f"word{number}x{turn}")])
                with store.read() as view:
                    found = [one.node.path for one in view.search(words(f"word{number}x{turn}"), Scope(), 10)]
                    below = view.count_below(f"resources/t{number}")
                if found != [path] or below != turn + 1:
                    wrong.append((found, below))
        except OpenVikingError as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with store.read() as view:
        assert view.count_below("resources") == 8 * 9
    assert store.check() == []
