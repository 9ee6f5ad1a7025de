"""The official client, at an application in this process, and what it is told."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from openviking.config.settings import EmbeddingSettings, ServerSettings, Settings
from openviking.model.identity import Identity
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

BASE = "http://127.0.0.1:1933"
ROOT_KEY = "root-key-of-the-tests"
ROOT = Identity(account="default", user="default", role="root")


class Agent:
    """A session of the official client."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def call(self, tool: str, **arguments: Any) -> str:
        """The text of a call that succeeds."""
        failed, text = await self.outcome(tool, arguments)
        assert not failed, text
        return text

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The text of a call that fails."""
        failed, text = await self.outcome(tool, arguments)
        assert failed, text
        return text

    async def outcome(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        result = await self.session.call_tool(tool, arguments)
        assert len(result.content) == 1
        assert result.content[0].type == "text"
        return bool(result.is_error), result.content[0].text


class Place:
    """An application in this process and the way to it."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.app = create_app(services)

    def client(self, headers: dict[str, str] | None = None) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url=BASE, headers=headers or {})

    @contextlib.asynccontextmanager
    async def agent(self, headers: dict[str, str] | None = None) -> AsyncIterator[Agent]:
        async with (
            self.client(headers) as http,
            streamable_http_client(f"{BASE}/mcp", http_client=http) as streams,
            ClientSession(*streams[:2]) as session,
        ):
            await session.initialize()
            yield Agent(session)


Opened = Callable[..., contextlib.AbstractAsyncContextManager[Place]]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """``opened(key=None, **server)``: an application on an empty directory, started and closed."""

    @contextlib.asynccontextmanager
    async def open_place(key: str | None = None, **server: Any) -> AsyncIterator[Place]:
        settings = Settings(
            path=tmp_path / "data", poll_interval=0.2, embedding=EmbeddingSettings(provider="none"),
            server=ServerSettings(root_api_key=key, **server),
        )  # fmt: skip
        place = Place(Services(settings, Rules.of(None, key, "127.0.0.1")))
        async with place.app.router.lifespan_context(place.app):
            yield place

    return open_place
