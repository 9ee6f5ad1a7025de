"""The tools over standard input and output, on a data directory of this machine; importing this loads the protocol."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from mcp.server.stdio import stdio_server

from openviking.config.settings import Settings
from openviking.mcp.desk import Desk
from openviking.mcp.protocol import server_of
from openviking.model.identity import Identity
from openviking.service.authentication import Rules
from openviking.service.services import Services

THREADS: Final = 8

T = TypeVar("T")


def serve(settings: Settings, caller: Identity) -> None:
    """Answer until standard input ends; nothing queued is lost."""
    services = Services(settings, Rules.of("dev", None, "127.0.0.1"))
    services.start()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(services, caller))
    finally:
        services.begin_to_stop()
        services.close()


async def _serve(services: Services, caller: Identity) -> None:
    with ThreadPoolExecutor(THREADS, thread_name_prefix="openviking-mcp") as pool:

        async def hop(call: Callable[[], T], *, wait: bool = False, asks: bool = False) -> T:
            del wait, asks
            return await asyncio.get_running_loop().run_in_executor(pool, call)

        server = server_of(Desk(services, caller), hop)
        try:
            async with stdio_server() as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
        finally:
            services.begin_to_stop()
