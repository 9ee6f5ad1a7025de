"""The tools list_watches and cancel_watch: sources that are looked at again and again."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from openviking.errors import NotFoundError
from openviking.mcp.arguments import Arguments, Cursor
from openviking.mcp.desk import Desk
from openviking.mcp.paging import paged, start_of
from openviking.mcp.tool import Tool


class ListWatches(Arguments):
    """Nothing but where to go on."""

    cursor: Cursor


class CancelWatch(Arguments):
    """A watch by what it fills."""

    to_uri: str = Field(description="As list_watches shows it.")


def _list_watches(desk: Desk, given: ListWatches) -> str:
    found = desk.services.watches.find(desk.caller)["tasks"]
    if not found:
        return "No watch tasks."
    first = start_of(given.cursor)
    lines = [_line(one) for one in found[first:]]
    if not lines:
        return f"No more watches; there were {len(found):,}."
    return paged(f"{len(found):,} watch(es):", lines, "Watches", first, len(found))


def _line(one: dict[str, Any]) -> str:
    state = "active" if one.get("is_active", True) else "paused"
    due = one.get("next_execution_time") or "n/a"
    return f"- {one['to_uri']}  interval={one['watch_interval']:g}m  {state}  next={due}"


def _cancel_watch(desk: Desk, given: CancelWatch) -> str:
    try:
        done = desk.services.watches.delete(desk.caller, None, given.to_uri)
    except NotFoundError as error:
        raise _none(given.to_uri) from error
    return f"Watch cancelled: {done['to_uri']}; what it filled stays."


def _none(uri: str) -> NotFoundError:
    error = NotFoundError(uri, "watch")
    error.message = f"No watch task found for {uri}: list_watches shows those that there are"
    return error


LIST_WATCHES: Final = Tool(
    "list_watches", "List watches",
    "List the sources that are fetched again at intervals: what each fills, how often, and when next.",
    ListWatches, _list_watches,
)  # fmt: skip

CANCEL_WATCH: Final = Tool(
    "cancel_watch", "Stop a watch",
    "Stop fetching a source again. What was fetched stays.",
    CancelWatch, _cancel_watch, changes=True,
)  # fmt: skip
