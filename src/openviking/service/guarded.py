"""A call of a chat or rerank model behind its breaker: left alone during an outage, its failures told once and as ours."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from openviking.errors import OpenVikingError, UnavailableError
from openviking.service.breaker import Breaker

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Guarded:
    """The calls of one model: ``service`` names it in errors, ``loss`` says what does not happen without it."""

    service: str
    loss: str

    def unavailable(self, reason: str) -> UnavailableError:
        """That the model does not answer, and why."""
        return UnavailableError(
            f"The {self.service} model does not answer: {reason}", service=self.service, reason=reason
        )

    def ask(self, calls: Breaker, call: Callable[[], T]) -> T:
        """What ``call`` gives; raises an `OpenVikingError`, also without a call while ``calls`` lets none through."""
        ticket = calls.admit()
        if ticket is None:
            outage = calls.outage
            if outage is None:
                raise self.unavailable("left alone for a moment")
            # An error of its own: the other is being raised in another thread, perhaps.
            raise UnavailableError(outage.error.message, service=self.service, reason="it is left alone for a while")
        try:
            answer = call()
        except Exception as error:
            found = error if isinstance(error, OpenVikingError) else self.unavailable(repr(error))
            if found is not error:
                _log.exception("the %s model failed", self.service)
            if found.details.get("refused"):
                # It answers, and another request may well be taken.
                calls.succeeded(ticket)
            elif calls.failed(ticket, found):
                _log.warning("%s: %s", self.loss, found.message)
            raise found from error
        except BaseException:
            calls.withdrawn(ticket)
            raise
        calls.succeeded(ticket)
        return answer
