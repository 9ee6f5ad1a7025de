"""The life of a client: opening, closing, threads, loops, and doing several things at once."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import openviking_sdk as ov
from openviking_sdk import errors

if TYPE_CHECKING:
    from tests.sdk.conftest import ScriptedServer


def test_making_and_initializing_asks_nothing(client: Any, server: ScriptedServer) -> None:
    client.initialize()
    client.session("s")
    assert client.observer is not None
    assert server.take() == []


def test_a_closed_client_says_so_until_it_is_opened_again(client: Any, server: ScriptedServer) -> None:
    client.stat("resources")
    client.close()
    client.close()
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        client.stat("resources")
    client.initialize()
    client.stat("resources")
    assert len(server.take()) == 2


def test_a_forgotten_client_leaves_no_connection_open(server: ScriptedServer) -> None:
    """What stays open would be a ResourceWarning, which fails the test."""
    client = ov.SyncHTTPClient(url=server.url)
    client.stat("resources")
    del client
    gc.collect()


def test_a_context_manager_closes(server: ScriptedServer) -> None:
    with ov.SyncHTTPClient(url=server.url) as client:
        client.stat("resources")
    with pytest.raises(errors.FailedPreconditionError):
        client.stat("resources")


async def test_an_asynchronous_context_manager_closes(server: ScriptedServer) -> None:
    async with ov.AsyncHTTPClient(url=server.url) as client:
        await client.stat("resources")
        assert client.is_healthy() is False
    with pytest.raises(errors.FailedPreconditionError):
        await client.stat("resources")


def test_connections_are_kept(client: Any, server: ScriptedServer) -> None:
    for _ in range(5):
        client.stat("resources")
    for _ in range(5):
        server.refuses(404, "NOT_FOUND")
        assert client.get_task("x") is None
    assert server.connections == 1


def test_threads_share_a_client(server: ScriptedServer) -> None:
    with ov.SyncHTTPClient(url=server.url) as client, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda number: client.find(str(number)), range(40))) == [{}] * 40
    assert sorted(int(asked.json["query"]) for asked in server.take()) == list(range(40))


async def test_calls_run_side_by_side(server: ScriptedServer) -> None:
    held = threading.Event()
    server.sends(b'{"status": "ok", "result": {"slow": true}}', after=held)
    async with ov.AsyncHTTPClient(url=server.url) as client:
        slow = asyncio.create_task(client.stat("resources"))
        while not server.asked:
            await asyncio.wait({slow}, timeout=0.01)
        assert await asyncio.gather(*(client.find(str(number)) for number in range(10))) == [{}] * 10
        assert not slow.done()
        held.set()
        assert await slow == {"slow": True}


async def test_a_cancelled_call_leaves_the_client_usable(server: ScriptedServer) -> None:
    held = threading.Event()
    server.sends(b"{}", after=held)
    async with ov.AsyncHTTPClient(url=server.url) as client:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.stat("resources"), 0.05)
        held.set()
        assert await client.stat("resources") == {}


def test_a_client_belongs_to_its_loop(server: ScriptedServer) -> None:
    client = ov.AsyncHTTPClient(url=server.url)
    with asyncio.Runner() as first, asyncio.Runner() as second:
        first.run(client.stat("resources"))
        with pytest.raises(errors.FailedPreconditionError, match="another event loop"):
            second.run(client.stat("resources"))
        first.run(client.close())
        second.run(client.initialize())
        assert second.run(client.stat("resources")) == {}
        second.run(client.close())


def test_routes_without_a_method_can_be_called(client: Any, server: ScriptedServer) -> None:
    from openviking_sdk.call import Call, an_object

    call = Call(method="GET", path="/api/v1/stats/memories", query={"category": "events"}, read=an_object)
    assert client.send(call) == {}
    assert server.take()[0].query == [("category", "events")]
