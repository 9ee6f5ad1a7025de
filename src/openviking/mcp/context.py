"""Mode context of the tool search: one block for a prompt, within the tokens that were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from openviking.context.categories import CATEGORIES
from openviking.errors import InvalidArgumentError, UnavailableError
from openviking.mcp.arguments import Arguments, Texts
from openviking.mcp.desk import Desk
from openviking.mcp.paging import MAX_TOKENS

NOTHING: Final = "No matching context found."
MAX_TOLD: Final = 10
"""Notes below a block."""

DEFAULT_TOKENS: Final = 1_600


class ContextArguments(Arguments):
    """What mode context alone takes."""

    query_expansion: Literal["off", "auto"] = Field(default="auto", description="auto: ask with the session in mind.")
    max_tokens: int = Field(
        default=DEFAULT_TOKENS, ge=64, le=32_000, description="Of the block; 8,000 at most are given."
    )
    quotas: dict[str, int] | None = Field(
        default=None, description="Entries of events, entities, preferences, experiences, resources, skills."
    )
    purpose: Literal["chat", "coding"] | None = Field(default=None, description="Quotas that suit it.")
    detail: Literal["auto", "abstract", "overview", "full"] = Field(default="auto", description="How much of each.")
    detail_by_category: dict[str, str] | None = None
    dedup_turns: Annotated[int, Field(ge=0, le=100, description="Not what the session's last turns got.")] = 0
    exclude_uris: Texts | None = None
    peer_scope: Literal["actor", "all"] = "all"
    other_peer_penalty: float | None = None
    other_peer_penalties: dict[str, float] | None = None
    rewrite: Literal["off", "auto"] = Field(default="off", description="auto: a model condenses the block.")
    rewrite_max_bullets: int = Field(default=6, ge=1, le=20)


def context_only(given: ContextArguments) -> list[str]:
    """The arguments of mode context that were given and are not their defaults."""
    # Models like to send defaults along; those say nothing.
    fields = ContextArguments.model_fields
    return [name for name in fields if getattr(given, name) != fields[name].default]


def context_block(desk: Desk, given: ContextArguments, narrowed: Mapping[str, Any]) -> str:
    """The digest or the block itself, with notes below; ``narrowed`` are options as those of a find."""
    answer = desk.services.context.context(
        desk.caller, **narrowed, query_expansion=given.query_expansion, max_tokens=min(given.max_tokens, MAX_TOKENS),
        quotas=given.quotas, purpose=given.purpose, detail=_detail(given), dedup_turns=given.dedup_turns,
        exclude_uris=given.exclude_uris or [], peer_scope=given.peer_scope, other_peer_penalty=_penalty(given),
        rewrite=False if given.rewrite == "off" else given.rewrite, rewrite_max_bullets=given.rewrite_max_bullets,
    ).result.to_dict()  # fmt: skip
    stats = answer["stats"]
    notes = []
    if given.max_tokens > MAX_TOKENS and answer["entries"]:
        rest = f"; {stats['dropped']} more did not fit" if stats.get("dropped") else ""
        notes.append(f"max_tokens was lowered to {MAX_TOKENS:,}{rest}. With these in exclude_uris you get what follows")
    if stats.get("ignored"):
        notes.append(f"without effect in a context: {', '.join(stats['ignored'])}")
    notes += stats.get("retrieval_errors", ())
    notes += [f"{one['stage']}: {one['reason']}" for one in stats.get("degraded", ())]
    text = answer["digest"] or answer["rendered"]
    if not text:
        if stats.get("retrieval_errors") and not answer["entries"]:
            # An outage must not look like a store that knows nothing.
            failed = "; ".join(stats["retrieval_errors"])
            raise UnavailableError(f"Nothing was found, and searches failed: {failed}", service="search", reason=failed)
        text = NOTHING
        notes.insert(0, stats.get("empty", ""))
    return "\n\n".join([text, "\n".join(f"Note: {one}" for one in notes[:MAX_TOLD] if one)]).rstrip("\n")


def _detail(given: ContextArguments) -> str | dict[str, str] | None:
    if given.detail_by_category is None:
        return None if given.detail == "auto" else given.detail
    everywhere = {} if given.detail == "auto" else dict.fromkeys(CATEGORIES, given.detail)
    return {**everywhere, **given.detail_by_category}


def _penalty(given: ContextArguments) -> float | dict[str, float] | None:
    if given.other_peer_penalties is None:
        return given.other_peer_penalty
    everywhere = {} if given.other_peer_penalty is None else dict.fromkeys(CATEGORIES, given.other_peer_penalty)
    return {**everywhere, **given.other_peer_penalties}


def refuse_context(given: ContextArguments) -> None:
    """Raises `InvalidArgumentError` for arguments of mode context in mode list."""
    odd = context_only(given)
    if odd:
        raise InvalidArgumentError(f"{', '.join(odd)} requires mode='context'", field=odd[0])
