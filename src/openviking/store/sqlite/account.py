"""The store of one account in one SQLite file."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from openviking.errors import OpenVikingError, ResourceExhaustedError, UnavailableError
from openviking.store.batch import Applied, Operation, Outcome, PutFile
from openviking.store.erasure import Erased
from openviking.store.jobs import NewJob
from openviking.store.port import Analyser
from openviking.store.sqlite.audit.auditing import SqliteAudit
from openviking.store.sqlite.check import inconsistencies
from openviking.store.sqlite.connection import Connections, translated
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.erasing import Eraser
from openviking.store.sqlite.jobs import SqliteJobs, clear_up, enqueue
from openviking.store.sqlite.loose import LOOSE_JOB, any_loose
from openviking.store.sqlite.passages import Overtaken, Staged
from openviking.store.sqlite.pictures import SqlitePictures
from openviking.store.sqlite.private import make_directory
from openviking.store.sqlite.purge import PURGE_JOB, purge
from openviking.store.sqlite.reanalysis import analyse_again
from openviking.store.sqlite.scan.scans import Scans
from openviking.store.sqlite.sessions import SqliteSessions
from openviking.store.sqlite.staging import settle, staging
from openviking.store.sqlite.tasks import SqliteTasks
from openviking.store.sqlite.term_counts import TermCounts
from openviking.store.sqlite.vectors import SqliteVectors
from openviking.store.sqlite.view import SqliteView
from openviking.store.sqlite.watches import SqliteWatches
from openviking.store.sqlite.writing import Writer

SIDECARS_JOB: Final = NewJob("sidecars", "", {}, delay=300)
PREPARE_JOB: Final = NewJob("prepare", "", {})


class SqliteStore:
    """The `openviking.store.port.AccountStore` that needs no server: ``store.db`` and ``contents/`` in a directory."""

    def __init__(self, directory: Path, analyser: Analyser) -> None:
        try:
            make_directory(directory)
        except OSError as error:
            raise UnavailableError(
                f"The data directory {directory} can't be made: {error.strerror}",
                service="store",
                reason=str(error.strerror),
            ) from error
        self._analyser = analyser
        self._term_counts = TermCounts()
        self._contents = Contents(directory / "contents")
        self._connections = Connections(directory / "store.db")
        self._jobs = SqliteJobs(self._connections)
        self._tasks = SqliteTasks(self._connections, clear_up=clear_up)
        self._sessions = SqliteSessions(self._connections)
        self._watches = SqliteWatches(self._connections)
        self._pictures = SqlitePictures(self._connections)
        self._scans = Scans(directory, self._connections)
        self._vectors = SqliteVectors(self._connections, self._scans)
        self._audit = SqliteAudit(self._connections, self._contents, analyser, SIDECARS_JOB, PREPARE_JOB)
        self._eraser = Eraser(self._connections, self._contents, self._scans)
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

    @property
    def tasks(self) -> SqliteTasks:
        """The account's tasks."""
        return self._tasks

    @property
    def sessions(self) -> SqliteSessions:
        """The account's conversations."""
        return self._sessions

    @property
    def watches(self) -> SqliteWatches:
        """The sources that are looked at again and again."""
        return self._watches

    @property
    def pictures(self) -> SqlitePictures:
        """What models say of pictures."""
        return self._pictures

    @property
    def vectors(self) -> SqliteVectors:
        """The vectors of passages."""
        return self._vectors

    @property
    def audit(self) -> SqliteAudit:
        """What looks for damage, and mends it."""
        return self._audit

    @contextlib.contextmanager
    def read(self) -> Iterator[SqliteView]:
        """A consistent view."""
        with self._connections.reading() as connection:
            yield SqliteView(connection, self._contents, self._analyser, self._term_counts, self._scans)

    def apply(self, operations: Sequence[Operation], *, jobs: Sequence[NewJob] = (), tolerant: bool = False) -> Applied:
        """Carry out ``operations`` in one durable transaction."""
        for operation in operations:
            if isinstance(operation, PutFile):
                content = operation.content
                self._contents.prepare(content.hash, content.data)
                if content.text is not None and content.text_hash is not None:
                    self._contents.prepare(content.text_hash, content.text)
        with contextlib.suppress(Overtaken):
            return self._apply(operations, jobs, tolerant=tolerant, whole=False)
        while True:
            # Passages that are staged from the first on fit to whatever is stored.
            with contextlib.suppress(Overtaken):
                return self._apply(operations, jobs, tolerant=tolerant, whole=True)

    def _apply(
        self, operations: Sequence[Operation], jobs: Sequence[NewJob], *, tolerant: bool, whole: bool
    ) -> Applied:
        with (
            staging(self._connections, operations, whole=whole) as staged,
            self._connections.writing() as connection,
        ):
            writer = Writer(connection, self._contents, self._analyser)
            outcomes = tuple(
                _tolerated(connection, writer, operation, staged.get(number))
                if tolerant
                else writer.apply(operation, staged.get(number))
                for number, operation in enumerate(operations)
            )
            if writer.close():
                enqueue(connection, SIDECARS_JOB)
            if writer.removed:
                enqueue(connection, PURGE_JOB)
            if writer.renamed:
                enqueue(connection, PREPARE_JOB)
            for job in jobs:
                enqueue(connection, job)
            if staged:
                settle(connection, staged.values())
            if any_loose(connection):
                enqueue(connection, LOOSE_JOB)
            self._contents.sweep(connection)
            return Applied(writer.change, outcomes)

    def purge(self, limit: int) -> int:
        """Clear away removed nodes."""
        strays: list[Path] = []
        if not self._swept:
            self._swept = True
            with self._connections.reading() as connection:
                strays = self._contents.strays(connection)
        with self._connections.writing() as connection:
            self._contents.sweep_strays(connection, strays)
            return purge(connection, self._contents, limit)

    def erase(self, stopped: Callable[[], bool], *, rewrite: bool | None = None) -> Erased | None:
        """Overwrite the bytes of what was removed."""
        return self._eraser.erase(stopped, rewrite=rewrite)

    def check(self) -> list[str]:
        """What is inconsistent."""
        with self._connections.reading() as connection, translated():
            return inconsistencies(connection, self._contents)

    def close(self) -> None:
        """Close all connections, after the scan was kept if much has changed in it."""
        self._scans.close()
        self._connections.close()


def _tolerated(connection: sqlite3.Connection, writer: Writer, operation: Operation, staged: Staged | None) -> Outcome:
    connection.execute("SAVEPOINT operation")
    try:
        outcome = writer.apply(operation, staged)
    except (UnavailableError, ResourceExhaustedError):
        # An outage is no fault of the operation: all others would meet it too.
        raise
    except OpenVikingError as error:
        connection.execute("ROLLBACK TO operation")
        writer.forget()
        outcome = Outcome("failed", error=error)
    connection.execute("RELEASE operation")
    return outcome
