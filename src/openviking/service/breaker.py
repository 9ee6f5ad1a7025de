"""When a model that fails may be asked again.

Each trouble has one owner. The embedder repeats requests inside of one call (`providers.retry`); the breaker says when
the next call may begin; `service.outages` leaves a store alone that fails. What is wrong with one passage is none of
these: it is put off in the queue (`store.vectors.Vectors.give_back`). Calls for passages and calls for questions have
a breaker each, and neither learns from the other: a service that has no time for many texts may well answer one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from openviking.errors import OpenVikingError

FIRST_S: Final = 1.0
LONGEST_S: Final = 60.0
PERMANENT_S: Final = 30.0
"""The shortest pause after an error that waiting does not mend: a wrong key, a wrong dimension."""

LONGEST_RETRY_AFTER_S: Final = 3600.0

LOST_S: Final = 120.0
"""A call that tries the model and has not ended after so long is not waited for any more."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One call that was let through; ``outage`` numbers the outages before it, ``probe`` says that it tries whether one is over."""

    outage: int
    probe: bool


@dataclass(frozen=True, slots=True)
class Outage:
    """What is wrong, since when (on the breaker's clock), and whether waiting is in vain."""

    error: OpenVikingError
    permanent: bool
    since: float


class Breaker:
    """Lets calls through while a model answers, and during an outage one call at a time, after pauses that grow.

    ``threshold`` failures in a row are an outage. The pauses begin with ``first`` seconds and double up to ``longest``;
    a model that says for how long it wants to be left alone is, up to an hour.
    """

    def __init__(
        self,
        threshold: int = 1,
        first: float = FIRST_S,
        longest: float = LONGEST_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._threshold = threshold
        self._first = first
        self._longest = longest
        self._clock = clock
        self._failures = 0
        self._lock = threading.Lock()
        self._outages = 0
        self._outage: Outage | None = None
        self._pause = 0.0
        self._until = 0.0
        self._failed_at = 0.0
        self._probed_at = 0.0
        self._probing = False
        self.answered = False
        """Whether the model has ever answered."""

    @property
    def outage(self) -> Outage | None:
        """What is wrong at present."""
        with self._lock:
            return self._outage

    def hopeless_since(self, moment: float) -> bool:
        """Whether the model failed for good when it was last asked, after ``moment`` on the breaker's clock."""
        with self._lock:
            return self._outage is not None and self._outage.permanent and self._failed_at >= moment

    @property
    def now(self) -> float:
        """What the breaker's clock says."""
        return self._clock()

    def lasts(self) -> float:
        """For how many seconds there has been an outage, 0 if there is none."""
        with self._lock:
            return 0.0 if self._outage is None else self._clock() - self._outage.since

    def left(self) -> float:
        """Seconds until a call may be let through, 0 if one may; while one tries the outage, what a pause lasts."""
        with self._lock:
            if self._outage is None:
                return 0.0
            return self._pause if self._probing else max(self._until - self._clock(), 0.0)

    def admit(self) -> Ticket | None:
        """Lets a call through, whose end must be reported by one of the other methods; None while there is a pause."""
        with self._lock:
            if self._outage is None:
                return Ticket(self._outages, probe=False)
            now = self._clock()
            if now < self._until or (self._probing and now < self._probed_at + LOST_S):
                return None
            self._probing, self._probed_at = True, now
            return Ticket(self._outages, probe=True)

    def succeeded(self, ticket: Ticket) -> None:
        """The model answered; that ends an outage unless the call began before it."""
        with self._lock:
            self.answered = True
            if ticket.outage == self._outages:
                self._outage = None
                self._probing = False
                self._failures = 0

    def hasten(self) -> None:
        """Somebody waits: after a permanent error the next try comes as soon as after any other."""
        with self._lock:
            if self._outage is not None and self._outage.permanent:
                self._until = min(self._until, self._failed_at + self._pause)

    def failed(self, ticket: Ticket, error: OpenVikingError) -> bool:
        """The model did not answer; whether that is news."""
        with self._lock:
            now = self._clock()
            known = self._outage
            if ticket.outage != self._outages or (known is not None and not ticket.probe):
                # One of several calls that were under way when an outage began, be it over by now or not.
                return False
            self._failures += 1
            if known is None:
                if self._failures < self._threshold:
                    return True
                self._outages += 1
            permanent = bool(error.details.get("permanent"))
            self._outage = Outage(error, permanent, now if known is None else known.since)
            self._pause = min(2 * self._pause, self._longest) if known else self._first
            self._until = now + max(self._pause, _retry_after(error), PERMANENT_S if permanent else 0.0)
            self._failed_at = now
            self._probing = False
            return known is None or known.error.message != error.message

    def withdrawn(self, ticket: Ticket) -> None:
        """The call was not made, or nobody waits for its end any more."""
        with self._lock:
            if ticket.probe and ticket.outage == self._outages:
                self._probing = False


def _retry_after(error: OpenVikingError) -> float:
    wanted = error.details.get("retry_after")
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not wanted > 0:
        return 0.0
    return min(float(wanted), LONGEST_RETRY_AFTER_S)
