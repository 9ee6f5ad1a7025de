"""How a call to a model service fails, and what callers are told of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, Literal

from openviking.errors import UnavailableError
from openviking.text import shorten

Kind = Literal["outage", "late", "crash", "refused", "permanent", "malformed"]
"""Why there is no answer.

``outage``: it may answer another time. ``late``: it did not answer in time. ``crash``: a fault inside of it, which may
be an outage or the text's doing. ``refused``: it will not take this. ``permanent``: it will not take anything, whoever
asks. ``malformed``: it answered what cannot be understood.
"""

MAX_MESSAGE: Final = 300

_KEY_LIKE = re.compile(r"\b(?:sk|pk|pa|jina)[-_][\w.\-]{6,}|(?<=Bearer )\S+", re.IGNORECASE)
_MASK: Final = "***"


class CallFailed(Exception):  # noqa: N818
    """One call without a usable answer: of what ``kind``, with the ``status`` and the pause that the service asks for."""

    def __init__(
        self, message: str, kind: Kind, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind: Kind = kind
        self.status = status
        self.retry_after = retry_after

    @property
    def repeatable(self) -> bool:
        """Whether the same call may be answered when it is made again."""
        return self.kind in ("outage", "late", "crash")

    @property
    def of_text(self) -> bool:
        """Whether a text in the call may be the cause."""
        return self.kind in ("refused", "crash")


def kind_of(status: int) -> Kind:
    """What an HTTP status that is no success means for the next call (contract/core.md §5.3, retries)."""
    if status in (400, 413, 422):
        return "refused"
    if status == 500:
        return "crash"
    return "outage" if status in (408, 425, 429) or status > 500 else "permanent"


def unavailable(failure: CallFailed, service: str) -> UnavailableError:
    """The error for callers: with ``retry_after`` if a pause is known, ``permanent`` if waiting will not help."""
    error = UnavailableError(f"{service}: {failure.message}", service="embedding", reason=failure.message)
    if failure.status is not None:
        error.details["upstream_status_code"] = failure.status
    if failure.kind in ("permanent", "refused"):
        error.details["permanent"] = True
    elif failure.retry_after is not None:
        error.details["retry_after"] = round(failure.retry_after, 3)
    return error


def told_by(body: bytes, secrets: Iterable[str]) -> str:
    """The message in the body of a failed answer, fit to be shown: one line, short, without keys."""
    text = body.decode("utf-8", "replace")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = text
    return shown(_message(told), secrets)


def shown(message: str, secrets: Iterable[str]) -> str:
    """``message`` in one short line without control characters, and with stars in the place of keys."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= 4:
            message = message.replace(secret, _MASK)
    message = "".join(char if char.isprintable() else " " for char in message)
    return shorten(" ".join(_KEY_LIKE.sub(_MASK, message).split()), MAX_MESSAGE)


def _message(told: Any) -> str:
    """Where the known services put it: ``error.message``, ``error``, ``message`` or ``detail``."""
    if isinstance(told, dict):
        for name in ("error", "message", "detail"):
            if told.get(name):
                return _message(told[name])
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
