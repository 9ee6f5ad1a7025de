"""One model service over HTTP, asked within its caller's deadline and again while that may help."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar
from urllib.parse import urlsplit

from openviking.errors import DeadlineExceededError, OpenVikingError
from openviking.providers.endpoint import Endpoint
from openviking.providers.failures import CallFailed, unavailable
from openviking.providers.retry import Pace, Timekeeper

T = TypeVar("T")

_LATE_S: Final = 0.02


class Remote:
    """Posts to ``url`` for ``name``, which stands in errors; ``kind`` of service is ``chat`` or ``rerank``.

    At most ``limit`` calls run at once, ``timeout`` seconds each, and one that fails is repeated up to ``retries`` times.
    ``secrets`` are never shown. Safe to use from several threads.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        url: str,
        headers: Mapping[str, str],
        secrets: Sequence[str],
        *,
        limit: int,
        timeout: float,
        retries: int,
        timekeeper: Timekeeper | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._kind = kind
        self.name = name
        self._time = timekeeper or Timekeeper()
        address = urlsplit(url)
        private = [*secrets, *(part for one in secrets for part in one.split()), address.username, address.password]
        self._endpoint = Endpoint(url, headers, [one for one in private if one], limit)
        self._pace = Pace(self._time, jitter)
        self._timeout = timeout
        self._attempts = retries + 1

    def ask(
        self,
        body: Callable[[], bytes],
        read: Callable[[bytes], T],
        *,
        timeout: float,
        max_bytes: int,
        signed: Callable[[bytes], Mapping[str, str]] | None = None,
        repeat: bool = True,
    ) -> T:
        """What ``read`` makes of the answer; it raises `CallFailed` for one that cannot be understood.

        ``body`` is made anew for each try, ``signed`` gives headers for it. Without ``repeat`` there is one try, at once,
        whatever became of others: somebody waits who can do without. Raises `UnavailableError` when there is no
        answer (``details["permanent"]`` if waiting will not help), `DeadlineExceededError` after ``timeout`` seconds.
        """
        deadline = self._time.now() + timeout
        try:
            if not repeat:
                return read(self._once(body(), deadline, max_bytes, signed))
            return self._repeated(body, read, deadline, max_bytes, signed)
        except CallFailed as failure:
            raise self._error(failure, deadline, timeout) from failure

    def close(self) -> None:
        """End the calls under way, and all connections."""
        self._time.stop()
        self._endpoint.close()

    def _repeated(
        self,
        body: Callable[[], bytes],
        read: Callable[[bytes], T],
        deadline: float,
        max_bytes: int,
        signed: Callable[[bytes], Mapping[str, str]] | None,
    ) -> T:
        attempts = self._attempts
        while True:
            attempts -= 1
            turn = self._pace.enter(deadline)
            try:
                found = read(self._once(body(), deadline, max_bytes, signed))
            except CallFailed as failure:
                if failure.kind in ("refused", "malformed"):
                    # It answers: others need not wait for it to recover.
                    self._pace.succeeded(turn)
                else:
                    self._pace.failed(turn, failure)
                if not failure.repeatable or not attempts or self._time.now() >= deadline:
                    raise
            except BaseException:
                self._pace.failed(turn, CallFailed("interrupted", "outage"))
                raise
            else:
                self._pace.succeeded(turn)
                return found

    def _once(
        self, body: bytes, deadline: float, max_bytes: int, signed: Callable[[bytes], Mapping[str, str]] | None
    ) -> bytes:
        timeout = max(min(self._timeout, deadline - self._time.now()), 0.001)
        headers = signed(body) if signed else None
        return self._endpoint.post(body, timeout=timeout, max_bytes=max_bytes, headers=headers)

    def _error(self, failure: CallFailed, deadline: float, timeout: float) -> OpenVikingError:
        if failure.kind == "late" and self._time.now() >= deadline - _LATE_S:
            return DeadlineExceededError(
                f"{self.name}: no answer after {timeout:g} s", operation=self._kind, timeout=timeout
            )
        error = unavailable(failure, self.name)
        error.details["service"] = self._kind
        if failure.kind == "refused":
            # Another text may well be taken.
            error.details["refused"] = True
            error.details.pop("permanent", None)
        return error
