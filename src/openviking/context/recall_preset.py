"""The deprecated recall as a preset over a context (contract/retrieval.md §5.14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypedDict, Unpack, cast

from openviking.context.parameters import (
    DEFAULT_MAX_TOKENS,
    LEAST_TOKENS,
    MOST_TOKENS,
    ContextOptions,
    ContextRequest,
    checked_context,
)
from openviking.errors import InvalidArgumentError
from openviking.index.limits import bounded
from openviking.text import quoted

ENDPOINT: Final = "/api/v1/search/recall"
SUCCESSOR: Final = "/api/v1/search/search"
ALIASES: Final = ("max_chars", "min_score", "render")
DEFAULT_THRESHOLD: Final = 0.1
DEFAULT_DEDUP_TURNS: Final = 5
DEFAULT_PURPOSE: Final = "coding"
RENDERS: Final = (True, False, "full", "compact")
QUOTAS: Final[Mapping[str, int]] = MappingProxyType({"events": 10, "entities": 10, "preferences": 3, "experiences": 0})


class RecallOptions(TypedDict, total=False):
    """The fields of a recall as they were sent; only of ``quotas`` None means something else than a missing one."""

    query: str
    score_threshold: float | None
    min_score: float | None
    max_tokens: int | None
    max_chars: int | None
    render: bool | str
    quotas: Mapping[str, int] | None
    purpose: str | None
    dedup_turns: int | None
    peer_scope: str
    other_peer_penalty: float | Mapping[str, Any] | None
    detail: str | Mapping[str, str] | None
    exclude_uris: Sequence[str]
    rewrite: bool | str
    rewrite_max_bullets: int
    query_expansion: str
    session_id: str | None


@dataclass(frozen=True, slots=True)
class Recall:
    """The request that a recall means; ``rendered`` says whether the block is wanted, ``aliases`` which old names it used."""

    request: ContextRequest
    rendered: bool
    aliases: tuple[str, ...]

    @property
    def deprecated(self) -> dict[str, Any]:
        """What ``stats.deprecated`` tells of the old endpoint and of its successor."""
        return {
            "endpoint": ENDPOINT,
            "successor": SUCCESSOR,
            "successor_body": {"mode": "context"},
            "aliases_used": list(self.aliases),
        }


def checked_recall(**sent: Unpack[RecallOptions]) -> Recall:
    """The recall that the fields ``sent`` make. Raises `InvalidArgumentError` as `checked_context`, and for a bad ``render``."""
    given: dict[str, Any] = {name: value for name, value in sent.items() if value is not None}
    unknown = sorted(set(sent) - set(RecallOptions.__annotations__))
    if unknown:
        raise InvalidArgumentError(f"A recall has no parameter {quoted(unknown[0])}", field=unknown[0])
    render = given.pop("render", True)
    if not isinstance(render, bool | str) or render not in RENDERS:
        raise InvalidArgumentError(
            f"render is {quoted(render)}, allowed are {', '.join(map(repr, RENDERS))}", field="render"
        )
    aliases = tuple(name for name in ALIASES if sent.get(name) is not None)
    if render == "compact":
        given.setdefault("detail", "abstract")
    lower = given.pop("min_score", DEFAULT_THRESHOLD)
    given.setdefault("score_threshold", lower)
    given.setdefault("max_tokens", _tokens(given.pop("max_chars", None)))
    given.pop("max_chars", None)
    _set_quotas(given, sent)
    given.setdefault("dedup_turns", DEFAULT_DEDUP_TURNS if given.get("session_id") else 0)
    return Recall(checked_context(**cast("ContextOptions", given)), render is not False, aliases)


def _tokens(chars: object) -> int:
    if chars is None:
        return DEFAULT_MAX_TOKENS
    return max(LEAST_TOKENS, round(bounded(chars, "max_chars", minimum=1, maximum=4 * MOST_TOKENS) / 4))


def _set_quotas(given: dict[str, Any], sent: Mapping[str, Any]) -> None:
    """The quotas in force: the default ones, those with what was sent laid over them, or with null the purpose's."""
    purpose = given.pop("purpose", DEFAULT_PURPOSE)
    quotas = sent.get("quotas", {})
    if quotas is None:
        given["purpose"] = purpose
    else:
        given["quotas"] = {**QUOTAS, **quotas} if isinstance(quotas, Mapping) else quotas
