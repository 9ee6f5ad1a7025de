"""What every kind of source delivers: the names of its files first, then the bytes of each."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Protocol

from openviking.errors import ProcessingError
from openviking.ingest.decode import decode
from openviking.ingest.ignore import IGNORE_FILE, MAX_IGNORE_BYTES, IgnoreChain, IgnoreLines, SkipRules, Verdict
from openviking.model.imports import Failed, Skipped

Cancelled = Callable[[], bool]
LINK: Final = Verdict("symbolic link")
SPECIAL: Final = Verdict("neither a file nor a directory")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class UnreadableError(Exception):
    """One file can't be delivered; its text is a reason for the report."""


@dataclass(slots=True)
class Scan:
    """What a source holds, in a fixed order.

    ``files`` are names relative to the source's root. ``present`` are names (and directories, for all below them)
    that the source has but does not deliver this time, because they could not be read or an option left them out:
    nothing is concluded from their absence. ``originals`` are files of which another file was made: they are stored as
    they are, and only the other one is indexed.
    """

    files: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    present: set[str] = field(default_factory=set)
    originals: set[str] = field(default_factory=set)

    def skip(self, name: str, verdict: Verdict, *, directory: bool = False, holds: str = "") -> None:
        """Note that something was left out on purpose; ``holds`` says how many files a directory has."""
        reason = f"{verdict.reason}, {holds}" if holds else verdict.reason
        if verdict.lifted_by:
            reason += f"; include it with {storable(verdict.lifted_by)}"
        self.skipped.append(Skipped(storable(name) + ("/" if directory else ""), reason))
        if verdict.chosen:
            self.present.add(name)

    def fail(self, name: str, error: str) -> None:
        """Note that something could not be read."""
        self.failed.append(Failed(storable(name), error))
        self.present.add(name)

    def may_hold(self, name: str) -> bool:
        """Whether ``name`` may still be in the source although it was not delivered."""
        if "" in self.present or name in self.present:
            return True
        end = name.find("/")
        while end >= 0:
            if name[:end] in self.present:
                return True
            end = name.find("/", end + 1)
        return False


class Delivery(Protocol):
    """A source that is open."""

    def scan(self, rules: SkipRules, cancelled: Cancelled) -> Scan:
        """Its files; raises `ProcessingError` if nothing of it can be read."""
        ...

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file; raises `UnreadableError`, also if there are more than ``limit``."""
        ...

    def close(self) -> None:
        """Release it."""
        ...


class FileDelivery:
    """One document of at most ``limit`` bytes, called ``name``; raises `ProcessingError` if it can't be read."""

    def __init__(self, path: Path, limit: int, name: str = "") -> None:
        self._path = path
        self._name = name or path.name
        try:
            with _opened(path, limit):
                pass
        except UnreadableError as error:
            shown = name or str(path)
            raise ProcessingError(f"{shown} can't be read: {error}", resource=shown) from error

    def scan(self, rules: SkipRules, cancelled: Cancelled) -> Scan:
        """The document alone; no rule keeps out what was named explicitly."""
        del rules, cancelled
        return Scan([self._name])

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of the document."""
        del name
        return read_file(self._path, limit)

    def close(self) -> None:
        """Nothing is held open."""


def with_ignore_file(delivery: Delivery, directory: str, scan: Scan, outer: IgnoreChain | None) -> IgnoreChain | None:
    """``outer`` with the ``.gitignore`` that ``directory`` has; one that can't be read is noted in ``scan``."""
    name = f"{directory}/{IGNORE_FILE}" if directory else IGNORE_FILE
    try:
        decoded = decode(delivery.read(name, MAX_IGNORE_BYTES))
    except UnreadableError as error:
        scan.fail(name, str(error))
        return outer
    return IgnoreChain(directory, IgnoreLines(decoded[0].removeprefix("\ufeff")), outer) if decoded else outer


def read_file(path: str | Path, limit: int) -> bytes:
    """The bytes of a regular file; follows no symbolic link and waits for no pipe."""
    with _opened(path, limit) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise UnreadableError(too_large(len(data), limit))
    return data


@contextlib.contextmanager
def _opened(path: str | Path, limit: int) -> Iterator[IO[bytes]]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | _NO_FOLLOW), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise UnreadableError("it is not a regular file")
            if found.st_size > limit:
                raise UnreadableError(too_large(found.st_size, limit))
            yield file
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from error


def files_text(count: int, *, at_least: bool = False) -> str:
    """``count`` files in words."""
    return f"{'at least ' if at_least else ''}{count:,} file{'' if count == 1 else 's'}"


def too_large(size: int, limit: int) -> str:
    """The reason for a file over the limit."""
    return f"it has {size:,} bytes, at most {limit:,} are taken"


def storable(name: str) -> str:
    """``name`` as UTF-8 can hold it: bytes that a file system could not decode show as ``\\xff``."""
    with contextlib.suppress(UnicodeEncodeError):
        name.encode()
        return name
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
