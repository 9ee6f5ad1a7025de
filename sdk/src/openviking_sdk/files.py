"""The two ends of a transfer: a file that is sent, and a file that is received whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from openviking_sdk.errors import AlreadyExistsError


@dataclass(frozen=True, slots=True)
class Upload:
    """An open file of ``size`` bytes that is sent as ``name`` with the form ``fields``."""

    name: str
    file: BinaryIO
    size: int
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Download:
    """The place for a received file; one that is there is kept unless ``overwrite``."""

    path: Path
    overwrite: bool = False

    @contextlib.contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """A file to write to; it gets its name when the block ends well, and vanishes otherwise.

        Raises `AlreadyExistsError` if the name is taken, and `OSError` of the caller's own disk.
        """
        self.check()
        unfinished = self.path.parent / f".openviking-{secrets.token_hex(8)}.part"
        try:
            with unfinished.open("xb") as file:
                yield file
            self._put(unfinished)
        finally:
            unfinished.unlink(missing_ok=True)

    def check(self) -> None:
        """Nothing if the file may be written; else `AlreadyExistsError`, before anything is asked of the server."""
        if not self.overwrite and os.path.lexists(self.path):
            raise self._taken()

    def _put(self, unfinished: Path) -> None:
        if self.overwrite:
            unfinished.replace(self.path)
            return
        try:
            # A link, unlike a rename, never replaces what came meanwhile.
            os.link(unfinished, self.path)
        except FileExistsError:
            raise self._taken() from None
        except OSError:  # a file system without links
            self.check()
            unfinished.replace(self.path)

    def _taken(self) -> AlreadyExistsError:
        return AlreadyExistsError(
            f"{self.path} exists already; overwrite=True replaces it",
            details={"resource": str(self.path), "type": "file"},
        )
