"""Who is calling, found out before anything of a request's body is read."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from openviking.errors import OpenVikingError
from openviking.server.envelope import failure
from openviking.service.authentication import Call, authenticate, is_public, recognised
from openviking.service.services import Services

HEALTH: Final = "/health"


class Guard:
    """ASGI middleware that puts the caller's `Identity` into ``state.caller``, or answers why there is none.

    ``/health`` is for everybody and tells more to those it knows; other public paths have no caller.
    """

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        call = _call(scope)
        services = self._services
        if call.path == HEALTH:
            state["caller"] = recognised(services.rules, call, services.keys)
        elif scope["method"] == "OPTIONS" or is_public(call.method, call.path):
            state["caller"] = None
        else:
            try:
                state["caller"] = authenticate(services.rules, call, services.keys)
            except OpenVikingError as error:
                await failure(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _call(scope: Scope) -> Call:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    text = scope["query_string"].decode("latin-1")
    query = parse_qsl(text, keep_blank_values=True) if text else ()
    return Call(scope["method"], scope["path"], headers, query)
