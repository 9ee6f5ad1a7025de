"""The one hop from the event loop into threads: bounded, and full means refused at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from openviking.errors import UnavailableError

T = TypeVar("T")


class Lane:
    """``threads`` calls run at once and ``queue`` more wait their turn; what comes beyond that is `UnavailableError`.

    Calls that may wait for others (``wait=true``) have a lane of their own, so that they keep nobody else waiting.
    """

    def __init__(self, name: str, threads: int, queue: int) -> None:
        self._name = name
        self._most = threads + queue
        self._lock = threading.Lock()
        self._running = 0
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"openviking-{name}")

    @property
    def running(self) -> int:
        """Calls that run or wait their turn."""
        return self._running

    async def run(self, call: Callable[[], T]) -> T:
        """What ``call`` gives, from a thread of this lane. Raises `UnavailableError` when the lane is full."""
        with self._lock:
            if self._running >= self._most:
                error = UnavailableError(
                    f"The server is busy: {self._most} {self._name} calls are under way; try again",
                    service="server",
                    reason="overloaded",
                )
                error.details["retryable"] = True
                raise error
            self._running += 1
        try:
            future = asyncio.get_running_loop().run_in_executor(self._pool, call)
        except BaseException:
            self._done(None)
            raise
        # A client that goes away does not free the thread: the call counts until it is over.
        future.add_done_callback(self._done)
        return await asyncio.shield(future)

    def _done(self, _future: asyncio.Future[T] | None) -> None:
        with self._lock:
            self._running -= 1

    def close(self) -> None:
        """End the threads after the calls under way."""
        self._pool.shutdown(wait=True, cancel_futures=True)
