"""Searching over HTTP (contract/retrieval.md §3, §6)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any, Final, Literal, cast

from fastapi import APIRouter
from pydantic import Field

from openviking.context.parameters import ContextOptions
from openviking.errors import InvalidArgumentError
from openviking.model.hit import FindResult
from openviking.server.bodies import Lenient, Strict, Telemetry
from openviking.server.context_answers import context_answer
from openviking.server.edge import Caller
from openviking.server.envelope import Json, success
from openviking.service.context_search import ContextAnswer
from openviking.service.search_request import Options

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
    strategy: str | dict[str, Any] | None = None
    explain_missing: str | list[str] | None = None
    telemetry: Telemetry = False
    events_time_decay_protection: str | None = None


class Search(Find):
    """A question that may belong to a session; what follows ``search_type`` belongs to ``mode`` context alone."""

    session_id: str | None = None
    mode: Literal["list", "context"] = "list"
    search_type: Literal["semantic", "keywords"] = "semantic"
    dedup: bool = False
    rerank: bool = True
    query_expansion: Literal["off", "auto"] | None = None
    max_tokens: int | None = None
    quotas: dict[str, int] | None = None
    purpose: Literal["chat", "coding"] | None = None
    detail: str | dict[str, str] | None = None
    dedup_turns: int | None = None
    exclude_uris: list[str] | None = None
    peer_scope: Literal["actor", "all"] | None = None
    other_peer_penalty: float | dict[str, Any] | None = None
    rewrite: bool | Literal["auto"] | None = None
    rewrite_max_bullets: int | None = None


CONTEXT_ONLY: Final = frozenset({
    "query_expansion", "max_tokens", "quotas", "purpose", "detail", "dedup_turns", "exclude_uris", "peer_scope",
    "other_peer_penalty", "rewrite", "rewrite_max_bullets",
})  # fmt: skip
"""Fields that say nothing in ``mode`` list, and are refused there even with their defaults."""

LIST_ONLY: Final = {"dedup": False, "rerank": True, "explain": False, "explain_missing": None, "include_provenance": False,
                    "strategy": None}  # fmt: skip
"""Fields that shape a list of hits, with their defaults; in ``mode`` context anything else is refused."""

MODEL_STAGES: Final = frozenset({"vectors", "rerank", "query_plan"})
"""Stages of an answer that a model has a part in."""


@router.post("/find")
async def find(edge: Caller, body: Find) -> Json:
    """The best records for a question, or the newest ones that a filter lets through."""
    return await _answer(
        edge, body, lambda: edge.services.search.find(edge.caller, body.query, body.target_uri, **_options(body))
    )


@router.post("/search")
async def search(edge: Caller, body: Search) -> Json:
    """As find, for a question that may belong to a session; with ``mode`` context one block of text for a prompt."""
    if body.mode == "context":
        return await _context(edge, body)

    def call() -> FindResult:
        given = sorted(body.model_fields_set & CONTEXT_ONLY)
        if given:
            raise InvalidArgumentError(f"{', '.join(given)} requires mode='context'", field=given[0])
        return edge.services.search.search(
            edge.caller, body.query, body.target_uri, session_id=body.session_id, search_type=body.search_type,
            dedup=body.dedup, rerank=body.rerank, **_options(body),
        )  # fmt: skip

    return await _answer(edge, body, call)


async def _context(edge: Caller, body: Search) -> Json:
    def call() -> ContextAnswer:
        for name, default in LIST_ONLY.items():
            if getattr(body, name) != default:
                raise InvalidArgumentError(f"{name} requires mode='list'", field=name)
        sent = {name: getattr(body, name) for name in body.model_fields_set if name in ContextOptions.__annotations__}
        return edge.services.context.context(edge.caller, **cast("ContextOptions", sent))

    return await context_answer(edge, call, body.telemetry, "search.context")


async def _answer(edge: Caller, body: Find, call: Callable[[], FindResult]) -> Json:
    """The envelope of what ``call`` finds, with what it took if that is asked for (contract/retrieval.md §3.14)."""

    def answered() -> Json:
        began = time.perf_counter()
        found = call()
        told: dict[str, Any] | None = None
        if body.telemetry is not False:
            told = {"id": f"tm_{uuid.uuid4().hex}"}
            if body.telemetry is True or body.telemetry.summary:
                told["summary"] = {
                    "operation": "search.search" if isinstance(body, Search) else "search.find",
                    "status": "ok",
                    "duration_ms": round((time.perf_counter() - began) * 1000, 3),
                    **found.work.to_dict(len(found)),
                    **_errors(found),
                }
        return success(found.to_dict(), lean=True, telemetry=told)

    return await edge.call(answered, asks=True)


def _errors(found: FindResult) -> dict[str, Any]:
    """The first model that did not do its part, if there is one: the answer is there all the same."""
    failed = next((one for one in found.degraded if one.stage in MODEL_STAGES), None)
    return {"errors": {"stage": failed.stage, "error_code": "DEGRADED", "message": failed.reason}} if failed else {}


def _options(body: Find) -> Options:
    return {
        "image_url": body.image_url,
        "limit": body.limit,
        "node_limit": body.node_limit,
        "score_threshold": body.score_threshold,
        "context_type": body.context_type,
        "filter": body.filter,
        "tags": body.tags,
        "since": body.since,
        "until": body.until,
        "time_field": body.time_field,
        "level": body.level,
        "events_time_decay_protection": body.events_time_decay_protection,
        "include_provenance": body.include_provenance,
        "read_content": body.read_content,
        "explain": body.explain,
        "strategy": body.strategy,
        "explain_missing": body.explain_missing,
    }


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
