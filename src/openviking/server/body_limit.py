"""Bodies that are too large or too bushy to be read on the loop that serves everybody."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openviking.server.envelope import Json, failure
from openviking.server.lanes import overloaded
from openviking.text import quoted

MAX_BYTES: Final = 24 * 1024 * 1024
"""Of any body but an upload: the largest batch of writes (16 MiB) in base64, and room."""

MAX_STRUCTURE: Final = 1024 * 1024
"""Of that, bytes outside of strings: each may become an object."""

MAX_HELD: Final = 128 * 1024 * 1024
"""Of all bodies together that are too large to go straight on."""

READ_ON_BYTES: Final = 64 * 1024 * 1024
"""So much of a refused body is still read, so that a client that only sends first sees the answer."""

CLOSE: Final = {"Connection": "close"}
"""With an answer after which the rest of the body is not read."""

UPLOADS: Final = frozenset({"/api/v1/resources/temp_upload"})
"""Paths that take files of any size and bound them themselves."""


class BodyLimit:
    """ASGI middleware that answers 413 for a body of more than `MAX_BYTES`, or whose JSON has too many parts.

    A compressed body is answered with 415: what it unpacks to is not known before.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and (encoding := _header(scope, b"content-encoding")) not in {"", "identity"}:
            told = f"Content-Encoding {quoted(encoding)} is not taken: send the body as it is"
            await _refusal(told, status=415)(scope, receive, send)
            return
        if scope["type"] != "http" or scope["path"] in UPLOADS:
            await self._app(scope, receive, send)
            return
        announced = _announced(scope)
        if announced is not None and announced > MAX_BYTES:
            if announced <= READ_ON_BYTES and not _is_asked_first(scope):
                await _read_on(receive)
            await _refusal(f"The body has {announced:,} bytes; at most {MAX_BYTES:,} are allowed")(scope, receive, send)
            return
        if announced is not None and announced <= MAX_STRUCTURE:
            await self._app(scope, receive, send)
            return
        body = bytearray()
        try:
            await self._gathered(body, announced is not None or _is_chunked(scope), scope, receive, send)
        finally:
            self._held -= len(body)

    async def _gathered(self, body: bytearray, more: bool, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request once its body is there, in ``body``, whose bytes count as held."""
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            piece = message.get("body", b"")
            body += piece
            self._held += len(piece)
            more = message.get("more_body", False)
            if len(body) > MAX_BYTES:
                await _read_on(receive, more=more)
                await _refusal(f"The body has more than {MAX_BYTES:,} bytes")(scope, receive, send)
                return
            if self._held > MAX_HELD:
                self._held -= len(body)
                body.clear()
                await _read_on(receive, more=more)
                await failure(overloaded("many large bodies are under way"), CLOSE)(scope, receive, send)
                return
        if len(body) > MAX_STRUCTURE and _has_many_parts(body):
            told = f"The body has more than {MAX_STRUCTURE:,} bytes outside of texts"
            await _refusal(told)(scope, receive, send)
            return
        await self._app(scope, _replay(bytes(body), receive), send)


async def _read_on(receive: Receive, *, more: bool = True) -> None:
    """Throw away what is left of a body, if there is ``more`` of it."""
    read = 0
    while more and read < READ_ON_BYTES:
        message = await receive()
        more = message["type"] == "http.request" and message.get("more_body", False)
        read += len(message.get("body", b""))


def _is_asked_first(scope: Scope) -> bool:
    """Whether the client waits for leave to send its body."""
    return any(name == b"expect" for name, _ in scope["headers"])


def _has_many_parts(body: bytes | bytearray) -> bool:
    """Whether more than `MAX_STRUCTURE` bytes are outside of JSON strings, their quotes included."""
    if b"\0" in body:
        # That is no UTF-8, and in UTF-16 quotes can't be counted as bytes.
        return True
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


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1").strip().lower() for key, value in scope["headers"] if key == name), "")


def _is_chunked(scope: Scope) -> bool:
    return any(name == b"transfer-encoding" for name, _ in scope["headers"])


def _refusal(message: str, *, status: int = 413) -> Json:
    told = {"code": "INVALID_ARGUMENT", "message": message, "details": {"limit": MAX_BYTES} if status == 413 else {}}
    return Json({"status": "error", "error": told}, status_code=status, headers=CLOSE)
