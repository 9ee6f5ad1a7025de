"""Uploads and downloads by a link that needs no key (contract/core.md §3.4, §4.2).

They are answered ahead of the guard, which asks for a key; the token says who made the link.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from openviking.errors import InvalidArgumentError, OpenVikingError
from openviking.mcp.links import DOWNLOAD_PATH, UPLOAD_PATH, Ticket
from openviking.server.body_limit import BodyLimit
from openviking.server.edge import Edge
from openviking.server.envelope import failure, success
from openviking.server.failures import Faults
from openviking.server.multipart import FormReader
from openviking.server.routes.content import Sending
from openviking.service.services import Services
from openviking.service.uploads import Incoming, too_large

FORM_BYTES: Final = 1024 * 1024
"""So much of a form may be something else than the file."""

_METHODS: Final = {DOWNLOAD_PATH: ("GET", "download"), UPLOAD_PATH: ("POST", "upload")}


class SignedLinks:
    """ASGI middleware that answers requests with a token, and lets all others pass."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services
        self._signed = BodyLimit(Faults(self._answer))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if (
            scope["type"] != "http"
            or scope["path"] not in _METHODS
            or b"token=" not in scope["query_string"]
            or scope["method"] != _METHODS[scope["path"]][0]
        ):
            await self._app(scope, receive, send)
        else:
            await self._signed(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answered(scope, receive)
        except OpenVikingError as error:
            answer = failure(error)
        await answer(scope, receive, send)

    async def _answered(self, scope: Scope, receive: Receive) -> Response:
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = query.get("token", [])
        if len(tokens) != 1:
            raise InvalidArgumentError("The token must be there once", field="token")
        state = scope["app"].state
        kind: Any = _METHODS[scope["path"]][1]
        ticket = state.tickets.use(kind, tokens[0])
        edge = Edge(self._services, ticket.caller, state.lanes)
        return await (self._sent(edge, ticket) if kind == "download" else self._received(edge, ticket, scope, receive))

    @staticmethod
    async def _sent(edge: Edge, ticket: Ticket) -> Response:
        sent = await edge.call(lambda: edge.services.content.sent(edge.caller, ticket.terms))
        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(sent.name, safe='')}",
            "Content-Length": str(sent.size),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "private, no-store",
        }
        return Sending(sent, headers)

    @staticmethod
    async def _received(edge: Edge, ticket: Ticket, scope: Scope, receive: Receive) -> Response:
        """Keep the file and import it, as the agent said when it asked for the link."""
        request = Request(scope, receive)
        settings = edge.services.uploads.settings
        length = request.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and len(length) < 20 and int(length) > settings.max_bytes + FORM_BYTES:
            raise too_large(settings)
        incoming: list[Incoming] = []

        def begin(filename: str | None) -> Incoming:
            incoming.append(edge.services.uploads.begin(edge.caller, filename))
            return incoming[0]

        form = FormReader(request.headers.get("content-type", ""), begin)

        def add() -> Response:
            upload = incoming[0].finish()
            return success(
                edge.services.imports.add(edge.caller, replace(ticket.terms, temp_file_id=upload.id)), lean=True
            )

        try:
            await form.read(request.stream())
            return await edge.call(add)
        except BaseException:
            # Also for a client that went away.
            for one in incoming:
                one.abandon()
            raise
