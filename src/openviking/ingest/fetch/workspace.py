"""Directories for what is fetched in pieces; one whose process was killed is cleared away by the next."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from pathlib import Path
from typing import Final, Self

from openviking.errors import UnavailableError

_SUFFIX: Final = ".lock"


class Workspace:
    """A directory below ``place`` while the context lasts.

    ``lock`` is the descriptor of a lock beside it. A child that inherits it holds the lock too, so that nothing is
    removed under one that outlives its parent.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self.path = place / secrets.token_hex(8)
        self.lock = -1

    def __enter__(self) -> Self:
        try:
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            sweep(self._place)
            # Locked before there is anything to protect. A sweep may come between the two and take the file for one
            # that was left: then nobody would ever find the directory of a process that is killed.
            while self.lock < 0 or os.fstat(self.lock).st_nlink == 0:
                self._unlock()
                self.lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(self.lock, fcntl.LOCK_EX)
            self.path.mkdir(mode=0o700)
        except OSError as error:
            self.close()
            raise UnavailableError(
                f"There is no place to fetch to: {error.strerror}", service="fetch", reason=str(error.strerror)
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            self._lock_path.unlink(missing_ok=True)
        self._unlock()

    def _unlock(self) -> None:
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    @property
    def _lock_path(self) -> Path:
        return self.path.with_name(self.path.name + _SUFFIX)


def sweep(place: Path) -> None:
    """Remove what killed processes left in ``place``."""
    with contextlib.suppress(OSError):
        for lock in sorted(place.glob(f"*{_SUFFIX}")):
            with contextlib.suppress(OSError):
                _sweep_one(lock)


def _sweep_one(lock: Path) -> None:
    descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.with_name(lock.name.removesuffix(_SUFFIX)), ignore_errors=True)
        lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
