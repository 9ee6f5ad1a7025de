"""The bytes of files, once per distinct content: small ones in the database, large ones as immutable files.

A large file is written and synced before the row that names it commits. It is deleted only while the write lock is
held and no row names it; a writer checks under the same lock that it is (still) there.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

from openviking.clock import MAX_MS, now_ms
from openviking.errors import ResourceExhaustedError, UnavailableError
from openviking.store.sqlite.private import make_directory, opener

INLINE_BYTES: Final = 256 * 1024
GRACE_MS: Final = 600_000
STRAY_MS: Final = 3_600_000
SWEPT_AT_ONCE: Final = 64


class Contents:
    """The content table of one account with its directory of large files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def prepare(self, digest: bytes, data: bytes) -> None:
        """Write a large content to disk ahead of the transaction, so that the lock is held briefly.

        A file that is there already is kept if it has the bytes that it should have.
        """
        if len(data) > INLINE_BYTES and not self._sound(digest, data):
            self._write(digest, data)

    def put(self, connection: sqlite3.Connection, digest: bytes, data: bytes) -> None:
        """Make sure that ``data`` is stored under ``digest``, inside of a write transaction."""
        large = len(data) > INLINE_BYTES
        if large and not self._complete(digest, len(data)):
            self._write(digest, data)
        connection.execute(
            "INSERT INTO contents (hash, size, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (digest, len(data), None if large else data),
        )

    def get(self, connection: sqlite3.Connection, digest: bytes) -> bytes:
        """The content stored under ``digest``.

        Raises `UnavailableError` if it is missing, or if a large one's bytes have another SHA-256.
        """
        row = connection.execute("SELECT data, size FROM contents WHERE hash = ?", (digest,)).fetchone()
        if row is None:
            raise _missing(digest, "no row has it")
        if row[0] is not None:
            return bytes(row[0])
        with self._reading(digest):
            data = self._path(digest).read_bytes()
        if len(data) != row[1]:
            raise _missing(digest, f"its file has {len(data)} bytes of {row[1]}")
        if hashlib.sha256(data).digest() != digest:
            raise _damaged(digest)
        return data

    def open(self, connection: sqlite3.Connection, digest: bytes) -> IO[bytes]:
        """The content stored under ``digest`` as an open file, which stays readable after the transaction.

        Raises `UnavailableError` if it is missing or cut short; its bytes are not compared with its SHA-256.
        """
        row = connection.execute("SELECT data, size FROM contents WHERE hash = ?", (digest,)).fetchone()
        if row is None:
            raise _missing(digest, "no row has it")
        if row[0] is not None:
            return io.BytesIO(row[0])
        with self._reading(digest):
            file = self._path(digest).open("rb")
        if os.fstat(file.fileno()).st_size != row[1]:
            file.close()
            raise _missing(digest, f"its file does not have its {row[1]} bytes")
        return file

    def is_there(self, connection: sqlite3.Connection, digest: bytes) -> bool:
        """Whether a content is stored in its full length."""
        row = connection.execute("SELECT data IS NULL, size FROM contents WHERE hash = ?", (digest,)).fetchone()
        return row is not None and (not row[0] or self._complete(digest, row[1]))

    def slice(self, connection: sqlite3.Connection, digest: bytes, start: int, end: int) -> bytes:
        """The bytes from ``start`` to ``end`` of a content, without reading all of it."""
        row = connection.execute(
            "SELECT data IS NULL, substr(data, ?, ?), size FROM contents WHERE hash = ?",
            (start + 1, end - start, digest),
        ).fetchone()
        if row is None:
            raise _missing(digest, "no row has it")
        if not row[0]:
            # Of nothing SQLite gives NULL.
            return bytes(row[1] or b"")
        with self._reading(digest), self._path(digest).open("rb") as file:
            file.seek(start)
            data = file.read(end - start)
        if len(data) != min(end, row[2]) - min(start, row[2]):
            raise _missing(digest, "its file is cut short")
        return data

    def release(self, connection: sqlite3.Connection, digest: bytes) -> None:
        """Forget a content that no node refers to any more, inside of a write transaction.

        A large one's file stays for `GRACE_MS`, for readers whose state is from before.
        """
        row = connection.execute(
            "DELETE FROM contents WHERE hash = :hash AND NOT EXISTS (SELECT 1 FROM nodes WHERE hash = :hash)"
            " AND NOT EXISTS (SELECT 1 FROM nodes WHERE text_hash = :hash) RETURNING data IS NULL",
            {"hash": digest},
        ).fetchone()
        if row is not None and row[0]:
            connection.execute("INSERT OR REPLACE INTO released VALUES (?, ?)", (digest, now_ms()))

    def sweep(self, connection: sqlite3.Connection, *, at_once: bool = False) -> int:
        """Delete some released files whose grace is over, under the write lock; how many there were.

        ``at_once`` gives none any grace.
        """
        over = connection.execute(
            "DELETE FROM released WHERE hash IN (SELECT hash FROM released WHERE at < ? LIMIT ?) RETURNING hash",
            (MAX_MS if at_once else now_ms() - GRACE_MS, SWEPT_AT_ONCE),
        ).fetchall()
        swept = 0
        for (digest,) in over:
            if connection.execute("SELECT 1 FROM contents WHERE hash = ?", (digest,)).fetchone() is None:
                with contextlib.suppress(OSError):
                    self._path(digest).unlink(missing_ok=True)
                    swept += 1
        return swept

    def strays(self, connection: sqlite3.Connection, prefix: str = "??", *, at_once: bool = False) -> list[Path]:
        """Old files that no row names: a writer died before its commit. Looks at every file, so not under the lock.

        With ``prefix``, two hexadecimal digits, only at those whose digest begins with it. ``at_once`` means new ones
        too: whoever is writing one writes it again.
        """
        found = []
        for file in self._directory.glob(f"{prefix}/*"):
            # A file may vanish meanwhile: writers name theirs without holding the lock.
            with contextlib.suppress(OSError):
                old = at_once or file.stat().st_mtime * 1000 < now_ms() - STRAY_MS
                if old and not self._named(connection, file.name):
                    found.append(file)
        return found

    def sweep_strays(self, connection: sqlite3.Connection, found: Iterable[Path]) -> None:
        """Delete those of `strays` that still no row names, under the write lock."""
        for file in found:
            if not self._named(connection, file.name):
                with contextlib.suppress(OSError):
                    file.unlink(missing_ok=True)

    def damaged(self, connection: sqlite3.Connection) -> list[bytes]:
        """Digests of contents that are missing, cut short or not what their digest says."""
        found = []
        for digest, size in connection.execute("SELECT hash, size FROM contents ORDER BY hash").fetchall():
            try:
                data = self.get(connection, digest)
            except UnavailableError:
                found.append(digest)
                continue
            if len(data) != size or (size <= INLINE_BYTES and hashlib.sha256(data).digest() != digest):
                found.append(digest)
        return found

    def _named(self, connection: sqlite3.Connection, name: str) -> bool:
        try:
            digest = bytes.fromhex(name)
        except ValueError:
            return False
        return (
            connection.execute(
                "SELECT 1 FROM contents WHERE hash = ? UNION ALL SELECT 1 FROM released WHERE hash = ?",
                (digest, digest),
            ).fetchone()
            is not None
        )

    def _path(self, digest: bytes) -> Path:
        name = digest.hex()
        return self._directory / name[:2] / name

    def _complete(self, digest: bytes, size: int) -> bool:
        try:
            there = self._path(digest).stat()
        except OSError:
            return False
        return stat.S_ISREG(there.st_mode) and there.st_size == size

    def _sound(self, digest: bytes, data: bytes) -> bool:
        try:
            return self._complete(digest, len(data)) and self._path(digest).read_bytes() == data
        except OSError:
            return False

    def _write(self, digest: bytes, data: bytes) -> None:
        path = self._path(digest)
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        try:
            made = not path.parent.is_dir()
            make_directory(path.parent)
            written = False
            while not written:
                with open(temporary, "xb", opener=opener) as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                # An erasure may have taken it for the file of a writer that died.
                with contextlib.suppress(FileNotFoundError):
                    temporary.replace(path)
                    written = True
            for directory in (path.parent, self._directory, self._directory.parent) if made else (path.parent,):
                _sync_directory(directory)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise ResourceExhaustedError(f"The disk is full: {error.strerror}", resource="store") from error
            raise UnavailableError(
                f"A content could not be written: {error.strerror}", service="store", reason=str(error.strerror)
            ) from error

    @contextlib.contextmanager
    def _reading(self, digest: bytes) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise _missing(digest, str(error.strerror)) from error


def _missing(digest: bytes, why: str) -> UnavailableError:
    return UnavailableError(f"The content {digest.hex()} is not in the store: {why}", service="store", reason=why)


def _damaged(digest: bytes) -> UnavailableError:
    why = "its file has other bytes"
    return UnavailableError(f"The content {digest.hex()} is damaged: {why}", service="store", reason=why)


def _sync_directory(path: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
