"""A call as the HTTP client takes it."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import httpx2

from openviking_sdk.actor_peer import actor_peer
from openviking_sdk.call import Call
from openviking_sdk.errors import InvalidArgumentError
from openviking_sdk.settings import Settings
from openviking_sdk.version import VERSION

UPLOAD_S_PER_MIB: Final = 10.0
_KEEP_IDLE_S: Final = 4.0
_LOOPBACK: Final = frozenset(("127.0.0.1", "localhost", "::1", "[::1]"))


def client_arguments(settings: Settings) -> dict[str, Any]:
    """What an HTTP client is opened with.

    Idle connections are dropped before the server drops them (after 5 s), so that a write hardly ever meets a closed one.
    Loopback is reached directly, whatever proxy the environment names. Without TLS no certificates are read, which takes
    tens of milliseconds; such a context trusts nobody.
    """
    arguments: dict[str, Any] = {
        "follow_redirects": False,
        "limits": httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=_KEEP_IDLE_S),
    }
    url = httpx2.URL(settings.url)
    if url.scheme == "http":
        arguments["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if url.host in _LOOPBACK:
        host = f"[{url.host}]" if ":" in url.host else url.host
        arguments["mounts"] = {f"all://{host}": None}
    return arguments


def request_arguments(call: Call[Any], settings: Settings) -> dict[str, Any]:
    """The request of a call as the HTTP client takes it; the peer of a `use_actor_peer` block goes with it."""
    arguments: dict[str, Any] = {
        "method": call.method,
        "url": _url(call, settings),
        "headers": _headers(call, settings),
        "timeout": httpx2.Timeout(settings.timeout, read=seconds_for_answer(call, settings)),
    }
    if call.upload is not None:
        arguments["files"] = {"file": (call.upload.name, call.upload.file)}
        arguments["data"] = dict(call.upload.fields)
    elif call.body is not None:
        arguments["content"] = _json(call.body)
        arguments["headers"]["Content-Type"] = "application/json"
    return arguments


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"The values can't be written as JSON: {error}") from error


def _url(call: Call[Any], settings: Settings) -> httpx2.URL:
    try:
        return httpx2.URL(f"{settings.url}{call.path}{_query(call, settings)}")
    except httpx2.InvalidURL as error:
        raise InvalidArgumentError(f"{call.method} {call.path}: the values make no address: {error}") from error


def _query(call: Call[Any], settings: Settings) -> str:
    pairs = [
        (name, str(one).lower() if isinstance(one, bool) else str(one))
        for name, value in call.query.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    if settings.profile and call.form == "envelope":
        pairs.append(("profile", "1"))
    try:
        return f"?{urlencode(pairs)}" if pairs else ""
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"A value can't be written as UTF-8: {error}") from error


def _headers(call: Call[Any], settings: Settings) -> httpx2.Headers:
    own = {
        "User-Agent": f"openviking-py-sdk/{VERSION}",
        "Accept": "application/json",
        "X-API-Key": settings.api_key,
        "X-OpenViking-Account": settings.account,
        "X-OpenViking-User": settings.user,
        "X-OpenViking-Actor-Peer": actor_peer(settings.actor_peer_id),
    }
    headers = httpx2.Headers(dict(settings.extra_headers))
    headers.update({name: value for name, value in own.items() if value is not None})
    headers.update(dict(call.headers))
    return headers


def seconds_for_answer(call: Call[Any], settings: Settings) -> float:
    """How long the answer may take: the client's timeout, what the server may need for its work, and 10 s for each MiB."""
    size = 0 if call.upload is None else call.upload.size
    return settings.timeout + call.seconds + size / 2**20 * UPLOAD_S_PER_MIB
