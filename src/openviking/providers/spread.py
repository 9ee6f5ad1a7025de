"""Many texts over several requests at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from openviking.providers.embedder import Refused
from openviking.providers.failures import CallFailed
from openviking.providers.pieces import group_end

Vector = NDArray[np.float32]


class Spread:
    """Settles ``texts`` with ``settle``, in requests of ``size()`` texts, ``threads`` at once; `run` is called once."""

    def __init__(
        self,
        texts: Sequence[str],
        settle: Callable[[Sequence[str]], list[Vector | Refused | CallFailed]],
        size: Callable[[], int],
        threads: int,
    ) -> None:
        self._texts = texts
        self._settle = settle
        self._size = size
        self._threads = min(threads, -(-len(texts) // size()))
        self._lock = threading.Lock()
        self._next = 0
        self._settled: dict[int, Vector | Refused] = {}
        self._failure: CallFailed | None = None
        self._fault: BaseException | None = None

    def run(self) -> tuple[dict[int, Vector | Refused], CallFailed | None]:
        """What became of the texts, by their number: of all, or with the failure that ended it, of some."""
        others = [
            threading.Thread(target=self._work, name="openviking-embedding", daemon=True)
            for _ in range(self._threads - 1)
        ]
        for thread in others:
            thread.start()
        self._work()
        for thread in others:
            thread.join()
        if self._fault is not None:
            raise self._fault
        return self._settled, self._failure

    def _work(self) -> None:
        while group := self._group():
            try:
                found = self._settle([self._texts[number] for number in group])
            except CallFailed as failure:
                self._failure = self._failure or failure
            except Exception as fault:  # noqa: BLE001
                # The edge of the thread: raised again in the one that waits.
                self._fault = fault
            except BaseException as fault:
                # Whoever interrupts does not want to wait for the others, which end after their request.
                self._fault = fault
                raise
            else:
                with self._lock:
                    for number, one in zip(group, found, strict=True):
                        if isinstance(one, CallFailed):
                            self._failure = self._failure or one
                        else:
                            self._settled[number] = one

    def _group(self) -> range:
        """The numbers of the texts of the next request; empty at the end or after a failure."""
        with self._lock:
            if self._failure is not None or self._fault is not None:
                return range(0)
            start = self._next
            self._next = group_end(self._texts, start, self._size())
            return range(start, self._next)
