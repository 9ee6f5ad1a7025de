"""The deprecated recall over HTTP: a preset over context (contract/retrieval.md §5.14)."""

from __future__ import annotations

from typing import Any, Final, Literal, cast

from fastapi import APIRouter

from openviking.context.recall_preset import SUCCESSOR, RecallOptions
from openviking.server.bodies import Strict, Telemetry
from openviking.server.context_answers import context_answer
from openviking.server.edge import Caller
from openviking.server.envelope import Json

router = APIRouter(prefix="/api/v1/search", tags=["search"])

HEADERS: Final = {"Deprecation": "true", "Link": f'<{SUCCESSOR}>; rel="successor-version"'}


class Recall(Strict):
    """A question for memories; ``max_chars``, ``min_score`` and ``render`` are names of old clients."""

    query: str
    quotas: dict[str, int] | None = None
    max_chars: int | None = None
    min_score: float | None = None
    render: bool | Literal["full", "compact"] | None = None
    peer_scope: Literal["actor", "all"] | None = None
    other_peer_penalty: float | dict[str, Any] | None = None
    session_id: str | None = None
    query_expansion: Literal["off", "auto"] | None = None
    max_tokens: int | None = None
    purpose: Literal["chat", "coding"] | None = None
    detail: str | dict[str, str] | None = None
    score_threshold: float | None = None
    dedup_turns: int | None = None
    exclude_uris: list[str] | None = None
    rewrite: bool | Literal["auto"] | None = None
    rewrite_max_bullets: int | None = None
    telemetry: Telemetry = False


@router.post("/recall", deprecated=True)
async def recall(edge: Caller, body: Recall) -> Json:
    """Memories for a prompt; `POST /api/v1/search/search` with ``mode`` context has taken its place."""
    sent = {name: getattr(body, name) for name in body.model_fields_set if name in RecallOptions.__annotations__}
    answer = await context_answer(
        edge,
        lambda: edge.services.context.recall(edge.caller, **cast("RecallOptions", sent)),
        body.telemetry,
        "search.recall",
    )
    answer.headers.update(HEADERS)
    return answer
