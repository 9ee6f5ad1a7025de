"""The tools find and search: passages that answer a question, each with the lines where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema

from openviking.errors import InvalidArgumentError
from openviking.mcp.arguments import Arguments, Cursor, Levels, Texts
from openviking.mcp.context import NOTHING, ContextArguments, context_block, refuse_context
from openviking.mcp.desk import Desk
from openviking.mcp.paging import Room, more, start_of
from openviking.mcp.tool import Tool
from openviking.model.hit import FindResult, Hit
from openviking.text import estimate_tokens, split_lines

MIN_SCORE: Final = 0.35
CONTENT_TOKENS: Final = 1_500
"""So much of one file an answer shows with read_content."""

WEAKER: Final = 3
"""Hits below the limit that are shown where none is above it."""

Query = Annotated[str, Field(description="What you want to know, as a full question or the words it would use.")]
Target = Annotated[
    Texts,
    WithJsonSchema({"type": "string"}),
    Field(default="", description="Only at and below this viking:// URI; empty: everywhere."),
]
Limit = Annotated[int, Field(default=10, ge=1, le=1_000, description="How many hits.")]
Level = Annotated[
    Levels | None,
    Field(default=None, description="0 and 1: summaries of directories, 2: files. Default: all."),
]
Kinds = Annotated[Texts | None, Field(default=None, description="Of memory, resource, skill. Default: all.")]
Whole = Annotated[
    bool, Field(default=False, description="Show the files too; costs many tokens, rather read the lines.")
]
Fading = Annotated[
    str | None, Field(default=None, description="Events younger than this keep their score, such as 7d.")
]


class Find(Arguments):
    """A question, and what narrows it."""

    query: Query
    target_uri: Target
    limit: Limit
    min_score: float = Field(default=MIN_SCORE, description="Leave out weaker hits (0–1); 0 shows all.")
    level: Level
    context_type: Kinds
    read_content: Whole
    events_time_decay_protection: Fading
    cursor: Cursor


class Question(Arguments):
    """A question that may belong to a session; its fields come before those of mode context."""

    query: Query
    search_type: Literal["semantic", "keywords"] = Field(
        default="semantic", description="keywords: exact words, names, error messages."
    )
    target_uri: Target
    session_id: str | None = Field(default=None, description="The session that the question belongs to.")
    limit: Limit
    min_score: float | None = Field(default=None, description="Leave out weaker hits; default 0.35, in context 0.")
    level: Level
    context_type: Kinds
    mode: Literal["list", "context"] = Field(
        default="list", description="context: one block of text instead of hits, by the arguments that follow."
    )


class Search(ContextArguments, Question):
    """A question that may belong to a session."""

    read_content: Whole
    events_time_decay_protection: Fading
    cursor: Cursor


def _find(desk: Desk, given: Find) -> str:
    def ask(limit: int) -> FindResult:
        return desk.services.search.find(desk.caller, given.query, given.target_uri, **_options(given, limit))

    return _answered(ask, given, given.min_score)


def _search(desk: Desk, given: Search) -> str:
    if given.mode == "context":
        if given.cursor:
            raise InvalidArgumentError(
                "cursor requires mode='list'; exclude_uris leaves out what you have", field="cursor"
            )
        return context_block(desk, given, _narrowed(given))
    refuse_context(given)

    def ask(limit: int) -> FindResult:
        return desk.services.search.search(
            desk.caller, given.query, given.target_uri, session_id=given.session_id, search_type=given.search_type,
            **_options(given, limit),
        )  # fmt: skip

    return _answered(ask, given, MIN_SCORE if given.min_score is None else given.min_score)


def _narrowed(given: Search) -> dict[str, Any]:
    """The options that mode context shares with a find; of ``target_uri`` and ``read_content`` it says that it has none."""
    told = {
        "query": given.query, "search_type": given.search_type, "session_id": given.session_id,
        "target_uri": given.target_uri or None, "score_threshold": given.min_score, "context_type": given.context_type,
        "read_content": given.read_content, "events_time_decay_protection": given.events_time_decay_protection,
    }  # fmt: skip
    # A number that nobody asked for is none of a block that goes by quotas.
    return told | {name: getattr(given, name) for name in ("limit", "level") if name in given.model_fields_set}


def _options(given: Find | Search, limit: int) -> Any:
    return {
        "limit": limit,
        "level": given.level,
        "context_type": given.context_type,
        "read_content": given.read_content,
        "events_time_decay_protection": given.events_time_decay_protection,
    }


def _answered(ask: Callable[[int], FindResult], given: Find | Search, least: float) -> str:
    """The hits of one page; one more than wanted is asked for, which tells whether any follow."""
    first = start_of(given.cursor)
    found = ask(first + given.limit + 1)
    strong = [hit for hit in found.hits if hit.score > least]
    notes = [f"Note: {one.stage}: {one.reason}" for one in found.degraded]
    shown = strong[first : first + given.limit]
    if not shown:
        return "\n".join(
            [f"No more hits; there were {len(strong)}." if strong else _nothing(found.hits, least), *notes]
        )
    room, blocks = Room(), []
    for hit in shown:
        block = _block(hit)
        if not room.takes(block):
            break
        blocks.append(block)
    # Lines first: a file's text must not push the place of another answer out of sight.
    if given.read_content:
        blocks = [_with_content(block, hit, room) for block, hit in zip(blocks, shown, strict=False)]
    parts = [f"Found {len(blocks)} item(s):", "\n".join(blocks)]
    parts.append("\n".join([*notes, "To read a passage: read with its URI as it stands here, lines included."]))
    if first + len(blocks) < len(strong):
        parts.append(more("Hits", first, len(blocks), None))
    return "\n\n".join(parts)


def _nothing(hits: Sequence[Hit], least: float) -> str:
    """That nothing is good enough, and the best of what there is: a limit must not hide that there was something."""
    if not hits:
        return NOTHING
    weaker = "\n".join(_block(hit) for hit in hits[:WEAKER])
    return (
        f"{NOTHING} All there is is weaker than min_score {least:g}. The best of it; with a lower min_score you see more:\n\n"
        f"{weaker}"
    )


def _block(hit: Hit) -> str:
    text = " ".join((hit.snippet or hit.abstract).split())
    same = f" (the same bytes as {hit.duplicate_of})" if hit.duplicate_of else ""
    # An archived conversation is no document, though its file lies among a user's resources.
    kind = "event" if hit.category == "events" and hit.context_type == "resource" else hit.context_type
    return f"- [{kind} {hit.score:.0%}] {hit.citation}{same}" + (f"\n    {text}" if text else "")


def _with_content(block: str, hit: Hit, room: Room) -> str:
    if hit.content is None:
        return block
    kept, used = [], 0
    lines = split_lines(hit.content)
    for line in lines:
        used += estimate_tokens(line) + 1
        if used > min(CONTENT_TOKENS, room.left):
            break
        kept.append(f"    {line}")
    room.left -= used
    if len(kept) < len(lines):
        kept.append(f"    [lines 1–{len(kept)} of {len(lines):,}; for more, read {hit.uri}]")
    return "\n".join([block, "    ---", *kept])


FIND: Final = Tool(
    "find", "Find",
    "Find the passages that answer a question, by meaning and by words, in memories, documents, code and skills. The"
    " first thing to call when you need to know something. Each hit has a URI with line numbers (viking://…#L12-L30):"
    " give it to read as it is and you get just these lines, instead of a whole file. For every place where a word"
    " stands, use grep; for files by name, glob.",
    Find, _find, asks=True,
)  # fmt: skip

SEARCH: Final = Tool(
    "search", "Search in a session",
    "As find, for a question within a conversation: with session_id what was said there tells what is meant, so that"
    ' "and the other one?" can be answered. search_type keywords matches words alone. mode context gives one block of'
    " what is known about a question, within max_tokens: good at the start of a task, where single hits come later.",
    Search, _search, asks=True,
)  # fmt: skip
