"""Connections to one database file: one for writing behind a lock, and as many for reading as are used at once."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from openviking.errors import FailedPreconditionError, ResourceExhaustedError, UnavailableError
from openviking.store.sqlite import filtering
from openviking.store.sqlite.private import make_file
from openviking.store.sqlite.schema import APPLICATION, MIGRATIONS, Migration, migrate, recognise
from openviking.uri import context_type, owner

BUSY_TIMEOUT_S: Final = 30.0
CLOSING_TIMEOUT_S: Final = 30.0
"""How long closing waits for reads that are under way; what still reads then closes its connection itself."""

MAPPED_BYTES: Final = 256 * 1024 * 1024
"""What is mapped counts as the process's own memory, so that a large store must not be mapped whole."""

IDLE_READERS: Final = 8

LOOK_S: Final = 0.005
"""How often a writer looks whether the lock is free. SQLite's own waiting looks ever more rarely, and finds it taken."""

LONG_S: Final = 0.02
PAUSE_S: Final = 0.01
"""A thread that had the lock for longer than the one leaves it free for the other, so that everybody gets a turn."""

MINIMUM: Final = (3, 40, 0)
_PRIMARY: Final = 0xFF
"""The part of an error code of SQLite that names its kind."""


@contextlib.contextmanager
def translated(path: Path | None = None) -> Iterator[None]:
    """Turns SQLite's errors into ours: an outage of the store is never mistaken for an empty answer."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None) or 0
        if code == sqlite3.SQLITE_FULL:
            raise ResourceExhaustedError(f"The disk is full: {error}", resource="store") from error
        if code & _PRIMARY in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise _busy(str(error)) from error
        if code & _PRIMARY in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
            raise UnavailableError(
                f"The store can't be written: {error}. {path or 'Its file'}, the files beside it and their directory"
                " must be writable",
                service="store",
                reason=str(error),
            ) from error
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError | sqlite3.ProgrammingError
        )
        state = "is damaged" if damaged else "does not answer"
        raise UnavailableError(f"The store {state}: {error}", service="store", reason=str(error)) from error
    except MemoryError as error:
        # SQLite says so too where a damaged page claims to hold gigabytes.
        raise UnavailableError(
            "The store does not answer: there is not enough memory, or it is damaged",
            service="store",
            reason="out of memory",
        ) from error


def _busy(reason: str) -> UnavailableError:
    error = UnavailableError(
        f"The store is busy: others have been writing for {BUSY_TIMEOUT_S:g} s; try again",
        service="store",
        reason=reason,
    )
    error.details["retryable"] = True
    return error


class Connections:
    """The connections of one process to one database file.

    A thread that reads takes an idle connection, or opens one, for as long as its view lives: so threads that come
    and go leave nothing open. ``application`` and ``migrations`` say what kind of database it is.
    """

    def __init__(
        self, path: Path, *, application: int = APPLICATION, migrations: Sequence[Migration] = MIGRATIONS
    ) -> None:
        if sqlite3.sqlite_version_info < MINIMUM:
            raise FailedPreconditionError(
                f"SQLite {sqlite3.sqlite_version} is too old, {'.'.join(map(str, MINIMUM))} or newer is needed",
                found=sqlite3.sqlite_version,
            )
        self._path = path.absolute()
        self._application = application
        self._lock = threading.RLock()
        self._readers = threading.Condition()
        self._idle: list[sqlite3.Connection] = []
        self._reading = 0
        self._local = threading.local()
        self._closed = False
        try:
            make_file(self._path)
        except OSError as error:
            raise UnavailableError(
                f"The store's file {self._path} can't be made: {error.strerror}",
                service="store",
                reason=str(error.strerror),
            ) from error
        with translated(self._path):
            self._writer = self._open(create=True)
            try:
                migrate(self._writer, migrations)
                # Who waits for the lock is `_begin`.
                self._writer.execute("PRAGMA busy_timeout = 0")
            except BaseException:
                self._writer.close()
                raise
        self._file = self._identity()

    def _open(self, *, create: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode={'rwc' if create else 'rw'}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            if create:
                _keep_log(connection, self._application)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = FAST")
            connection.execute("PRAGMA cache_size = -32768")
            connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
            connection.create_function("context_type", 1, context_type, deterministic=True)
            connection.create_function("owner", 1, owner, deterministic=True)
            filtering.install(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One write transaction: committed durably at the end, undone by any error.

        Raises `UnavailableError`, with ``retryable`` in its details, when others don't let go of the lock.
        """
        time.sleep(max(getattr(self._local, "pause_until", 0.0) - time.monotonic(), 0.0))
        with self._lock:
            self._check_usable()
            with translated(self._path):
                self._begin()
                begun = time.monotonic()
                try:
                    yield self._writer
                    self._writer.execute("COMMIT")
                except BaseException:
                    if self._writer.in_transaction:
                        self._writer.execute("ROLLBACK")
                    raise
                finally:
                    ended = time.monotonic()
                    if ended - begun > LONG_S:
                        self._local.pause_until = ended + PAUSE_S

    @contextlib.contextmanager
    def alone(self, wait: float) -> Iterator[sqlite3.Connection]:
        """The writing connection outside of any transaction, for what SQLite does only there; other threads don't write.

        Each statement waits for others for so many seconds.
        """
        with self._lock:
            self._check_usable()
            with translated(self._path):
                self._writer.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
                try:
                    yield self._writer
                finally:
                    self._writer.execute("PRAGMA busy_timeout = 0")

    def _begin(self) -> None:
        """Take the lock as soon as nobody has it."""
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        while True:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise
            else:
                return
            time.sleep(LOOK_S)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent state; inside of it the same thread gets the same state again."""
        outer: sqlite3.Connection | None = getattr(self._local, "connection", None)
        with translated(self._path):
            if outer is not None:
                yield outer
                return
            connection = self._take()
            try:
                connection.execute("BEGIN")
                self._local.connection = connection
                yield connection
            finally:
                self._local.connection = None
                self._give_back(connection)

    def _take(self) -> sqlite3.Connection:
        with self._readers:
            self._check_usable()
            self._reading += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._open()
        except BaseException:
            with self._readers:
                self._reading -= 1
                self._readers.notify_all()
            raise

    def _give_back(self, connection: sqlite3.Connection) -> None:
        sound = False
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            sound = True
        finally:
            with self._readers:
                self._reading -= 1
                keep = sound and not self._closed and len(self._idle) < IDLE_READERS
                if keep:
                    self._idle.append(connection)
                self._readers.notify_all()
            if not keep:
                connection.close()

    def _identity(self) -> tuple[int, int]:
        """Which file the path names now: connections to a file that is gone would go on as if nothing had happened."""
        try:
            found = os.stat(self._path)  # noqa: PTH116
        except OSError as error:
            raise UnavailableError(
                f"The file of the store is gone: {error.strerror}", service="store", reason=str(error.strerror)
            ) from error
        return found.st_dev, found.st_ino

    def _check_usable(self) -> None:
        if self._closed:
            raise FailedPreconditionError("The store is closed", resource="store")
        if self._identity() != self._file:
            raise UnavailableError("The file of the store was replaced by another", service="store", reason="replaced")

    def close(self) -> None:
        """Close all connections of all threads, once the reads that are under way have ended."""
        own = 1 if getattr(self._local, "connection", None) is not None else 0
        with self._readers:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            self._readers.wait_for(lambda: self._reading <= own, CLOSING_TIMEOUT_S)
        with self._lock:
            self._writer.close()


def _keep_log(connection: sqlite3.Connection, application: int) -> None:
    """Switch a new database to its write-ahead log; SQLite does not wait by itself for others that do the same."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            recognise(connection, application)
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
        else:
            return
        time.sleep(LOOK_S)
