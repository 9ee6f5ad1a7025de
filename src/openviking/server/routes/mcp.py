"""The Model Context Protocol over HTTP (contract/core.md §4.1): stateless, each request by itself.

What agents get is in `openviking.mcp`; the protocol's own package is loaded by the first request, in a thread, since it
takes as long to load as the rest of the server.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openviking.server.body_limit import MAX_BYTES
from openviking.server.edge import Edge
from openviking.server.public_address import base_of

if TYPE_CHECKING:
    from types import ModuleType

PATHS: Final = ("/mcp", "/mcp/")
FAILED: Final = -32001
"""The code of a request that got no further than the door."""

_WANTS_PROGRESS: Final = b'"progressToken"'


class Endpoint:
    """ASGI application that answers POST; there is no stream to GET and no session to DELETE."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] != "POST":
            await _refusal(405, "Only POST: this server keeps no sessions and sends nothing unasked", allow=b"POST")(
                send
            )
            return
        body = await _body(receive)
        state = scope["app"].state
        edge = Edge(state.services, scope["state"]["caller"], state.lanes)
        protocol = await edge.call(_protocol)
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 - see above

        from openviking.mcp.desk import Desk  # noqa: PLC0415
        from openviking.mcp.links import Links  # noqa: PLC0415

        links = Links(state.tickets, base_of(scope, edge.services.settings.server))
        manager = StreamableHTTPSessionManager(
            protocol.server_of(Desk(edge.services, edge.caller, links), edge.call),
            stateless=True,
            # Only who wants to hear of progress needs a stream of events.
            json_response=_WANTS_PROGRESS not in body,
            max_request_body_size=MAX_BYTES,
        )
        async with manager.run():
            await manager.handle_request(scope, _again(body, receive), send)


def _protocol() -> ModuleType:
    """The module that makes servers; loading it takes most of a second."""
    from openviking.mcp import protocol  # noqa: PLC0415

    # It tells of every request at INFO.
    logging.getLogger("mcp").setLevel(logging.WARNING)
    return protocol


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class RpcFailures:
    """ASGI middleware: what the doors before the endpoint refuse reaches a client of the protocol in its own form."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] not in PATHS:
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = bytearray()

        async def translated(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and message["status"] >= 400:
                start = message
            elif start is None:
                await send(message)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    await _sent(start, _rpc(bytes(body)), send)

        await self._app(scope, receive, translated)


def _rpc(body: bytes) -> bytes:
    """An envelope of an error as JSON-RPC; anything else as it is."""
    try:
        error = json.loads(body)["error"]
        code, message = error["code"], error["message"]
    except (ValueError, KeyError, TypeError):
        return body
    if not isinstance(code, str):
        return body
    told = {
        "code": FAILED,
        "message": f"{code}: {message}",
        "data": {"code": code, "details": error.get("details", {})},
    }
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": told}, ensure_ascii=True).encode("ascii")


async def _sent(start: Message, body: bytes, send: Send) -> None:
    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
    await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


def _refusal(status: int, message: str, *, allow: bytes) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": FAILED, "message": message}}).encode()
    headers = [(b"content-type", b"application/json"), (b"allow", allow), (b"content-length", str(len(body)).encode())]

    async def answer(send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


MCP_ROUTES: Final = tuple(Route(path, endpoint=Endpoint()) for path in PATHS)
"""They are no part of the HTTP API, so that its document does not name them."""
