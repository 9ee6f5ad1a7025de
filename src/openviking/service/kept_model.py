"""The client of a model service: made when it is first needed, kept until its owner closes it, never made again after that."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from openviking.errors import OpenVikingError


class Closable(Protocol):
    """What has connections or threads to give back."""

    def close(self) -> None:
        """Give them back; calls under way come to an end."""
        ...


T = TypeVar("T", bound=Closable)


class KeptModel(Generic[T]):
    """One client for all threads: what ``make`` gives, or ``given``, which stays its owner's to close.

    ``gone`` gives what is raised after `close`, and where ``make`` gives None: there is no such model.
    """

    def __init__(self, make: Callable[[], T | None], given: T | None, gone: Callable[[], OpenVikingError]) -> None:
        self._make = make
        self._gone = gone
        self._made: T | None = None
        self._lock = threading.Lock()
        self.given = given
        self.closed = False

    def get(self) -> T:
        """The client. Raises after `close`, and what making it raises."""
        if self.given is not None:
            return self.given
        with self._lock:
            if self._made is None and not self.closed:
                self._made = self._make()
            if self._made is None:
                raise self._gone()
            return self._made

    def close(self) -> None:
        """Close the client unless it was given."""
        with self._lock:
            self.closed = True
            made, self._made = self._made, None
        if made is not None:
            made.close()
