"""The clock of watches."""

from __future__ import annotations

from collections.abc import Callable

from openviking.clock import now_ms
from openviking.service.due_clock import BUSY_S, TICK_S, DueClock
from openviking.store.port import AccountStore

__all__ = ["BUSY_S", "TICK_S", "WatchClock"]


class WatchClock(DueClock):
    """Calls ``look`` for each open store with a watch that is due, and ``wake`` of the workers if that queued anything."""

    def __init__(
        self,
        stores: Callable[[], list[tuple[str, AccountStore]]],
        look: Callable[[str, AccountStore], int],
        wake: Callable[[], None],
        now: Callable[[], int] = now_ms,
    ) -> None:
        super().__init__("watches", stores, lambda store: store.watches.next_due(), look, wake, now)
