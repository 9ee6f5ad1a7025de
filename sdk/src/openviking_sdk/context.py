"""What a block of context is made of, for type checkers: the answers themselves are plain dictionaries."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, cast

from openviking_sdk.call import Answer, an_object


class ContextEntry(TypedDict):
    """One record of the block.

    ``category`` is events, entities, preferences, experiences, memories, resources or skills; ``score`` that of the
    record; ``detail`` how much of it is in ``text``, which is "" for ``uri``; ``origin`` whose it is. ``lines`` are the
    first and last line that ``text`` shows of a file, None where it is no piece of one.
    """

    uri: str
    category: str
    score: float
    detail: Literal["uri", "abstract", "overview", "full"]
    text: str
    origin: Literal["actor_peer", "self", "other_peer"]
    lines: NotRequired[list[int] | None]


class ContextStats(TypedDict, total=False):
    """How the block came about; servers may tell more or less of it.

    Counts of candidates: ``candidates``, ``excluded``, ``returned``, ``dropped`` (did not fit), ``deduped`` (said the same).
    Tokens: ``max_tokens``, ``used_tokens``, ``per_entry_cap``, and how ``fill`` came by them. ``empty`` says why nothing is
    in the block.
    """

    searched: list[str]
    candidates: int
    excluded: int
    returned: int
    dropped: int
    deduped: int
    origins: dict[str, int]
    peer_scope: str
    purpose: str | None
    quotas: dict[str, int] | None
    score_threshold: float | None
    other_peer_penalties: dict[str, float]
    max_tokens: int
    used_tokens: int
    per_entry_cap: int
    detail: str | dict[str, str] | None
    tier_counts: dict[str, int]
    fill: dict[str, int]
    query_expansion: Literal["off", "used", "failed"]
    planned_queries: list[str]
    rewrite: Literal["off", "ok", "no_relevant", "failed", "timeout"]
    rewrite_usage: dict[str, int] | None
    dedup: dict[str, Any]
    retrieval_errors: list[str]
    ignored: list[str]
    deprecated: dict[str, Any]
    empty: str


class ContextResult(TypedDict):
    """A block of context: ``rendered`` is for a prompt, ``digest`` what a model made of it ("" without one)."""

    entries: list[ContextEntry]
    rendered: str
    digest: str
    stats: ContextStats
    telemetry: NotRequired[dict[str, Any]]


def a_context(answer: Answer) -> ContextResult:
    """The result, which must be an object."""
    return cast("ContextResult", an_object(answer))
