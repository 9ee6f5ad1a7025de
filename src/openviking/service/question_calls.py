"""Calls of an embedding model for questions: a few at once, each until its deadline, none during an outage."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from openviking.service.breaker import Breaker, Ticket
from openviking.service.model_calls import begun, late, translated, unavailable, unavailable_still

QUESTIONS_AT_ONCE: Final = 16
"""Calls for questions that may be under way; what is more waits for one of them within its deadline."""

GRACE_S: Final = 0.2
"""So much later than its deadline a call of the model is given up from outside."""

PROBE_S: Final = 0.3
"""So long a question waits that tries whether an outage is over; its call goes on when it has been answered by words."""

T = TypeVar("T")


class QuestionCalls:
    """Makes the calls under ``breaker``; ``timeout`` is the seconds for a question, which errors name."""

    def __init__(self, breaker: Breaker, timeout: float) -> None:
        self.breaker = breaker
        self._timeout = timeout
        self._turns = threading.BoundedSemaphore(QUESTIONS_AT_ONCE)

    def within(self, deadline: float, call: Callable[[], T]) -> T:
        """The result of a call of the model for a question, or the reason why there is none, at the latest at ``deadline``."""
        outage = self.breaker.outage
        if outage is not None:
            if self.breaker.left() > 0:
                raise unavailable_still(outage.error)
            deadline = min(deadline, time.monotonic() + PROBE_S)
        free = self._turns.acquire(timeout=max(deadline - time.monotonic(), 0))
        ticket = self.breaker.admit()
        if not free:
            error = late(self._timeout, "too many questions at once")
            if ticket is not None:
                # None of those under way has ended: that says as much as one call more.
                self.breaker.failed(ticket, error)
            raise error
        if ticket is None:
            self._turns.release()
            outage = self.breaker.outage
            raise unavailable("it is left alone for a moment") if outage is None else unavailable_still(outage.error)
        once = threading.Lock()
        made = begun(lambda: self._tried(call, ticket, once), "openviking-question")
        made.add_done_callback(lambda _: self._turns.release())
        allowed = max(deadline - time.monotonic(), 0)
        try:
            return made.result(timeout=min(allowed, PROBE_S) if ticket.probe else allowed + GRACE_S)
        except TimeoutError as timeout:
            if not ticket.probe and once.acquire(blocking=False):
                self.breaker.failed(ticket, late(self._timeout, "no answer"))
            raise late(self._timeout, "no answer") from timeout

    def _tried(self, call: Callable[[], T], ticket: Ticket, once: threading.Lock) -> T:
        """The result of a call for a question, after which its breaker knows whether the model answers.

        ``once`` is held by whoever reports a failure, so that one call is not two.
        """
        try:
            result = call()
        except Exception as error:
            found = translated(error)
            if found.details.get("refused"):
                # The model answers, and another question may well be taken.
                self.breaker.succeeded(ticket)
            elif once.acquire(blocking=False):
                self.breaker.failed(ticket, found)
            raise found from error
        self.breaker.succeeded(ticket)
        return result
