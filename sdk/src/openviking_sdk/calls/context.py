"""Context for prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from openviking_sdk.call import Call, given, with_options
from openviking_sdk.context import ContextResult, a_context
from openviking_sdk.images import Image, image_urls
from openviking_sdk.questions import SessionLike, list_or_text, session_named, target
from openviking_sdk.uri import full_uri

_CONTEXT_S = 120.0
"""So long a server may take that asks models what is meant and what of it matters."""


def search_context(
    query: str = "",
    session_id: str | None = None,
    target_uri: str | Sequence[str] = "",
    limit: int | None = None,
    *,
    session: SessionLike | None = None,
    image: Image | Sequence[Image] | None = None,
    max_tokens: int | None = None,
    query_expansion: Literal["off", "auto"] | None = None,
    quotas: Mapping[str, int] | None = None,
    purpose: Literal["chat", "coding"] | None = None,
    detail: str | Mapping[str, str] | None = None,
    dedup_turns: int | None = None,
    exclude_uris: Sequence[str] | None = None,
    peer_scope: Literal["actor", "all"] | None = None,
    other_peer_penalty: float | Mapping[str, float] | None = None,
    rewrite: bool | Literal["auto"] | None = None,
    rewrite_max_bullets: int | None = None,
    context_type: str | Sequence[str] | None = None,
    score_threshold: float | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - its name on the wire
    tags: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    time_field: Literal["updated_at", "created_at"] | None = None,
    search_type: Literal["semantic", "keywords"] | None = None,
    events_time_decay_protection: str | None = None,
    telemetry: bool | dict[str, Any] = False,
    options: Mapping[str, Any] | None = None,
) -> Call[ContextResult]:
    """A block of context for a prompt: ``rendered``, its ``entries``, ``digest`` and ``stats``.

    It has at most ``max_tokens`` tokens (64 to 32,000; 1,600 if none is said). With a session, named by ``session_id`` or
    given as ``session``, the question is asked with it in mind (unless ``query_expansion`` is off), and what was served
    in its last ``dedup_turns`` turns is left out. ``purpose`` or ``quotas`` (entries by category: events, entities,
    preferences, experiences, resources, skills) say what comes; ``detail`` how much of each: ``abstract``, ``overview``,
    ``full``, or one by category. ``exclude_uris`` are left out with all below. ``peer_scope`` and ``other_peer_penalty`` say
    what memories of other peers count; ``rewrite`` has a model condense the block into ``digest``, at most
    ``rewrite_max_bullets`` points. Nothing relevant gives no entries and "" as ``rendered``, and ``stats`` says why. A
    target is refused by the server. Raises `InvalidArgumentError`.
    """
    return Call(
        method="POST",
        path="/api/v1/search/search",
        body=with_options(
            given(
                query=query,
                mode="context",
                target_uri=target(target_uri),
                session_id=session_named(session_id, session),
                image_url=image_urls(image),
                max_tokens=max_tokens,
                limit=limit,
                query_expansion=query_expansion,
                quotas=None if quotas is None else dict(quotas),
                purpose=purpose,
                detail=dict(detail) if isinstance(detail, Mapping) else detail,
                dedup_turns=dedup_turns,
                exclude_uris=None if exclude_uris is None else [full_uri(uri) for uri in exclude_uris],
                peer_scope=peer_scope,
                other_peer_penalty=(
                    dict(other_peer_penalty) if isinstance(other_peer_penalty, Mapping) else other_peer_penalty
                ),
                rewrite=rewrite,
                rewrite_max_bullets=rewrite_max_bullets,
                context_type=list_or_text(context_type),
                score_threshold=score_threshold,
                filter=None if filter is None else dict(filter),
                tags=None if tags is None else list(tags),
                since=since,
                until=until,
                time_field=time_field,
                search_type=search_type,
                events_time_decay_protection=events_time_decay_protection,
                telemetry=telemetry or None,
            ),
            options,
        ),
        read=a_context,
        repeatable=not dedup_turns and not (options or {}).get("dedup_turns"),
        seconds=_CONTEXT_S,
    )


def recall(
    query: str,
    session_id: str | None = None,
    *,
    quotas: Mapping[str, int] | None = None,
    max_tokens: int | None = None,
    max_chars: int | None = None,
    score_threshold: float | None = None,
    min_score: float | None = None,
    render: bool | Literal["full", "compact"] | None = None,
    purpose: Literal["chat", "coding"] | None = None,
    detail: str | Mapping[str, str] | None = None,
    dedup_turns: int | None = None,
    exclude_uris: Sequence[str] | None = None,
    peer_scope: Literal["actor", "all"] | None = None,
    other_peer_penalty: float | Mapping[str, float] | None = None,
    query_expansion: Literal["off", "auto"] | None = None,
    rewrite: bool | Literal["auto"] | None = None,
    rewrite_max_bullets: int | None = None,
    telemetry: bool | dict[str, Any] = False,
    options: Mapping[str, Any] | None = None,
) -> Call[ContextResult]:
    """Memories for a prompt, by the deprecated route: as `search_context`, which is to be preferred, with other defaults.

    Ten events, ten entities, three preferences (``quotas`` changes some of them); scores above 0.1; with a session not
    what the last five turns got. ``max_chars`` are four to a token, ``min_score`` is ``score_threshold``, ``render`` False
    gives the entries alone, ``compact`` their abstracts. Raises `InvalidArgumentError`.
    """
    return Call(
        method="POST",
        path="/api/v1/search/recall",
        body=with_options(
            given(
                query=query,
                session_id=session_id,
                quotas=None if quotas is None else dict(quotas),
                max_tokens=max_tokens,
                max_chars=max_chars,
                score_threshold=score_threshold,
                min_score=min_score,
                render=render,
                purpose=purpose,
                detail=dict(detail) if isinstance(detail, Mapping) else detail,
                dedup_turns=dedup_turns,
                exclude_uris=None if exclude_uris is None else [full_uri(uri) for uri in exclude_uris],
                peer_scope=peer_scope,
                other_peer_penalty=(
                    dict(other_peer_penalty) if isinstance(other_peer_penalty, Mapping) else other_peer_penalty
                ),
                query_expansion=query_expansion,
                rewrite=rewrite,
                rewrite_max_bullets=rewrite_max_bullets,
                telemetry=telemetry or None,
            ),
            options,
        ),
        read=a_context,
        # With a session it notes what was served, and would not serve it again.
        repeatable=session_id is None,
        seconds=_CONTEXT_S,
    )
