"""Which pages of a browser may call a server that asks nobody for a key.

Whatever page a user of this machine opens runs in a browser that reaches the loopback address. It names itself in
``Origin``, and the address that it believes to talk to in ``Host``: a name of its own that was made to mean this
machine (DNS rebinding) stands there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from openviking.errors import PermissionDeniedError
from openviking.server.envelope import failure
from openviking.service.authentication import Rules, is_loopback
from openviking.text import quoted

ANY: Final = "*"


class OwnPages:
    """ASGI middleware that answers 403 to pages of elsewhere where nothing else tells friend from foe.

    That is on a loopback socket without keys. ``Host`` must be a name of this machine, ``Origin`` absent or a page of
    this machine; ``origins`` name others, ``*`` none. With keys, pages of elsewhere have none, and CORS decides.
    """

    def __init__(self, app: ASGIApp, rules: Rules, origins: Sequence[str]) -> None:
        self._app = app
        self._open = rules.mode == "dev" or rules.root_key is None
        self._origins = frozenset(one.lower() for one in origins if one != ANY)
        self._hosts = frozenset(_host_of(one) for one in self._origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        error = self._refusal(scope) if self._open and scope["type"] == "http" else None
        if error is None:
            await self._app(scope, receive, send)
        else:
            await failure(error)(scope, receive, send)

    def _refusal(self, scope: Scope) -> PermissionDeniedError | None:
        server = scope.get("server")
        if not server or not is_loopback(server[0]):
            return None
        for host in _headers(scope, b"host"):
            name = _host_of(f"//{host}")
            if not _is_this_machine(name) and name not in self._hosts:
                return PermissionDeniedError(
                    f"A server without keys answers to the names of this machine, not to the host {quoted(host)}: set"
                    " server.root_api_key, or name its origin in server.cors_origins",
                    field="Host",
                )
        for origin in _headers(scope, b"origin"):
            if origin.lower() not in self._origins and not _is_this_machine(_host_of(origin)):
                return PermissionDeniedError(
                    f"Pages of {quoted(origin)} may not call a server without keys: name the origin in"
                    " server.cors_origins, or set server.root_api_key",
                    field="Origin",
                )
        return None


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _host_of(url: str) -> str:
    """The host in ``scheme://host:port`` or ``//host:port``, "" if there is none."""
    try:
        parts = urlsplit(url)
        return "" if "@" in parts.netloc else (parts.hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _is_this_machine(host: str) -> bool:
    # Browsers take every name below localhost for this machine, without asking.
    return is_loopback(host) or host.endswith(".localhost")
