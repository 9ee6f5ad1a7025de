"""The Python SDK of OpenViking: a context database for AI agents, over HTTP.

import openviking_sdk as ov

with ov.SyncHTTPClient(url="http://localhost:1933", api_key="your-key") as client:
    for hit in client.find("how to authenticate users")["resources"]:
        print(hit["uri"], hit["score"])
"""

from __future__ import annotations

from openviking_sdk import errors
from openviking_sdk.actor_peer import use_actor_peer
from openviking_sdk.client import AsyncHTTPClient, AsyncSession, Session, SyncHTTPClient
from openviking_sdk.errors import OpenVikingError
from openviking_sdk.parts import ContextPart, ImagePart, Part, TextPart, ToolPart
from openviking_sdk.version import VERSION

__version__ = VERSION

__all__ = [
    "AsyncHTTPClient",
    "AsyncSession",
    "ContextPart",
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
