"""A thread that sleeps until the next watch is due."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from openviking.clock import now_ms
from openviking.errors import OpenVikingError
from openviking.service.outages import Outages
from openviking.store.port import AccountStore

TICK_S: Final = 30.0
"""The longest sleep: another process may have added a watch, or a store have been opened."""

BUSY_S: Final = 0.5
"""The sleep while more watches are due than may be looked at at once."""

_log = logging.getLogger(__name__)


class WatchClock:
    """Calls ``look`` for each open store with a watch that is due, and ``wake`` of the workers if that queued anything.

    A look at the clock costs one step in an index per open store.
    """

    def __init__(
        self,
        stores: Callable[[], list[tuple[str, AccountStore]]],
        look: Callable[[str, AccountStore], int],
        wake: Callable[[], None],
        now: Callable[[], int] = now_ms,
    ) -> None:
        self._stores = stores
        self._look = look
        self._wake_workers = wake
        self._now = now
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._outages = Outages()
        self._thread = threading.Thread(target=self._run, name="openviking-watches", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def wake(self) -> None:
        """Look at the clock now rather than later: a watch has changed."""
        self._wake.set()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()

    def tick(self) -> float:
        """Begin what is due; seconds until there may be more."""
        begun, wait = 0, TICK_S
        for account, store in self._stores():
            if self._stop.is_set():
                break
            if not self._outages.over(store):
                wait = min(wait, self._outages.left(store))
                continue
            try:
                due = store.watches.next_due()
                if due is not None and due <= self._now():
                    begun += self._look(account, store)
                    due = store.watches.next_due()
            except OpenVikingError as error:
                if self._outages.note(store, error.message) and not self._stop.is_set():
                    _log.warning("looking for watches of %s failed: %s", account, error.message)
            except Exception as error:  # noqa: BLE001
                # The edge of the thread: a fault in one store must not end the watches of all.
                if self._outages.note(store, repr(error)):
                    _log.exception("looking for watches of %s failed", account)
            else:
                self._outages.end(store)
                if due is not None:
                    wait = min(wait, max((due - self._now()) / 1000, BUSY_S))
                continue
            wait = min(wait, self._outages.left(store))
        if begun:
            self._wake_workers()
        return wait

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            wait = self.tick()
            if not self._stop.is_set():
                self._wake.wait(wait)
