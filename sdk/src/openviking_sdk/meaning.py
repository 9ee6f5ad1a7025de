"""What an answer says: the value of the call, or an error."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from openviking_sdk.call import Answer, Call
from openviking_sdk.errors import InternalError, NotFoundError, OpenVikingError, ResourceExhaustedError, error_class
from openviking_sdk.settings import Settings

T = TypeVar("T")

MAX_ANSWER_BYTES: Final = 512 * 1024 * 1024
"""More than this is not taken into memory; a file of any size can be downloaded to disk."""

_SHOWN: Final = 200
_ELSEWHERE: Final = frozenset({400, 404, 405, 406, 415, 501})
_profile_log: Final = logging.getLogger("openviking_sdk.profile")


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers of an answer; the names of headers in any case."""

    status: int
    headers: Mapping[str, str]

    @property
    def is_success(self) -> bool:
        """Whether it is 2xx."""
        return 200 <= self.status < 300


def meaning(call: Call[T], head: Head, content: bytes, settings: Settings) -> T:
    """The value of a call's answer; raises the error that the answer is.

    A bare object comes as it is, also with one of the accepted statuses. What is no JSON becomes the error of its
    status; a success that is no JSON is no OpenViking server.
    """
    if call.form == "bytes" and head.is_success:
        return call.read(Answer({}, content))
    envelope = _object(content)
    if envelope is not None and call.form == "bare" and (head.is_success or head.status in call.accepted):
        return call.read(Answer(envelope))
    # Some routes leave a null result out.
    is_answer = envelope is not None and ("result" in envelope or envelope.get("status") == "ok")
    if envelope is None or not is_answer or not head.is_success or envelope.get("status") == "error":
        code, error = _error(call, head, content, envelope, settings)
        if code == NotFoundError.default_code and call.absent is not None:
            return call.absent.value
        raise error
    for line in envelope.get("profile") or ():
        _profile_log.info("%s %s: %s", call.method, call.path, line)
    return call.read(Answer(envelope))


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _error(
    call: Call[Any], head: Head, content: bytes, envelope: Mapping[str, Any] | None, settings: Settings
) -> tuple[str | None, OpenVikingError]:
    """The code that an answer itself has, and its error."""
    said = (envelope or {}).get("error")
    error: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
    code = error.get("code") if isinstance(error.get("code"), str) else None
    details = error.get("details")
    message = error.get("message")
    kind = error_class(code, head.status)
    if not message:
        shown = _line(content)
        what = f"{call.method} {settings.url}{call.path} answered {head.status}"
        if head.status < 400 or (envelope is None and head.status in _ELSEWHERE):
            # Proxies have statuses of their own, such as 403 or 502; these come of an address where something else is.
            kind = InternalError
            what = f"What answers at {settings.url} is no OpenViking server ({what}); is the url right?"
        message = f"{what}: {shown}" if shown else what
    return code, kind(
        str(message),
        code=code,
        details=details if isinstance(details, Mapping) else None,
        status=head.status,
        request_id=head.headers.get("X-Request-ID"),
        retry_after=_seconds(head.headers.get("Retry-After")),
    )


def _line(content: bytes) -> str:
    """The beginning of a text on one line; nothing of a page, which is for browsers."""
    text = content[:_SHOWN].decode("utf-8", "replace").strip()
    return "" if text.startswith("<") else " ".join(text.split())


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isascii() and text.isdigit() else None


def too_large(call: Call[Any]) -> ResourceExhaustedError:
    """The error for an answer of more than `MAX_ANSWER_BYTES`."""
    return ResourceExhaustedError(
        f"The answer of {call.method} {call.path} is larger than {MAX_ANSWER_BYTES} bytes; download() writes to a file",
        details={"limit": MAX_ANSWER_BYTES},
    )
