"""A thread that sleeps until the next of something is due in any open store."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from typing import Final

from openviking.clock import now_ms
from openviking.errors import OpenVikingError
from openviking.service.outages import Outages
from openviking.store.port import AccountStore

TICK_S: Final = 30.0
"""The longest sleep: another process may have added something, or a store have been opened."""

BUSY_S: Final = 0.5
"""The sleep while more is due than may be looked at at once."""

_log = logging.getLogger(__name__)


class DueClock:
    """Calls ``look`` for each open store in which ``next_due`` has come, and ``wake`` if that began anything.

    A look at the clock costs one step in an index per open store. ``what`` names what is due in the log.
    """

    def __init__(
        self,
        what: str,
        stores: Callable[[], list[tuple[str, AccountStore]]],
        next_due: Callable[[AccountStore], int | None],
        look: Callable[[str, AccountStore], int],
        wake: Callable[[], None],
        now: Callable[[], int] = now_ms,
        *,
        tick_s: float = TICK_S,
        busy_s: float = BUSY_S,
    ) -> None:
        self._what = what
        self._stores = stores
        self._next_due = next_due
        self._look = look
        self._wake_workers = wake
        self._now = now
        self._tick_s = tick_s
        self._busy_s = busy_s
        self._until = 0.0
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._outages = Outages()
        self._thread = threading.Thread(target=self._run, name=f"openviking-{what}", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def wake(self) -> None:
        """Look at the clock now rather than later: something has changed."""
        self._wake.set()

    def expect(self, at: int) -> None:
        """Something will be due at ``at``, in milliseconds since the epoch: sleep no longer than that."""
        if at < self._until:
            self._wake.set()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()

    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop.is_set()

    def tick(self) -> float:
        """Begin what is due; seconds until there may be more."""
        begun, wait = 0, self._tick_s
        for account, store in self._stores():
            if self._stop.is_set():
                break
            if not self._outages.over(store):
                wait = min(wait, self._outages.left(store))
                continue
            try:
                due = self._next_due(store)
                if due is not None and due <= self._now():
                    begun += self._look(account, store)
                    due = self._next_due(store)
            except OpenVikingError as error:
                if self._outages.note(store, error.message) and not self._stop.is_set():
                    _log.warning("looking for %s of %s failed: %s", self._what, account, error.message)
            except Exception as error:  # noqa: BLE001
                # The edge of the thread: a fault in one store must not end what is due in all.
                if self._outages.note(store, repr(error)):
                    _log.exception("looking for %s of %s failed", self._what, account)
            else:
                self._outages.end(store)
                if due is not None:
                    wait = min(wait, max((due - self._now()) / 1000, self._busy_s))
                continue
            wait = min(wait, self._outages.left(store))
        if begun:
            self._wake_workers()
        return wait

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            # What is expected while the stores are looked through may have been missed there.
            self._until = math.inf
            wait = self.tick()
            self._until = self._now() + wait * 1000
            if not self._stop.is_set():
                self._wake.wait(wait)
