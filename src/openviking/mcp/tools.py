"""All tools, and what a model is told of them together."""

from __future__ import annotations

from typing import Any, Final

from openviking.mcp.adding import ADD_RESOURCE, ADD_SKILL
from openviking.mcp.finding import FIND, SEARCH
from openviking.mcp.listing import LIST, TREE
from openviking.mcp.matching import GLOB, GREP
from openviking.mcp.reading import DOWNLOAD, READ
from openviking.mcp.remembering import HEALTH, LIST_USERS, REMEMBER
from openviking.mcp.tool import Tool
from openviking.mcp.watching import CANCEL_WATCH, LIST_WATCHES
from openviking.mcp.writing import EDIT, FORGET, WRITE

TOOLS: Final[tuple[Tool[Any], ...]] = (
    FIND, READ, GREP, GLOB, LIST, TREE, SEARCH, WRITE, EDIT, FORGET, REMEMBER, ADD_RESOURCE, ADD_SKILL, DOWNLOAD,
    LIST_WATCHES, CANCEL_WATCH, LIST_USERS, HEALTH,
)  # fmt: skip
"""In the order in which they are listed: what is needed most comes first."""

INSTRUCTIONS: Final = (
    "OpenViking keeps documents, code, memories and skills under viking:// addresses. To answer a question: find it, read"
    " the lines that the best hits name (viking://…#L12-L30, as they stand), and cite them. That costs a few hundred tokens"
    " where whole files cost thousands. If find does not help, ask in other words, grep an exact name, or look around with"
    " tree. viking://~ is the caller's own place. What is worth knowing later: remember it or write it below"
    " viking://~/memories. A long answer ends with a cursor that gives the rest."
)


def offered(*, remote: bool) -> tuple[Tool[Any], ...]:
    """The tools that work from afar, or on one's own machine."""
    return tuple(tool for tool in TOOLS if remote or not tool.remote)
