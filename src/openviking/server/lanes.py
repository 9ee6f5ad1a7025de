"""The one hop from the event loop into threads: bounded, and full means refused at once."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from openviking.errors import UnavailableError

T = TypeVar("T")

RETRY_AFTER_S: Final = 1
"""When somebody who was refused may try again: most calls take milliseconds."""


class Lane:
    """``threads`` calls run at once and ``queue`` more wait their turn; what comes beyond that is `UnavailableError`."""

    def __init__(self, name: str, threads: int, queue: int) -> None:
        self._name = name
        self._most = threads + queue
        self._lock = threading.Lock()
        self._running = 0
        self._waiting: set[asyncio.Future[Any]] = set()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"openviking-{name}")

    @property
    def running(self) -> int:
        """Calls that run or wait their turn."""
        return self._running

    async def run(self, call: Callable[[], T]) -> T:
        """What ``call`` gives, from a thread of this lane.

        Raises `UnavailableError` when the lane is full, when it is closed, and after `give_up`.
        """
        with self._lock:
            if self._running >= self._most:
                raise overloaded(f"{self._most} {self._name} calls are under way")
            self._running += 1
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            result: Any = None
            failed: BaseException | None = None
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 - it is the waiting caller's, whatever it is
                failed = error
            # A client that goes away does not free the thread: the call counts until it is over.
            self._over()
            # Who asked may be gone with the loop.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, answer, result, failed)

        try:
            self._pool.submit(work)
        except RuntimeError as error:
            self._over()
            raise stopping("it was not carried out") from error
        self._waiting.add(answer)
        try:
            return await answer
        finally:
            self._waiting.discard(answer)

    def _over(self) -> None:
        with self._lock:
            self._running -= 1

    def give_up(self) -> None:
        """Answer all who still wait, from the loop's thread; their calls go on."""
        for answer in tuple(self._waiting):
            _settle(answer, None, stopping("whether it was carried out is not known"))

    def close(self) -> None:
        """End the threads after the calls under way; those that have not begun never will."""
        self._pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Lanes:
    """Calls that may keep others waiting have lanes of their own.

    ``quick`` is for calls that end by themselves soon, ``asking`` for those that may ask a model, which may not answer,
    ``patient`` for those that wait for work behind a write.
    """

    quick: Lane
    asking: Lane
    patient: Lane

    def give_up(self) -> None:
        """Answer all who still wait."""
        for lane in (self.quick, self.asking, self.patient):
            lane.give_up()

    def close(self) -> None:
        """End all of them."""
        for lane in (self.quick, self.asking, self.patient):
            lane.close()


def overloaded(why: str) -> UnavailableError:
    """What is answered at once to a call for which there is no room."""
    error = UnavailableError(f"The server is busy: {why}; try again", service="server", reason="overloaded")
    error.details |= {"retryable": True, "retry_after": RETRY_AFTER_S}
    return error


def _settle(answer: asyncio.Future[Any], result: Any, failed: BaseException | None) -> None:
    if answer.done():
        return
    if failed is None:
        answer.set_result(result)
    elif isinstance(failed, StopIteration):
        # A future can't carry it.
        answer.set_exception(RuntimeError("a call ended with StopIteration"))
    else:
        answer.set_exception(failed)


def stopping(what: str) -> UnavailableError:
    """What is answered to a call that the end of the server leaves undone; ``what`` says how far it came."""
    return UnavailableError(
        f"The server is stopping before the call came to its end; {what}", service="server", reason="stopping"
    )
