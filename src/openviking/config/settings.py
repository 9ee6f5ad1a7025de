"""Every setting with its default: a working system needs none of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

DEFAULT_PATH: Final = "~/.openviking/data"
"""The data directory where none is named."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one OpenViking; see docs/configuration.md.

    ``path`` is the data directory. ``workers`` threads do background work (0: only `wait_processed` does it).
    ``grep_timeout`` are the seconds that one pattern may burn beyond a plain scan. ``poll_interval`` are the seconds
    between looks for work that another process queued.
    """

    path: Path = field(default_factory=lambda: Path(DEFAULT_PATH).expanduser())
    workers: int = 1
    grep_timeout: float = 1.5
    poll_interval: float = 2.0
