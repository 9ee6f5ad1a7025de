"""Addresses that let whoever holds them send or fetch one file without a key, for some minutes (contract/core.md §4.2).

An agent's shell, which has no key, can so do what would be too much for an answer. The tokens are known to this process
alone and end with it.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from openviking.errors import PermissionDeniedError
from openviking.model.identity import Identity

Kind = Literal["upload", "download"]

UPLOAD_PATH: Final = "/api/v1/resources/temp_upload"
DOWNLOAD_PATH: Final = "/api/v1/content/download"
MAX_OF_ONE: Final = 200
"""Tokens of one user that are open at a time; the oldest makes way."""

MAX_TOGETHER: Final = 20_000


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a token is good for: an ``upload`` once, with the ``terms`` of the import; a ``download`` until it expires."""

    kind: Kind
    caller: Identity
    terms: Any
    until: float


class Tickets:
    """The open tokens of this process; safe for many threads."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, Ticket] = {}

    def issue(self, kind: Kind, caller: Identity, terms: Any) -> str:
        """A new token."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tidy((caller.account, caller.user))
            self._open[token] = Ticket(kind, caller, terms, self._clock() + self.seconds)
        return token

    def use(self, kind: Kind, token: str) -> Ticket:
        """What a token is good for; an upload's is used up. Raises `PermissionDeniedError`, for whatever reason."""
        with self._lock:
            found = self._open.get(token)
            if found is None or found.kind != kind or found.until < self._clock():
                raise PermissionDeniedError(
                    "The token of the link is unknown, used or expired: ask the tool for a new link", field="token"
                )
            if kind == "upload":
                del self._open[token]
            return found

    def _tidy(self, owner: tuple[str, str]) -> None:
        now = self._clock()
        # They expire in the order in which they were made.
        for token in [token for token, one in self._open.items() if one.until < now]:
            del self._open[token]
        own = [token for token, one in self._open.items() if (one.caller.account, one.caller.user) == owner]
        if len(own) >= MAX_OF_ONE:
            del self._open[own[0]]
        elif len(self._open) >= MAX_TOGETHER:
            del self._open[next(iter(self._open))]


@dataclass(frozen=True, slots=True)
class Links:
    """Makes links; ``base`` is the address at which the caller reaches this server."""

    tickets: Tickets
    base: str

    def upload(self, caller: Identity, terms: Any) -> str:
        """Where one file can be sent, which is then imported on ``terms``."""
        return f"{self.base}{UPLOAD_PATH}?token={self.tickets.issue('upload', caller, terms)}"

    def download(self, caller: Identity, uri: str) -> str:
        """Where the bytes of a file are."""
        return f"{self.base}{DOWNLOAD_PATH}?token={self.tickets.issue('download', caller, uri)}"
