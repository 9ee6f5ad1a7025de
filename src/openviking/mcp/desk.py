"""What a tool has at hand while it answers one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from openviking.errors import OpenVikingError
from openviking.mcp.links import Links
from openviking.model.identity import Identity
from openviking.service.services import Services
from openviking.text import shorten

MAX_MESSAGE: Final = 2_000

Report = Callable[[float, float | None, str], None]
"""Told how far a call is: done, of how much (None while unknown), and with what."""


def _nobody(_done: float, _total: float | None, _what: str) -> None:
    """Nobody asked for progress."""


@dataclass(frozen=True, slots=True)
class Desk:
    """The services, who is calling, and how far off.

    ``links`` makes addresses of this server that need no key, None where no server runs: then the caller is on this
    machine, and paths of its disk can be read. ``report`` is told of progress.
    """

    services: Services
    caller: Identity
    links: Links | None = None
    report: Report = _nobody

    @property
    def is_local(self) -> bool:
        """Whether paths of the caller's disk are paths of this process's disk."""
        return self.links is None


def told(error: OpenVikingError) -> str:
    """An error as a model reads it: its code, what is wrong, and which call may be tried again."""
    text = f"{error.code}: {shorten(error.message, MAX_MESSAGE)}"
    return f"{text} (try again in a moment)" if error.details.get("retryable") else text
