"""Whatever goes wrong as the documented envelope (contract/core.md §1.2): the one handler of this door."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
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
    422: InvalidArgumentError.code,
    429: ResourceExhaustedError.code,
    502: UnavailableError.code,
    503: UnavailableError.code,
    504: DeadlineExceededError.code,
}
_STATUS: Final = {422: 400, 502: 503}
SHOWN_ERRORS: Final = 20


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
    retry = error.details.get("retry_after")
    return failure(error, {"Retry-After": str(max(1, round(retry)))} if isinstance(retry, int | float) else None)


async def _invalid(_request: Request, error: Exception) -> Json:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    return failure(invalid(error.errors()))


def invalid(errors: Sequence[Any]) -> InvalidArgumentError:
    """What a request that does not fit its schema is told."""
    found = [
        {
            "loc": [str(part) for part in one["loc"]],
            "message": f"{one['msg']}, not {quoted(one['input'])}" if "input" in one and one["type"] != "missing" else one["msg"],
            "type": one["type"],
        }
        for one in errors[:SHOWN_ERRORS]
    ]  # fmt: skip
    told = "; ".join(f"{'.'.join(one['loc'])}: {one['message']}" for one in found)
    return InvalidArgumentError(f"Invalid request parameters: {told}", validation_errors=found)


async def _http(_request: Request, error: Exception) -> Json:
    assert isinstance(error, HTTPException)  # noqa: S101
    status = _STATUS.get(error.status_code, error.status_code)
    code = _CODES.get(error.status_code, InternalError.code if error.status_code >= 500 else "UNKNOWN")
    details = {} if status == error.status_code else {"original_http_status_code": error.status_code}
    body = {"status": "error", "error": {"code": code, "message": str(error.detail), "details": details}}
    return Json(body, status_code=status, headers=dict(error.headers or {}))


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
        except Exception as error:
            _log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            if begun:
                raise
            await failure(InternalError("The server failed; its log says why"))(scope, receive, send)
