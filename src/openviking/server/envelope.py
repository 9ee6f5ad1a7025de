"""The shapes of answers (contract/core.md §1.1, §1.2)."""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.responses import Response

from openviking.errors import OpenVikingError

_READABLE: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPED: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class Json(Response):
    """A JSON answer; text in any script stays readable, and what is no JSON (NaN) is an error here rather than there."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of ``content``."""
        try:
            return _READABLE.encode(content).encode()
        except UnicodeEncodeError:
            # Half of a surrogate pair has no bytes in UTF-8, but JSON can spell it.
            return _ESCAPED.encode(content).encode("ascii")


def success(
    result: Any,
    *,
    lean: bool = False,
    beside: dict[str, Any] | None = None,
    telemetry: dict[str, Any] | None = None,
    status: int = 200,
) -> Json:
    """The envelope of a result; ``lean`` routes leave out what is null, ``beside`` stands next to the result."""
    body: dict[str, Any] = {"status": "ok", "result": result}
    if not lean:
        body |= {"error": None, "telemetry": telemetry, "profile": None}
    else:
        if result is None:
            del body["result"]
        if telemetry is not None:
            body["telemetry"] = telemetry
    return Json(body | (beside or {}), status_code=status)


def failure(error: OpenVikingError, headers: dict[str, str] | None = None) -> Json:
    """The envelope of an error, with its status, and ``Retry-After`` where its details say when."""
    told = {"code": error.code, "message": error.message, "details": error.details}
    retry = error.details.get("retry_after")
    if isinstance(retry, int | float):
        headers = {**(headers or {}), "Retry-After": str(max(1, round(retry)))}
    return Json({"status": "error", "error": told}, status_code=error.status, headers=headers)
