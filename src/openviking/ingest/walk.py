"""The files of a local folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openviking.errors import ProcessingError
from openviking.ingest.decode import decode
from openviking.ingest.delivery import Cancelled, Scan, UnreadableError, read_file
from openviking.ingest.ignore import IGNORE_FILE, MAX_IGNORE_BYTES, IgnoreChain, IgnoreLines, SkipRules, Verdict

_LINK: Final = Verdict("symbolic link")
_SPECIAL: Final = Verdict("neither a file nor a directory")

_Frame = tuple[str, Iterator[os.DirEntry[str]], IgnoreChain | None]


class FolderDelivery:
    """A local folder; symbolic links are never followed."""

    def __init__(self, path: Path) -> None:
        self._top = str(path)

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
                verdict = rules.directory(name, chain)
                if verdict is not None:
                    scan.skip(name, verdict, directory=True)
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
            chain = self._ignore_file(directory, scan, chain)
        return directory, iter(entries), chain

    def _ignore_file(self, directory: str, scan: Scan, chain: IgnoreChain | None) -> IgnoreChain | None:
        name = f"{directory}/{IGNORE_FILE}" if directory else IGNORE_FILE
        try:
            decoded = decode(self.read(name, MAX_IGNORE_BYTES))
        except UnreadableError as error:
            scan.fail(name, str(error))
            return chain
        return IgnoreChain(directory, IgnoreLines(decoded[0].removeprefix("\ufeff")), chain) if decoded else chain

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
            scan.skip(name, _LINK if entry.is_symlink() else _SPECIAL)
        except OSError as error:
            scan.fail(name, error.strerror or str(error))
        return False
