"""When a service that fails is asked again: one at a time, after pauses that grow, as all its callers together."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from openviking.providers.failures import CallFailed

LONGEST_PAUSE_S: Final = 8.0
LONGEST_ASKED_S: Final = 600.0
"""The longest pause that a service is granted by its Retry-After."""

_LOOK_S: Final = 0.05


class Timekeeper:
    """Tells the time, and waits; `stop` ends all waits for good."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait ``seconds``; True at once when stopped."""
        return self._stopped.wait(seconds)

    def stop(self) -> None:
        """End waits under way and to come."""
        self._stopped.set()


class Pace:
    """Lets calls to one service pass. While it answers all pass; while it fails one at a time, after a pause.

    The pause is 0.5 to 1 s after the first failure and doubles up to 4 to 8 s, at random within these bounds so that
    callers do not come back together (contract/core.md §5.3); it is never shorter than the service asks for. So a
    service that is down sees about one call in a second, and soon fewer, from all threads together.
    """

    def __init__(self, timekeeper: Timekeeper, jitter: Callable[[], float] = random.random) -> None:
        self._time = timekeeper
        self._jitter = jitter
        self._lock = threading.Lock()
        self._failures = 0
        self._not_before = 0.0
        self._trying = False
        self._last: CallFailed | None = None

    def enter(self, deadline: float) -> int:
        """Wait for one's turn and get its number, to report with; raises the last failure if it is after ``deadline``."""
        while True:
            with self._lock:
                now = self._time.now()
                if self._last is None:
                    return self._failures
                if now >= self._not_before and not self._trying:
                    self._trying = True
                    return self._failures
                pause = max(self._not_before - now, _LOOK_S)
                last = self._last
            if now + pause > deadline:
                raise self._with_pause(last, pause)
            if self._time.wait(pause):
                raise CallFailed("closed", "permanent")

    def succeeded(self, turn: int) -> None:
        """The service answered: all may pass. What began before it failed proves nothing."""
        with self._lock:
            if turn == self._failures:
                self._failures = 0
                self._last = None
                self._trying = False

    def recovered(self) -> None:
        """The service answered somebody else: an outage is over. A pause that it asked for holds all the same."""
        with self._lock:
            if self._last is not None and self._last.retry_after is None and self._last.status != 429:
                self._failures = 0
                self._last = None
                self._not_before = 0.0
                self._trying = False

    def failed(self, turn: int, failure: CallFailed) -> None:
        """The service did not answer; calls that began together count as one failure."""
        with self._lock:
            now = self._time.now()
            if failure.retry_after is not None:
                self._not_before = max(self._not_before, now + min(failure.retry_after, LONGEST_ASKED_S))
            self._last = failure
            if turn == self._failures:
                self._trying = False
                longest = min(2.0**self._failures, LONGEST_PAUSE_S)
                self._failures = min(self._failures + 1, 30)
                self._not_before = max(self._not_before, now + longest * (1 + self._jitter()) / 2)

    @staticmethod
    def _with_pause(last: CallFailed, pause: float) -> CallFailed:
        return CallFailed(last.message, last.kind, status=last.status, retry_after=pause)


def retry_after_of(value: str | None, *, now: datetime | None = None) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110 §10.2.3: seconds or a date); None if there is none to read."""
    if value is None:
        return None
    value = value.strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, TypeError, IndexError):
            return None
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        seconds = (date - (now or datetime.now(UTC))).total_seconds()
    # Not a number compares with nothing.
    return min(max(seconds, 0.0), LONGEST_ASKED_S) if seconds == seconds else None  # noqa: PLR0124
