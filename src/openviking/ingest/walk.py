"""The files of a local folder."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openviking.errors import ProcessingError
from openviking.ingest.delivery import LINK, SPECIAL, Cancelled, Scan, files_text, read_file, with_ignore_file
from openviking.ingest.ignore import IGNORE_FILE, IgnoreChain, SkipRules, Verdict

LOOK_AT_ONE: Final = 10_000
LOOK_AT_ALL: Final = 50_000
"""Entries of skipped directories that are looked at to say how many files they hold, of one and of all together."""

_EXCLUDED: Final = Verdict("the data directory of this store")

_Frame = tuple[str, Iterator[os.DirEntry[str]], IgnoreChain | None]


class FolderDelivery:
    """A local folder; symbolic links are never followed, and the directory ``excluded`` is left out."""

    def __init__(self, path: Path, excluded: Path | None = None) -> None:
        self._top = str(path)
        self._looks = LOOK_AT_ALL
        self._excluded: os.stat_result | None = None
        if excluded is not None:
            with contextlib.suppress(OSError):
                self._excluded = excluded.stat()

    def scan(self, rules: SkipRules, cancelled: Cancelled) -> Scan:
        """Its files in pre-order, the entries of each directory by name.

        What can't be read is reported and does not end the walk; raises `ProcessingError` if that is the folder
        itself.
        """
        scan = Scan()
        first = self._listed("", scan, None)
        if first is None:
            raise ProcessingError(f"The folder {self._top} can't be read: {scan.failed[0].error}", resource=self._top)
        # A stack of our own: a deep tree must not meet the interpreter's recursion limit.
        stack = [first]
        while stack and not cancelled():
            directory, entries, chain = stack[-1]
            entry = next(entries, None)
            if entry is None:
                stack.pop()
                continue
            name = f"{directory}/{entry.name}" if directory else entry.name
            if self._is_directory(entry, name, scan):
                if self._is_excluded(entry):
                    scan.skip(name, _EXCLUDED, directory=True)
                elif (verdict := rules.directory(name, chain)) is not None:
                    scan.skip(name, verdict, directory=True, holds=self._holds(entry.path, cancelled))
                elif (below := self._listed(name, scan, chain)) is not None:
                    stack.append(below)
            elif self._is_file(entry, name, scan):
                verdict = rules.file(name, chain)
                if verdict is None:
                    scan.files.append(name)
                else:
                    scan.skip(name, verdict)
        return scan

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file."""
        return read_file(f"{self._top}/{name}", limit)

    def close(self) -> None:
        """Nothing is held open."""

    def _listed(self, directory: str, scan: Scan, chain: IgnoreChain | None) -> _Frame | None:
        try:
            with os.scandir(f"{self._top}/{directory}" if directory else self._top) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            scan.fail(directory, error.strerror or str(error))
            return None
        if any(entry.name == IGNORE_FILE for entry in entries):
            chain = with_ignore_file(self, directory, scan, chain)
        return directory, iter(entries), chain

    def _holds(self, directory: str, cancelled: Cancelled) -> str:
        """How many files a skipped directory has, as far as few enough looks tell; "" if none are left."""
        left = start = min(LOOK_AT_ONE, self._looks)
        files = 0
        below = [directory]
        while below and left and not cancelled():
            with contextlib.suppress(OSError), os.scandir(below.pop()) as entries:
                for entry in itertools.islice(entries, left):
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        below.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        files += 1
        self._looks -= start - left
        return files_text(files, at_least=not left) if start else ""

    def _is_excluded(self, entry: os.DirEntry[str]) -> bool:
        if self._excluded is None or entry.inode() != self._excluded.st_ino:
            return False
        with contextlib.suppress(OSError):
            return os.path.samestat(os.stat(entry.path), self._excluded)  # noqa: PTH116
        return False

    def _is_directory(self, entry: os.DirEntry[str], name: str, scan: Scan) -> bool:
        try:
            return entry.is_dir(follow_symlinks=False)
        except OSError as error:
            scan.fail(name, error.strerror or str(error))
            return False

    def _is_file(self, entry: os.DirEntry[str], name: str, scan: Scan) -> bool:
        try:
            if entry.is_file(follow_symlinks=False):
                return True
            scan.skip(name, LINK if entry.is_symlink() else SPECIAL)
        except OSError as error:
            scan.fail(name, error.strerror or str(error))
        return False
