"""How long a store that fails is left alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

FIRST_S: Final = 0.5
LONGEST_S: Final = 30.0


@dataclass(slots=True)
class _Outage:
    pause: float
    until: float
    said: set[str]


class Outages:
    """Stores that failed, each with a pause before the next try that doubles from half a second to thirty."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._now: dict[int, _Outage] = {}

    def note(self, store: object, error: str) -> bool:
        """Put off the next try of a store that failed; whether ``error`` is new in this outage."""
        found = self._now.get(id(store))
        if found is None:
            found = self._now[id(store)] = _Outage(FIRST_S / 2, 0.0, set())
        found.pause = min(2 * found.pause, LONGEST_S)
        found.until = self._clock() + found.pause
        new = error not in found.said
        found.said.add(error)
        return new

    def end(self, store: object) -> None:
        """The store works again."""
        self._now.pop(id(store), None)

    def over(self, store: object) -> bool:
        """Whether the store may be tried."""
        return self.left(store) <= 0

    def left(self, store: object) -> float:
        """Seconds until the store may be tried."""
        found = self._now.get(id(store))
        return 0.0 if found is None else max(found.until - self._clock(), 0.0)
