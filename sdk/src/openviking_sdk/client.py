"""The two clients and their session objects, in one place."""

from __future__ import annotations

from openviking_sdk.async_client import AsyncHTTPClient
from openviking_sdk.async_methods.session import AsyncSession
from openviking_sdk.observer import Observer
from openviking_sdk.sync_client import SyncHTTPClient
from openviking_sdk.sync_methods.session import Session

__all__ = ["AsyncHTTPClient", "AsyncSession", "Observer", "Session", "SyncHTTPClient"]
