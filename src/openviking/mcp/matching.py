"""The tools grep and glob: every line that matches a pattern, every path that does."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from openviking.errors import InvalidArgumentError
from openviking.index.limits import MAX_LIMIT
from openviking.mcp.arguments import Arguments, Cursor, Texts
from openviking.mcp.desk import Desk
from openviking.mcp.paging import Room, cut_line, more, paged, start_of
from openviking.mcp.tool import Tool
from openviking.model.matches import GrepMatch
from openviking.text import quoted

MAX_PATTERNS: Final = 20

Patterns = Annotated[
    Texts, Field(description="A regular expression, or several; each is looked for on its own, line by line.")
]


class Grep(Arguments):
    """Patterns, and where to look."""

    uri: str = Field(description="A file, or a directory with all that is below.")
    pattern: Patterns
    case_insensitive: bool = False
    node_limit: int = Field(default=10, ge=1, description="How many lines at a time.")
    cursor: Cursor


class Glob(Arguments):
    """A pattern of paths."""

    pattern: str = Field(description="Such as **/*.py or guide/**/*.md, relative to uri; ** goes through directories.")
    uri: str = Field(default="viking://", description="The directory to look in.")
    node_limit: int = Field(default=100, ge=1, description="How many paths at a time.")
    cursor: Cursor


def _grep(desk: Desk, given: Grep) -> str:
    if not 1 <= len(given.pattern) <= MAX_PATTERNS:
        raise InvalidArgumentError(f"pattern must be 1 to {MAX_PATTERNS} patterns", field="pattern")
    first = start_of(given.cursor)
    last = first + given.node_limit
    before = total = 0
    wanted: list[tuple[str, GrepMatch]] = []
    for pattern in given.pattern:
        # At least one is asked for, since the count of all comes with it.
        found = desk.services.search.grep(
            desk.caller, given.uri, pattern, case_insensitive=given.case_insensitive,
            node_limit=_all_or(max(last - before, 1)),
        )  # fmt: skip
        wanted += [(pattern, one) for one in found.matches[max(first - before, 0) : max(last - before, 0)]]
        before += found.total
        total += found.total
    named = ", ".join(quoted(one, 60) for one in given.pattern)
    if not total:
        return f"No matches found for pattern(s): {named}"
    if not wanted:
        return f"No more matches; there were {total:,}."
    lines, taken, room, under = [], 0, Room(), ("", "")
    for pattern, one in wanted:
        label = f" [{pattern}]" if len(given.pattern) > 1 else ""
        block = [] if under == (pattern, one.uri) else [one.uri]
        block.append(f"  L{one.line}{label}: {cut_line(one.content)}")
        if not room.takes("\n".join(block)):
            break
        under, taken = (pattern, one.uri), taken + 1
        lines += block
    parts = [f"Found {total:,} match(es) across {len(given.pattern)} pattern(s):", "\n".join(lines)]
    if first + taken < total:
        parts.append(more("Matches", first, taken, total))
    return "\n\n".join(parts)


def _glob(desk: Desk, given: Glob) -> str:
    first = start_of(given.cursor)
    found = desk.services.search.glob(
        desk.caller, given.pattern, given.uri, node_limit=_all_or(first + given.node_limit)
    )
    if not found.total:
        return f"No files found matching: {quoted(given.pattern, 500)}"
    shown = [f"  {one}" for one in found.matches[first:]]
    if not shown:
        return f"No more files; there were {found.total:,}."
    return paged(f"Found {found.total:,} file(s):", shown, "Files", first, found.total)


def _all_or(limit: int) -> int | None:
    """A limit as the service takes it, which knows none beyond its greatest but "all"."""
    return limit if limit <= MAX_LIMIT else None


GREP: Final = Tool(
    "grep", "Search lines",
    "List every line that matches a regular expression, with its number, in one file or in all below a directory. For"
    " exact names, identifiers, error texts, and to count. Read around a match with read and URI#L10-L30. For a"
    " question in your own words, use find.",
    Grep, _grep,
)  # fmt: skip

GLOB: Final = Tool(
    "glob", "Find files by name",
    "List files and directories (these with a slash at the end) whose path matches a pattern.",
    Glob, _glob,
)  # fmt: skip
