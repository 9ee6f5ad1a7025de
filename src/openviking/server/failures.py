"""Whatever goes wrong as the documented envelope (contract/core.md §1.2): the one handler of this door."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openviking.errors import (
    ConflictError,
    DeadlineExceededError,
    InternalError,
    InvalidArgumentError,
    OpenVikingError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
)
from openviking.server.envelope import Json, failure
from openviking.text import quoted

_log = logging.getLogger(__name__)

_CODES: Final[dict[int, str]] = {
    400: InvalidArgumentError.code,
    401: UnauthenticatedError.code,
    403: PermissionDeniedError.code,
    404: "NOT_FOUND",
    409: ConflictError.code,
    413: InvalidArgumentError.code,
    415: InvalidArgumentError.code,
    422: InvalidArgumentError.code,
    429: ResourceExhaustedError.code,
    502: UnavailableError.code,
    503: UnavailableError.code,
    504: DeadlineExceededError.code,
}
_STATUS: Final = {422: 400, 502: 503}
SHOWN_ERRORS: Final = 20
LONGEST_NAME: Final = 80
"""Characters of a field's name that are shown."""


def install(app: FastAPI) -> None:
    """Make ``app`` answer every error as an envelope."""
    app.add_exception_handler(OpenVikingError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(Faults)


async def _ours(_request: Request, error: Exception) -> Json:
    assert isinstance(error, OpenVikingError)  # noqa: S101
    if error.status >= 500 and error.status != UnimplementedError.status:
        _log.warning("%s: %s", error.code, error.message)
    return failure(error)


async def _invalid(request: Request, error: Exception) -> Json:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    return failure(invalid(error.errors(), _body_of(request)))


def invalid(errors: Sequence[Any], body: Any = None) -> InvalidArgumentError:
    """What a request that does not fit its schema is told; ``body`` is the type that its body should have."""
    found = [
        {"loc": [_short(part) for part in one["loc"]], "message": _wrong(one, body), "type": one["type"]}
        for one in errors[:SHOWN_ERRORS]
    ]
    told = "; ".join(f"{'.'.join(one['loc'])}: {one['message']}" for one in found)
    return InvalidArgumentError(f"Invalid request parameters: {told}", validation_errors=found)


def _wrong(one: Mapping[str, Any], body: Any) -> str:
    if one["type"] == "json_invalid":
        return f"the body is no JSON: {one['ctx']['error']} at character {one['loc'][-1]}"
    if one["type"] == "extra_forbidden":
        known = _fields(body, one["loc"][1:-1])
        close = difflib.get_close_matches(str(one["loc"][-1])[:80], known, 1)
        meant = f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}" if known else ""
        return f"this field is not known{meant}"
    return (
        f"{one['msg']}, not {quoted(one['input'])}" if "input" in one and one["type"] != "missing" else str(one["msg"])
    )


def _short(part: object) -> str:
    """A step of the way to a value; the names of fields are the caller's."""
    return str(part) if len(str(part)) <= LONGEST_NAME else f"{str(part)[:LONGEST_NAME]}…"


def _body_of(request: Request) -> Any:
    """The type of the body of the route that a request is for; None where it has none."""
    parameters: Sequence[Any] = getattr(getattr(request.scope.get("route"), "dependant", None), "body_params", [])
    return parameters[0].field_info.annotation if len(parameters) == 1 else None


def _fields(kind: Any, way: Sequence[Any]) -> list[str]:
    """The names of the fields of what lies on the ``way`` in a value of this type; [] if that is not one model."""
    for kept in (kind, *get_args(kind)):
        fields = getattr(kept, "model_fields", None)
        if fields is not None:
            # A step into one of several types is named after it.
            way = way[1:] if way and way[0] == kept.__name__ else way
            if not way:
                return sorted(fields)
            return _fields(fields[way[0]].annotation, way[1:]) if way[0] in fields else []
    return []


async def _http(_request: Request, error: Exception) -> Json:
    assert isinstance(error, HTTPException)  # noqa: S101
    status = _STATUS.get(error.status_code, error.status_code)
    code = _CODES.get(error.status_code, InternalError.code if error.status_code >= 500 else "UNKNOWN")
    details = {} if status == error.status_code else {"original_http_status_code": error.status_code}
    body = {"status": "error", "error": {"code": code, "message": _detail(error), "details": details}}
    return Json(body, status_code=status, headers=dict(error.headers or {}))


def _detail(error: HTTPException) -> str:
    """What an error of the framework says; of a body that can't be parsed, why."""
    cause = error.__cause__
    if error.status_code != 400 or cause is None:
        return str(error.detail)
    if isinstance(cause, RecursionError):
        return "The body is nested too deeply"
    if isinstance(cause, UnicodeDecodeError):
        return f"The body is not {cause.encoding.upper()}: {cause.reason} at byte {cause.start}"
    return "The body has a number with too many digits" if isinstance(cause, ValueError) else str(error.detail)


class Faults:
    """ASGI middleware that answers what nobody else did: its log has the trace, the caller a plain sentence.

    It lies inside of the others, so that this answer has their headers too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            # Nobody is there to be answered.
            return
        except Exception as error:
            _log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            if begun:
                raise
            await failure(InternalError("The server failed; its log says why"))(scope, receive, send)
