"""The client for asyncio: every call of the table, a pool of connections, and session objects."""

from __future__ import annotations

import functools
from types import TracebackType
from typing import Self

from openviking_sdk import async_methods as awaited
from openviking_sdk.async_methods.session import AsyncSession
from openviking_sdk.observer import Observer
from openviking_sdk.sync_sending import send_alone


class AsyncHTTPClient(
    awaited.SystemCalls,
    awaited.ObserverCalls,
    awaited.FsCalls,
    awaited.ContentCalls,
    awaited.ResourcesCalls,
    awaited.SearchCalls,
    awaited.ContextCalls,
    awaited.SessionsCalls,
    awaited.StatsCalls,
    awaited.SkillsCalls,
    awaited.TasksCalls,
    awaited.WatchesCalls,
    awaited.RelationsCalls,
    awaited.AdminCalls,
):
    """A client of an OpenViking server for asyncio: the methods of `SyncHTTPClient`, awaited.

    It belongs to the event loop of its first call. Use it as an asynchronous context manager, or await `close`.
    """

    async def __aenter__(self) -> Self:
        await self.initialize()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def initialize(self) -> None:
        """Make ready, also again after `close`. It asks nothing of the server, and the first call would do it too."""
        self._closed = False
        self._open()

    async def close(self) -> None:
        """Close the connections; more than once does no harm."""
        await self._close()

    def session(self, session_id: str) -> AsyncSession:
        """The session of that id as an object; asks nothing of the server."""
        return AsyncSession(self, session_id)

    @property
    def observer(self) -> Observer:
        """As `SyncHTTPClient.observer`: its attributes block the loop; ``await client.queue_status()`` does not."""
        return Observer(functools.partial(send_alone, settings=self._settings, retries=self._retries))

    def is_healthy(self) -> bool:
        """As `SyncHTTPClient.is_healthy`: it blocks the loop; ``await client.get_status()`` does not."""
        return self.observer.system.get("is_healthy") is True
