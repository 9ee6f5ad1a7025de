"""Removing the data of accounts that are gone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

ACCOUNTS: Final = "accounts"
UPLOADS: Final = "uploads"
"""Where in the place of an account files wait that a client sent ahead."""

_TRIES: Final = 3


def remove_place(data: Path, place: str) -> bool:
    """Remove what lies at a place of a removed account; whether there was anything.

    A process that still has it open may put a file there meanwhile, so it is tried again. Raises `OSError`.
    """
    directory = data / ACCOUNTS / place
    if not directory.is_dir():
        return False
    for left in reversed(range(_TRIES)):
        try:
            shutil.rmtree(directory)
        except FileNotFoundError:
            continue
        except OSError:
            if not left:
                raise
        else:
            break
    return True
