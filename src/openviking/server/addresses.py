"""Addresses of requests that mean no text."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Receive, Scope, Send

from openviking.errors import InvalidArgumentError
from openviking.server.envelope import failure


class Addresses:
    """ASGI middleware that answers 400 to a path or query whose bytes are no UTF-8.

    Read leniently, they would name another node: the one with U+FFFD in its name.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and not all(map(_is_text, (scope.get("raw_path") or b"", scope["query_string"]))):
            error = InvalidArgumentError("The path or query of the request is not UTF-8", field="query")
            await failure(error)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _is_text(raw: bytes) -> bool:
    if b"%" not in raw and raw.isascii():
        return True
    try:
        unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        return False
    return True
