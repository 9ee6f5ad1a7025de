"""Searching over HTTP (contract/retrieval.md §3, §6)."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter

from openviking.errors import UnimplementedError
from openviking.server.bodies import Lenient, Strict, Telemetry
from openviking.server.edge import Caller
from openviking.server.envelope import Json

router = APIRouter(prefix="/api/v1/search", tags=["search"])


class Find(Strict):
    """A question with what narrows it."""

    query: str = ""
    image_url: str | list[str] | None = None
    target_uri: str | list[str] = ""
    context_type: str | list[str] | None = None
    limit: int = 10
    node_limit: int | None = None
    score_threshold: float | None = None
    filter: dict[str, Any] | None = None
    include_provenance: bool = False
    tags: list[str] | None = None
    since: str | None = None
    until: str | None = None
    time_field: str | None = None
    level: int | str | list[int] | None = None
    read_content: bool = False
    explain: bool = False
    telemetry: Telemetry = False
    events_time_decay_protection: str | None = None


class Search(Find):
    """A question that may belong to a session."""

    session_id: str | None = None
    mode: Literal["list", "context"] = "list"
    search_type: Literal["semantic", "keywords"] = "semantic"


@router.post("/find")
async def find(edge: Caller, body: Find) -> Json:
    """The best records for a question."""
    return await edge.answer(lambda: _found(edge, body), lean=True)


@router.post("/search")
async def search(edge: Caller, body: Search) -> Json:
    """As find; ``mode`` context comes with a later version."""
    return await edge.answer(lambda: _found(edge, body), lean=True)


def _found(edge: Caller, body: Find) -> dict[str, Any]:
    for name in ("image_url", "filter", "events_time_decay_protection"):
        if getattr(body, name) is not None:
            raise UnimplementedError(f"{name} is not part of this version", field=name)
    if isinstance(body, Search) and body.mode == "context":
        raise UnimplementedError("mode context is not part of this version", field="mode")
    found = edge.services.search.find(
        edge.caller, body.query, body.target_uri, limit=body.limit, node_limit=body.node_limit,
        score_threshold=body.score_threshold, context_type=body.context_type, level=body.level,
        read_content=body.read_content, tags=body.tags, since=body.since, until=body.until,
        time_field=body.time_field, explain=body.explain,
    )  # fmt: skip
    return found.to_dict()


class Grep(Lenient):
    """A pattern and where to look for it."""

    uri: str
    pattern: str
    exclude_uri: str | None = None
    case_insensitive: bool = False
    node_limit: int | None = 256
    level_limit: int = 10
    before_context: int = 0
    after_context: int = 0
    tags: list[str] | None = None
    include_tags: bool = False


@router.post("/grep")
async def grep(edge: Caller, body: Grep) -> Json:
    """Lines that match a regular expression in all files at and below a place."""
    return await edge.answer(
        lambda: edge.services.search.grep(
            edge.caller, body.uri, body.pattern, case_insensitive=body.case_insensitive, exclude_uri=body.exclude_uri,
            node_limit=body.node_limit, level_limit=body.level_limit, before_context=body.before_context,
            after_context=body.after_context, tags=body.tags, include_tags=body.include_tags,
        ).to_dict()
    )  # fmt: skip


class Glob(Lenient):
    """A pattern of paths."""

    pattern: str
    uri: str = "viking://"
    node_limit: int | None = 256
    extra_fields: list[str] | None = None
    tags: list[str] | None = None
    include_tags: bool = False


@router.post("/glob")
async def glob(edge: Caller, body: Glob) -> Json:
    """Files and directories whose path matches a pattern."""
    return await edge.answer(
        lambda: edge.services.search.glob(
            edge.caller, body.pattern, body.uri, node_limit=body.node_limit, extra_fields=body.extra_fields,
            tags=body.tags, include_tags=body.include_tags,
        ).to_dict()
    )  # fmt: skip
