"""The Python SDK of OpenViking: a context database for AI agents, over HTTP.

import openviking_sdk as ov

with ov.SyncHTTPClient(url="http://localhost:1933", api_key="your-key") as client:
    for hit in client.find("how to authenticate users")["resources"]:
        print(hit["uri"], hit["score"])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from openviking_sdk.version import VERSION

if TYPE_CHECKING:
    from openviking_sdk import errors as errors
    from openviking_sdk.actor_peer import use_actor_peer as use_actor_peer
    from openviking_sdk.async_client import AsyncHTTPClient as AsyncHTTPClient
    from openviking_sdk.async_methods.session import AsyncSession as AsyncSession
    from openviking_sdk.context import ContextEntry as ContextEntry
    from openviking_sdk.context import ContextResult as ContextResult
    from openviking_sdk.context import ContextStats as ContextStats
    from openviking_sdk.errors import OpenVikingError as OpenVikingError
    from openviking_sdk.parts import ContextPart as ContextPart
    from openviking_sdk.parts import ImagePart as ImagePart
    from openviking_sdk.parts import Part as Part
    from openviking_sdk.parts import TextPart as TextPart
    from openviking_sdk.parts import ToolPart as ToolPart
    from openviking_sdk.sync_client import SyncHTTPClient as SyncHTTPClient
    from openviking_sdk.sync_methods.session import Session as Session

__version__ = VERSION

_PLACES = {
    "AsyncHTTPClient": "async_client",
    "AsyncSession": "async_methods.session",
    "ContextEntry": "context",
    "ContextPart": "parts",
    "ContextResult": "context",
    "ContextStats": "context",
    "ImagePart": "parts",
    "OpenVikingError": "errors",
    "Part": "parts",
    "Session": "sync_methods.session",
    "SyncHTTPClient": "sync_client",
    "TextPart": "parts",
    "ToolPart": "parts",
    "use_actor_peer": "actor_peer",
}

__all__ = [
    "AsyncHTTPClient",
    "AsyncSession",
    "ContextEntry",
    "ContextPart",
    "ContextResult",
    "ContextStats",
    "ImagePart",
    "OpenVikingError",
    "Part",
    "Session",
    "SyncHTTPClient",
    "TextPart",
    "ToolPart",
    "__version__",
    "errors",
    "use_actor_peer",
]


def __getattr__(name: str) -> Any:
    # Reading the settings alone stays cheap: the HTTP client comes with the first use.
    if name == "errors":
        return importlib.import_module("openviking_sdk.errors")
    if name in _PLACES:
        return getattr(importlib.import_module(f"openviking_sdk.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
