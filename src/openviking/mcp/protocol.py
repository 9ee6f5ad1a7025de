"""The tools as the official package serves them; importing this loads it."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar

from mcp.server import Server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, ToolAnnotations
from mcp.types import Tool as Described

from openviking import __version__
from openviking.errors import InternalError, NotFoundError, OpenVikingError
from openviking.mcp.desk import Desk, told
from openviking.mcp.tool import Tool
from openviking.mcp.tools import INSTRUCTIONS, offered
from openviking.text import quoted

REPORT_S: Final = 0.2
"""Progress is told so often at most."""

LIFE_S: Final = 2.0
"""How often a client hears that a call that says nothing of itself goes on."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Hop(Protocol):
    """How a call gets into a thread; ``wait`` may wait for background work, ``asks`` may ask a model."""

    async def __call__(self, call: Callable[[], T], *, wait: bool = False, asks: bool = False) -> T:
        """What ``call`` gives."""
        ...


def server_of(desk: Desk, hop: Hop) -> Server[Any]:
    """A protocol server whose tools work for the caller at ``desk``, each call in a thread of ``hop``."""
    listed = _listed(remote=not desk.is_local)
    tools = {tool.name: tool for tool in offered(remote=not desk.is_local)}

    async def list_tools(_context: Any, _given: Any) -> ListToolsResult:
        return listed

    async def call_tool(context: Any, given: CallToolRequestParams) -> CallToolResult:
        reporting = Reporting(context)
        at = replace(desk, report=reporting)
        try:
            return _text(await _called(tools, given, at, hop, reporting))
        except OpenVikingError as error:
            return _text(told(error), failed=True)
        except Exception as error:  # noqa: BLE001 - the edge: its log has the trace, the caller a plain sentence
            _log.error("the tool %s failed", quoted(given.name), exc_info=error)
            return _text(told(InternalError("The server failed; its log says why")), failed=True)

    return Server(
        "openviking", version=__version__, title="OpenViking", instructions=INSTRUCTIONS, on_list_tools=list_tools,
        on_call_tool=call_tool,
    )  # fmt: skip


async def _called(
    tools: dict[str, Tool[Any]], given: CallToolRequestParams, desk: Desk, hop: Hop, reporting: Reporting
) -> str:
    tool = tools.get(given.name)
    if tool is None:
        error = NotFoundError(given.name, "tool")
        error.message = f"There is no tool {quoted(given.name)}: {', '.join(tools)}"
        raise error
    arguments = tool.arguments.of(tool.name, given.arguments)
    waits = tool.waits(arguments)
    life = asyncio.ensure_future(reporting.sign_of_life()) if waits else None
    try:
        return await hop(lambda: tool.answer(desk, arguments), wait=waits, asks=tool.asks)
    finally:
        if life is not None:
            life.cancel()


_LISTS: Final[dict[bool, ListToolsResult]] = {}


def _listed(*, remote: bool) -> ListToolsResult:
    """What clients are told of the tools; the same for everybody."""
    if remote not in _LISTS:
        _LISTS[remote] = ListToolsResult(tools=[_described(tool) for tool in offered(remote=remote)])
    return _LISTS[remote]


def _described(tool: Tool[Any]) -> Described:
    return Described(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema(),
        annotations=ToolAnnotations(
            read_only_hint=not tool.changes, destructive_hint=tool.destroys, open_world_hint=tool.reaches_out
        ),
    )


def _text(text: str, *, failed: bool = False) -> CallToolResult:
    # Half of a surrogate pair, which JSON can spell, has no bytes; a name of a file of this machine may bring one.
    sound = text.encode("utf-8", "replace").decode()
    return CallToolResult(content=[TextContent(type="text", text=sound)], is_error=failed)


class Reporting:
    """Tells a client how far its call is, if it asked; while the call itself says nothing, that it still goes on."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        self._last = -math.inf
        self._done = -1.0
        self._call_tells = False

    def __call__(self, done: float, total: float | None, what: str) -> None:
        """What the call says of itself, from its thread."""
        self._call_tells = True
        now = time.monotonic()
        # The protocol wants it to grow.
        if done > self._done and now - self._last >= REPORT_S:
            self._last, self._done = now, done
            asyncio.run_coroutine_threadsafe(self._send(done, total, what), self._loop)

    async def sign_of_life(self) -> None:
        """Never ends: clients give up on a call of which they hear nothing."""
        while True:
            await asyncio.sleep(LIFE_S)
            if not self._call_tells:
                waited = time.monotonic() - self._began
                await self._send(round(waited, 1), None, f"{waited:.0f} s, still waiting for background work")

    async def _send(self, done: float, total: float | None, what: str) -> None:
        try:
            await self._context.session.report_progress(done, total, what)
        except Exception as error:  # noqa: BLE001 - the client is gone, and its call goes on
            _log.debug("progress could not be told: %s", error)
