"""Searching over HTTP (contract/retrieval.md §3, §6)."""

from __future__ import annotations

from typing import Any, Final, Literal

from fastapi import APIRouter
from pydantic import Field

from openviking.errors import InvalidArgumentError, UnimplementedError
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
    limit: int = Field(default=10, ge=1)
    node_limit: int | None = Field(default=None, ge=1)
    score_threshold: float | None = None
    filter: dict[str, Any] | None = None
    include_provenance: bool = False
    tags: list[str] | None = None
    since: str | None = None
    until: str | None = None
    time_field: Literal["updated_at", "created_at"] | None = None
    level: int | str | list[int] | None = None
    read_content: bool = False
    explain: bool = False
    telemetry: Telemetry = False
    events_time_decay_protection: str | None = None


class Search(Find):
    """A question that may belong to a session; what follows ``search_type`` belongs to ``mode`` context alone."""

    session_id: str | None = None
    mode: Literal["list", "context"] = "list"
    search_type: Literal["semantic", "keywords"] = "semantic"
    query_expansion: Literal["off", "auto"] | None = None
    max_tokens: int | None = None
    quotas: dict[str, int] | None = None
    purpose: Literal["chat", "coding"] | None = None
    detail: str | dict[str, str] | None = None
    dedup_turns: int | None = None
    exclude_uris: list[str] | None = None
    peer_scope: Literal["actor", "all"] | None = None
    other_peer_penalty: float | dict[str, float] | None = None
    rewrite: bool | Literal["auto"] | None = None
    rewrite_max_bullets: int | None = None


_CONTEXT_ONLY: Final = (
    "query_expansion", "max_tokens", "quotas", "purpose", "detail", "dedup_turns", "exclude_uris", "peer_scope",
    "other_peer_penalty", "rewrite", "rewrite_max_bullets",
)  # fmt: skip


@router.post("/find")
async def find(edge: Caller, body: Find) -> Json:
    """The best records for a question; ``filter`` and images are not part of this version."""
    return await edge.answer(lambda: _found(edge, body), lean=True, operation="search.find", telemetry=body.telemetry)


@router.post("/search")
async def search(edge: Caller, body: Search) -> Json:
    """As find; ``mode`` context comes with a later version."""

    def call() -> dict[str, Any]:
        _check_mode(body)
        return _found(edge, body)

    return await edge.answer(call, lean=True, operation="search.search", telemetry=body.telemetry)


def _check_mode(body: Search) -> None:
    """Raises `InvalidArgumentError` for what belongs to the other mode, `UnimplementedError` for what is to come."""
    if body.mode == "list":
        given = [name for name in _CONTEXT_ONLY if getattr(body, name) is not None]
        if given:
            raise InvalidArgumentError(f"{given[0]} requires mode='context'", field=given[0])
        if body.search_type == "keywords" and (body.image_url is not None or not body.query.strip()):
            raise InvalidArgumentError("search_type keywords needs a query, and no image", field="search_type")
        return
    for name in ("target_uri", "read_content"):
        if getattr(body, name):
            raise InvalidArgumentError(f"{name} requires mode='list'", field=name)
    if not body.query.strip():
        raise InvalidArgumentError("query must not be empty in mode='context'", field="query")
    raise UnimplementedError("mode context is not part of this version", field="mode")


def _found(edge: Caller, body: Find) -> dict[str, Any]:
    if body.image_url is not None:
        raise InvalidArgumentError(
            "The embedding model embeds texts, no images: leave out image_url", field="image_url"
        )
    for name in ("filter", "events_time_decay_protection"):
        if getattr(body, name) is not None:
            raise UnimplementedError(f"{name} is not part of this version", field=name)
    found = edge.services.search.find(
        edge.caller, body.query, body.target_uri, limit=body.limit, node_limit=body.node_limit,
        score_threshold=body.score_threshold, context_type=body.context_type, level=body.level,
        read_content=body.read_content, tags=body.tags, since=body.since, until=body.until,
        time_field=body.time_field, explain=body.explain,
        search_type=body.search_type if isinstance(body, Search) else "semantic",
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
