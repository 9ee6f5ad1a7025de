"""Headers of every answer: the request's id and the time it took (contract/core.md §1.4)."""

from __future__ import annotations

import re
import time
import uuid
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openviking.errors import InvalidArgumentError
from openviking.server.envelope import failure

_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class RequestHeaders:
    """ASGI middleware that echoes or makes ``X-Request-ID`` and adds ``X-Process-Time`` (seconds)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        given = [value for name, value in scope["headers"] if name == b"x-request-id"]
        sound = len(given) == 1 and _REQUEST_ID.fullmatch(given[0]) is not None
        request_id = given[0].decode("ascii") if sound else str(uuid.uuid4())
        scope.setdefault("state", {})["request_id"] = request_id

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                taken = f"{time.perf_counter() - began:.6f}"
                own = [(b"x-request-id", request_id.encode()), (b"x-process-time", taken.encode())]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        if given and not sound:
            error = InvalidArgumentError(
                "X-Request-ID must be given once, with 1 to 128 of the characters A-Z a-z 0-9 . _ : -",
                field="X-Request-ID",
            )
            await failure(error)(scope, receive, answer)
            return
        await self._app(scope, receive, answer)
