"""Directories and files that only their owner may read, whatever the process gives to others by default."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600


def make_directory(path: Path) -> None:
    """Make a directory and its missing parents for their owner alone; one that exists keeps its mode.

    Raises `OSError`, as `pathlib.Path.mkdir` does.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_directory(path.parent)
    try:
        path.mkdir(mode=DIRECTORY_MODE)
    except FileExistsError:
        if not path.is_dir():
            raise


def make_file(path: Path) -> None:
    """Make an empty file for its owner alone if there is none yet; raises `OSError`."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))


def opener(path: str, flags: int) -> int:
    """For `open`: what it makes is for its owner alone."""
    return os.open(path, flags, FILE_MODE)
