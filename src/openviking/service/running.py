"""Calls that are under way, so that closing can let them come to a good end."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class Running:
    """Counts calls by thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._threads: list[int] = []

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Around a call that closing waits for."""
        thread = threading.get_ident()
        with self._changed:
            self._threads.append(thread)
        try:
            yield
        finally:
            with self._changed:
                self._threads.remove(thread)
                self._changed.notify_all()

    def wait(self, timeout: float) -> bool:
        """Wait until no other thread is in a call; False if some still is after ``timeout`` seconds."""
        own = threading.get_ident()
        with self._changed:
            return self._changed.wait_for(lambda: all(thread == own for thread in self._threads), timeout)
