"""Connections that fail: the error that says so, and whether the call may be sent again."""

from __future__ import annotations

from typing import Any, Final

import httpx2

from openviking_sdk.call import Call
from openviking_sdk.errors import DeadlineExceededError, InternalError, OpenVikingError, UnavailableError
from openviking_sdk.request import seconds_for_answer
from openviking_sdk.settings import Settings

RETRY_WAITS_S: Final = (0.1, 0.5, 2.0)


def failure(call: Call[Any], error: httpx2.RequestError, settings: Settings) -> OpenVikingError:
    """The error of the SDK for one of the HTTP client; its message has the server's address."""
    operation = f"{call.method} {settings.url}{call.path}"
    if isinstance(error, httpx2.TimeoutException) and not isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        timeout = settings.timeout if isinstance(error, httpx2.WriteTimeout) else seconds_for_answer(call, settings)
        unsure = "" if call.repeatable else "; it may have been done all the same"
        return DeadlineExceededError(
            f"{operation} gave no answer within {timeout:g} s{unsure}",
            details={"operation": operation, "timeout": timeout},
        )
    if isinstance(error, httpx2.DecodingError):
        return InternalError(f"{operation} answered with what can't be decoded: {error}")
    reason = str(error) or type(error).__name__
    details = {"service": settings.url, "reason": reason}
    if nothing_was_sent(error):
        return UnavailableError(f"No connection to {settings.url}: {reason}", details=details)
    unsure = "" if call.repeatable else "; it may have been done all the same"
    return UnavailableError(f"{operation} lost its connection: {reason}{unsure}", details=details)


def nothing_was_sent(error: httpx2.RequestError) -> bool:
    """Whether the request can't have reached the server."""
    return isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.ProxyError)


def wait_before_repeating(call: Call[Any], error: httpx2.RequestError, done: int, retries: int) -> float | None:
    """Seconds to wait before the call is sent again, None if it must not be; ``done`` tries have failed.

    What never reached the server may be sent again. After that only what is repeatable may: reads, and writes that
    carry an id by which the server knows them again. A timeout is never answered with another try, nor is a refusal.
    """
    if done > retries:
        return None
    broken = isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError)
    if isinstance(error, httpx2.ConnectError) or (broken and call.repeatable):
        return RETRY_WAITS_S[min(done, len(RETRY_WAITS_S)) - 1]
    return None
