"""Bodies that are too large or too bushy to be read on the loop that serves everybody."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openviking.server.envelope import Json

MAX_BYTES: Final = 24 * 1024 * 1024
"""Of any body but an upload: the largest batch of writes (16 MiB) in base64, and room."""

MAX_STRUCTURE: Final = 1024 * 1024
"""Of that, bytes outside of strings: each may become an object."""

UPLOADS: Final = frozenset({"/api/v1/resources/temp_upload"})
"""Paths that take files of any size and bound them themselves."""


class BodyLimit:
    """ASGI middleware that answers 413 for a body of more than `MAX_BYTES`, or whose JSON has too many parts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] in UPLOADS:
            await self._app(scope, receive, send)
            return
        announced = _announced(scope)
        if announced is not None and announced > MAX_BYTES:
            await _refusal(f"The body has {announced:,} bytes; at most {MAX_BYTES:,} are allowed")(scope, receive, send)
            return
        if announced is not None and announced <= MAX_STRUCTURE:
            await self._app(scope, receive, send)
            return
        body = bytearray()
        more = announced is not None or _is_chunked(scope)
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MAX_BYTES:
                await _refusal(f"The body has more than {MAX_BYTES:,} bytes")(scope, receive, send)
                return
        if len(body) > MAX_STRUCTURE and _has_many_parts(body):
            told = f"The body has more than {MAX_STRUCTURE:,} bytes outside of texts"
            await _refusal(told)(scope, receive, send)
            return
        await self._app(scope, _replay(bytes(body), receive), send)


def _has_many_parts(body: bytes | bytearray) -> bool:
    """Whether more than `MAX_STRUCTURE` bytes are outside of JSON strings, their quotes included."""
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = bare.count(b'"')
    return quotes > MAX_STRUCTURE or quotes + sum(map(len, bare.split(b'"')[::2])) > MAX_STRUCTURE


def _replay(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _announced(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None


def _is_chunked(scope: Scope) -> bool:
    return any(name == b"transfer-encoding" for name, _ in scope["headers"])


def _refusal(message: str) -> Json:
    told = {"code": "INVALID_ARGUMENT", "message": message, "details": {"limit": MAX_BYTES}}
    # What is left of the body is not read.
    return Json({"status": "error", "error": told}, status_code=413, headers={"Connection": "close"})
