"""The tools find and search: passages that answer a question, each with the lines where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema

from openviking.errors import InvalidArgumentError, UnimplementedError
from openviking.mcp.arguments import Arguments, Cursor, Levels, Texts
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

NOTHING: Final = "No matching context found."

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


class Search(Arguments):
    """A question that may belong to a session; what follows ``mode`` up to ``rewrite_max_bullets`` is of mode context."""

    query: Query
    search_type: Literal["semantic", "keywords"] = Field(
        default="semantic", description="keywords: exact words, names, error messages."
    )
    target_uri: Target
    session_id: str | None = Field(default=None, description="The session that the question belongs to.")
    limit: Limit
    min_score: float | None = Field(default=None, description="Leave out weaker hits; default 0.35.")
    level: Level
    context_type: Kinds
    mode: Literal["list", "context"] = Field(default="list", description="This version has list.")
    query_expansion: Literal["off", "auto"] = "auto"
    max_tokens: int = Field(default=1600, ge=64, le=32_000)
    quotas: dict[str, int] | None = None
    purpose: Literal["chat", "coding"] | None = None
    detail: Literal["auto", "abstract", "overview", "full"] = "auto"
    detail_by_category: dict[str, str] | None = None
    dedup_turns: int = Field(default=0, ge=0, le=100)
    exclude_uris: Texts | None = None
    peer_scope: Literal["actor", "all"] = "all"
    other_peer_penalty: float | None = None
    other_peer_penalties: dict[str, float] | None = None
    rewrite: Literal["off", "auto"] = "off"
    rewrite_max_bullets: int = Field(default=6, ge=1, le=20)
    read_content: Whole
    events_time_decay_protection: Fading
    cursor: Cursor


_CONTEXT_ONLY: Final = (
    "query_expansion", "max_tokens", "quotas", "purpose", "detail", "detail_by_category", "dedup_turns", "exclude_uris",
    "peer_scope", "other_peer_penalty", "other_peer_penalties", "rewrite", "rewrite_max_bullets",
)  # fmt: skip


def _find(desk: Desk, given: Find) -> str:
    def ask(limit: int) -> FindResult:
        return desk.services.search.find(desk.caller, given.query, given.target_uri, **_options(given, limit))

    return _answered(ask, given, given.min_score)


def _search(desk: Desk, given: Search) -> str:
    if given.mode == "context":
        raise UnimplementedError("mode context is not part of this version: use mode list, then read", field="mode")
    # Models like to send defaults along; those say nothing.
    odd = [name for name in _CONTEXT_ONLY if getattr(given, name) != Search.model_fields[name].default]
    if odd:
        raise InvalidArgumentError(f"{', '.join(odd)} requires mode='context'", field=odd[0])

    def ask(limit: int) -> FindResult:
        return desk.services.search.search(
            desk.caller, given.query, given.target_uri, session_id=given.session_id, search_type=given.search_type,
            **_options(given, limit),
        )  # fmt: skip

    return _answered(ask, given, MIN_SCORE if given.min_score is None else given.min_score)


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
    return f"- [{hit.context_type} {hit.score:.0%}] {hit.citation}{same}" + (f"\n    {text}" if text else "")


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
    ' "and the other one?" can be answered. search_type keywords matches words alone. Without a session, use find.',
    Search, _search, asks=True,
)  # fmt: skip
