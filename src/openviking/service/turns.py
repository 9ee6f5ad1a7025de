"""Turns at the interpreter: of the searches of a process a few read at once, and the others wait in line.

Threads of one process share the interpreter. Sixteen that read rows hand it to each other thousands of times a second,
and each of them takes several times as long as it would alone; waiting for a model does not hold it and takes no turn.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SLICE_S: Final = 0.05
"""How long somebody may read while others wait, before they get their turn."""


class Turns:
    """At most ``many`` at once, first come first served."""

    def __init__(self, many: int, slice_s: float = SLICE_S) -> None:
        self._free = many
        self._slice = slice_s
        self._lock = threading.Lock()
        self._line: deque[threading.Event] = deque()

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Wait for a turn and hold it."""
        turn = Turn(self, self._slice)
        self._take()
        turn.begin()
        try:
            yield turn
        finally:
            self._give()

    @property
    def waiting(self) -> int:
        """How many wait in line."""
        return len(self._line)

    def _take(self) -> None:
        with self._lock:
            if self._free and not self._line:
                self._free -= 1
                return
            called = threading.Event()
            self._line.append(called)
        try:
            called.wait()
        except BaseException:
            # Ctrl-C while waiting: who leaves the line takes no turn, and hands on one that just came.
            with self._lock:
                if not called.is_set():
                    self._line.remove(called)
                    raise
            self._give()
            raise

    def _give(self) -> None:
        with self._lock:
            if self._line:
                self._line.popleft().set()
            else:
                self._free += 1


class Turn:
    """A turn that is held; long work calls `give_way` now and then."""

    __slots__ = ("_began", "_slice", "_turns")

    def __init__(self, turns: Turns, slice_s: float) -> None:
        self._turns = turns
        self._slice = slice_s
        self._began = 0.0

    def begin(self) -> None:
        """The turn begins now."""
        self._began = time.monotonic()

    def give_way(self) -> None:
        """Go to the end of the line if somebody waits and this turn has lasted long enough."""
        if self._turns.waiting and time.monotonic() - self._began > self._slice:
            self._turns._give()  # noqa: SLF001 - the two are one concept
            self._turns._take()  # noqa: SLF001
            self.begin()
