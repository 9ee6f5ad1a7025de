"""The store of one account in one SQLite file."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from openviking.clock import now_ms
from openviking.errors import OpenVikingError, UnavailableError
from openviking.store.batch import Applied, Operation, PutFile
from openviking.store.jobs import NewJob
from openviking.store.port import Analyser, Source
from openviking.store.sqlite.check import inconsistencies
from openviking.store.sqlite.connection import Connections, translated
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.jobs import SqliteJobs, enqueue
from openviking.store.sqlite.purge import purge
from openviking.store.sqlite.reanalysis import analyse_again
from openviking.store.sqlite.view import SqliteView, get
from openviking.store.sqlite.writing import Outcome, Writer

SIDECARS_JOB: Final = NewJob("sidecars", "", {}, delay=300)
PURGE_JOB: Final = NewJob("purge", "", {}, delay=1000)
PREPARE_JOB: Final = NewJob("prepare", "", {})


class SqliteStore:
    """The `openviking.store.port.AccountStore` that needs no server: ``store.db`` and ``contents/`` in a directory."""

    def __init__(self, directory: Path, analyser: Analyser) -> None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnavailableError(
                f"The data directory can't be made: {error.strerror}", service="store", reason=str(error.strerror)
            ) from error
        self._analyser = analyser
        self._contents = Contents(directory / "contents")
        self._connections = Connections(directory / "store.db")
        self._jobs = SqliteJobs(self._connections)
        self._swept = False
        try:
            self._keep_up()
        except BaseException:
            self._connections.close()
            raise

    def _keep_up(self) -> None:
        """Make the terms of names and sidecars anew if another version of the analyser made them."""
        with self._connections.reading() as connection:
            made = connection.execute("SELECT value FROM meta WHERE name = 'analyser'").fetchone()[0]
        if made != self._analyser.version:
            with self._connections.writing() as connection:
                if analyse_again(connection, self._analyser):
                    enqueue(connection, SIDECARS_JOB)

    @property
    def jobs(self) -> SqliteJobs:
        """The account's queue of work."""
        return self._jobs

    @contextlib.contextmanager
    def read(self) -> Iterator[SqliteView]:
        """A consistent view."""
        with self._connections.reading() as connection:
            yield SqliteView(connection, self._contents, self._analyser)

    def apply(self, operations: Sequence[Operation], *, jobs: Sequence[NewJob] = (), tolerant: bool = False) -> Applied:
        """Carry out ``operations`` in one durable transaction."""
        for operation in operations:
            if isinstance(operation, PutFile):
                self._contents.prepare(operation.content.data)
                if operation.content.text is not None:
                    self._contents.prepare(operation.content.text)
        with self._connections.writing() as connection:
            writer = Writer(connection, self._contents, self._analyser)
            results = [
                _tolerated(connection, writer, operation) if tolerant else writer.apply(operation)
                for operation in operations
            ]
            if writer.close():
                enqueue(connection, SIDECARS_JOB)
            if writer.removed:
                enqueue(connection, PURGE_JOB)
            if writer.renamed:
                enqueue(connection, PREPARE_JOB)
            for job in jobs:
                enqueue(connection, job)
            self._contents.sweep(connection)
            return Applied(
                writer.change,
                tuple(outcome for outcome, _, _ in results),
                tuple(count for _, count, _ in results),
                tuple(touched for _, _, touched in results),
            )

    def remember_source(self, location: str, root: str) -> Source:
        """Note that ``location`` fills ``root``."""
        with self._connections.writing() as connection:
            found = get(connection, root)
            if found is None:
                raise UnavailableError(f"{root} was removed meanwhile", service="store", reason="removed")
            row = connection.execute(
                "INSERT INTO sources (location, node_id, updated_at) VALUES (?, ?, ?)"
                " ON CONFLICT (location) DO UPDATE SET node_id = excluded.node_id, updated_at = excluded.updated_at RETURNING id",
                (location, found.id, now_ms()),
            ).fetchone()
            return Source(int(row[0]), location, root)

    def purge(self, limit: int) -> int:
        """Clear away removed nodes."""
        with self._connections.writing() as connection:
            if not self._swept:
                self._swept = True
                self._contents.sweep_strays(connection)
            return purge(connection, self._contents, limit)

    def check(self) -> list[str]:
        """What is inconsistent."""
        with self._connections.reading() as connection, translated():
            return inconsistencies(connection, self._contents)

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()


def _tolerated(connection: sqlite3.Connection, writer: Writer, operation: Operation) -> Outcome:
    connection.execute("SAVEPOINT operation")
    try:
        outcome = writer.apply(operation)
    except OpenVikingError as error:
        connection.execute("ROLLBACK TO operation")
        writer.forget_directories()
        outcome = (f"failed: {error.message}", 0, ())
    connection.execute("RELEASE operation")
    return outcome
