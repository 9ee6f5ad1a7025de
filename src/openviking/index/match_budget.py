"""The time that matching may take: a budget for a whole request, and the clock that holds each search to it."""

from __future__ import annotations

import threading
import time
from typing import Any, Final, Self

from openviking.errors import DeadlineExceededError, ResourceExhaustedError
from openviking.text import quoted

DEFAULT_BUDGET_S: Final = 1.0

# What a scan may cost before it counts as slow. Plain patterns take 1–20 ns a character over a block and about 3 µs
# a line one by one; one such as \w+\s*=\s*\w+; takes 150–400 ns a character. Over very much text only the quicker
# ones are worth waiting for.
_ALLOWED_PER_CHAR_S: Final = 1e-6
_ALLOWED_PER_LATER_CHAR_S: Final = 300e-9
_GENEROUS_CHARS: Final = 64_000_000
_ALLOWED_PER_CALL_S: Final = 10e-6
_HOLD_S: Final = 0.01
_MAX_CALL_S: Final = 1.0
_CALLS_PER_CHECK: Final = 32
_HOLD_CHARS: Final = 131_072


class MatchBudget:
    """The time that one request may spend in matching beyond what a plain scan of the same text costs.

    Shared by all texts of a request, so that a pattern which is slow on each of many files is stopped as well as one
    that is catastrophic on a single line. Counted is the CPU time of the matching thread. A plain scan earns nothing
    for later: what it leaves of its allowance (1 µs a character for the first 64 million, 300 ns for all others, 10 µs
    a line) pays back debt only.
    """

    def __init__(self, seconds: float = DEFAULT_BUDGET_S) -> None:
        self.seconds = seconds
        self.scan_failures = 0
        self._debt = 0.0
        self._chars = 0
        self._lock = threading.Lock()

    @property
    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(self.seconds - self._debt, 0.0)

    @property
    def allowed_per_char(self) -> float:
        """Seconds that the next character may cost."""
        return _ALLOWED_PER_CHAR_S if self._chars < _GENEROUS_CHARS else _ALLOWED_PER_LATER_CHAR_S

    def charge(self, used: float, allowed: float, chars: int) -> None:
        """Counts ``used`` seconds against work on ``chars`` characters that may cost ``allowed``."""
        with self._lock:
            self._debt = max(self._debt + used - allowed, 0.0)
            self._chars += chars


class TooSlowError(Exception):
    """A search took longer than it was given, but the budget is not used up."""


class MatchMeter:
    """The clock of one block: runs searches, and stops them when the budget is used up."""

    def __init__(self, budget: MatchBudget, pattern: str, chars: int) -> None:
        self._budget = budget
        self._pattern = pattern
        self._chars = chars
        self._per_char = budget.allowed_per_char
        self._allowed = 0.0
        self._calls = 0
        self._began = 0.0

    def __enter__(self) -> Self:
        self._began = time.thread_time()
        if not self._budget.remaining:
            raise self.exceeded()
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.charge(time.thread_time() - self._began, self._allowed, self._chars)

    def allow(self, chars: int) -> None:
        """Adds what one call over ``chars`` characters may cost."""
        self._allowed += chars * self._per_char + _ALLOWED_PER_CALL_S

    def search(self, pattern: Any, text: str, position: int, limit: float = _MAX_CALL_S) -> Any:
        """The match, or None. Raises TooSlowError after ``limit`` seconds if the budget allows more."""
        self._calls += 1
        if self._calls % _CALLS_PER_CHECK == 0:
            self._left()
        if len(text) <= _HOLD_CHARS:
            # Short calls keep the interpreter: giving it away would cost a wait for it after each line.
            try:
                return pattern.search(text, position, timeout=_HOLD_S)
            except TimeoutError:
                pass
            except MemoryError as error:
                raise self._too_much_memory() from error
        began = time.thread_time()
        # The engine counts the CPU time of the whole process: where other threads work it stops too early.
        timeout = limit
        while True:
            try:
                return pattern.search(text, position, timeout=min(timeout, self._left() + _HOLD_S), concurrent=True)
            except TimeoutError:
                self._left()
            except MemoryError as error:
                raise self._too_much_memory() from error
            if time.thread_time() - began >= limit * 0.9:
                raise TooSlowError
            timeout *= 2

    def _left(self) -> float:
        left = self._budget.remaining + self._allowed - (time.thread_time() - self._began)
        if left <= 0:
            raise self.exceeded()
        return left

    def exceeded(self) -> DeadlineExceededError:
        """The error that says so, with the pattern and what usually helps."""
        return DeadlineExceededError(
            f"The pattern {quoted(self._pattern)} takes too long: more than {self._budget.seconds:g} s beyond a plain "
            "scan; nested or adjacent repetitions such as (a|aa)+ are the usual cause",
            operation="grep",
            timeout=self._budget.seconds,
            pattern=quoted(self._pattern),
        )

    def _too_much_memory(self) -> ResourceExhaustedError:
        return ResourceExhaustedError(
            f"The pattern {quoted(self._pattern)} needs too much memory on a long line", pattern=quoted(self._pattern)
        )
