"""What a caller asks of a context, checked (contract/retrieval.md §5.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypedDict, Unpack, cast

from openviking.context.categories import BUCKETS, CATEGORIES, PENALTIES, PURPOSES
from openviking.errors import InvalidArgumentError
from openviking.index.choices import one_of
from openviking.index.context_types import parse_context_types
from openviking.index.limits import MAX_LIMIT, bounded, result_limit
from openviking.text import quoted

DEFAULT_LIMIT: Final = 10
DEFAULT_MAX_TOKENS: Final = 1600
LEAST_TOKENS: Final = 64
MOST_TOKENS: Final = 32_000
MOST_DEDUP_TURNS: Final = 100
MOST_EXCLUDED: Final = 200
DEFAULT_BULLETS: Final = 6
MOST_BULLETS: Final = 20

Pin = Literal["abstract", "overview", "full"]
PINS: Final = ("abstract", "overview", "full")
UNPINNED: Final = "auto"
"""An old spelling of no pin."""

FIND_OPTIONS: Final = (
    "image_url", "context_type", "score_threshold", "filter", "tags", "since", "until", "time_field",
    "events_time_decay_protection", "search_type",
)  # fmt: skip
"""Parameters that mean what they mean for a list of hits, and are handed on to each search."""

_NARROWING: Final = ("filter", "tags", "since", "until", "context_type")


class ContextOptions(TypedDict, total=False):
    """The fields of a request as they were sent; None and a missing one are the same."""

    query: str
    session_id: str | None
    query_expansion: str
    limit: int | None
    node_limit: int | None
    max_tokens: int
    quotas: Mapping[str, int] | None
    purpose: str | None
    detail: str | Mapping[str, str] | None
    dedup_turns: int
    exclude_uris: Sequence[str]
    peer_scope: str
    other_peer_penalty: float | Mapping[str, Any] | None
    rewrite: bool | str
    rewrite_max_bullets: int
    target_uri: str | Sequence[str] | None
    read_content: bool
    level: Any
    image_url: str | Sequence[str] | None
    context_type: str | Sequence[str] | None
    score_threshold: float | None
    filter: Mapping[str, Any] | None
    tags: Sequence[str] | None
    since: str | None
    until: str | None
    time_field: str | None
    events_time_decay_protection: str | None
    search_type: str


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """A checked request.

    ``quotas`` are those in force by bucket, None where one search looks everywhere and ``limit`` counts. ``pins`` are the
    tiers asked for by category. ``penalties`` has every category. ``find_options`` are the parameters of `FIND_OPTIONS`
    that were sent, unchecked but for ``context_type``. ``ignored`` names the fields that were sent and mean nothing here.
    """

    query: str = ""
    session_id: str | None = None
    query_expansion: Literal["off", "auto"] = "auto"
    limit: int = DEFAULT_LIMIT
    max_tokens: int = DEFAULT_MAX_TOKENS
    quotas: Mapping[str, int] | None = None
    purpose: str | None = None
    detail: str | Mapping[str, str] | None = None
    pins: Mapping[str, Pin] = field(default_factory=lambda: MappingProxyType({}))
    dedup_turns: int = 0
    exclude_uris: tuple[str, ...] = ()
    peer_scope: Literal["actor", "all"] = "all"
    penalties: Mapping[str, float] = field(default_factory=lambda: PENALTIES)
    rewrite: bool | Literal["auto"] = False
    rewrite_max_bullets: int = DEFAULT_BULLETS
    context_types: tuple[str, ...] = ()
    find_options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    ignored: tuple[str, ...] = ()

    @property
    def active(self) -> tuple[str, ...]:
        """The buckets that are searched, in their order; none where one search looks everywhere."""
        return () if self.quotas is None else tuple(name for name in BUCKETS if self.quotas.get(name, 0) > 0)

    @property
    def total(self) -> int:
        """The most candidates there can be: the sum of the quotas, or the limit."""
        return self.limit if self.quotas is None else sum(self.quotas.values())

    @property
    def cooling(self) -> bool:
        """Whether what was served in the session's last turns is left out."""
        return self.dedup_turns > 0 and self.session_id is not None

    @property
    def pictured(self) -> bool:
        """Whether a picture is searched with."""
        return bool(self.find_options.get("image_url"))


def checked_context(**sent: Unpack[ContextOptions]) -> ContextRequest:
    """The request that the fields ``sent`` make, with the documented defaults for the others.

    Raises `InvalidArgumentError` that names the field: for values out of bounds, unknown names, a query that is blank
    without a picture or a filter, and for ``target_uri`` and ``read_content``, which a context has not. What
    `find_options` hold is checked where it is searched with.
    """
    given = {name: value for name, value in sent.items() if value is not None}
    unknown = sorted(set(given) - set(ContextOptions.__annotations__))
    if unknown:
        raise InvalidArgumentError(f"A context has no parameter {quoted(unknown[0])}", field=unknown[0])
    if given.get("target_uri"):
        raise InvalidArgumentError(
            "target_uri is not supported with mode 'context': leave it out, or use mode 'list'", field="target_uri"
        )
    if given.get("read_content"):
        raise InvalidArgumentError(
            "read_content is not supported with mode 'context': detail says how much of each entry is given",
            field="read_content",
        )
    purpose = one_of("purpose", given.get("purpose"), (None, *PURPOSES))
    quotas = _quotas(given.get("quotas"))
    if quotas is None and purpose is not None:
        quotas = PURPOSES[cast("str", purpose)]
    detail, pins = _detail(given.get("detail"))
    rewrite = given.get("rewrite", False)
    if not isinstance(rewrite, bool) and rewrite != "auto":
        raise _wrong("rewrite", rewrite, "true, false or 'auto'")
    return ContextRequest(
        query=_query(given),
        session_id=_text("session_id", given.get("session_id")),
        query_expansion=one_of("query_expansion", cast("Any", given.get("query_expansion", "auto")), ("off", "auto")),
        limit=result_limit(given.get("limit", DEFAULT_LIMIT), given.get("node_limit")),
        max_tokens=bounded(
            given.get("max_tokens", DEFAULT_MAX_TOKENS), "max_tokens", minimum=LEAST_TOKENS, maximum=MOST_TOKENS
        ),
        quotas=quotas,
        purpose=cast("str | None", purpose),
        detail=detail,
        pins=pins,
        dedup_turns=bounded(given.get("dedup_turns", 0), "dedup_turns", minimum=0, maximum=MOST_DEDUP_TURNS),
        exclude_uris=_excluded(given.get("exclude_uris", ())),
        peer_scope=one_of("peer_scope", cast("Any", given.get("peer_scope", "all")), ("actor", "all")),
        penalties=_penalties(given.get("other_peer_penalty")),
        rewrite=cast("Any", rewrite),
        rewrite_max_bullets=bounded(
            given.get("rewrite_max_bullets", DEFAULT_BULLETS), "rewrite_max_bullets", minimum=1, maximum=MOST_BULLETS
        ),
        context_types=parse_context_types(given.get("context_type")) or (),
        find_options=MappingProxyType({name: given[name] for name in FIND_OPTIONS if name in given}),
        ignored=_ignored(given, bucketed=quotas is not None),
    )


def _query(given: Mapping[str, Any]) -> str:
    query = given.get("query", "")
    if not isinstance(query, str):
        raise _wrong("query", query, "a string")
    query = query.strip()
    if not query and not given.get("image_url") and not any(given.get(name) for name in _NARROWING):
        raise InvalidArgumentError("query must not be empty unless an image or a filter is given", field="query")
    return query


def _text(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _wrong(name, value, "a string")
    return value or None


def _quotas(value: object) -> Mapping[str, int] | None:
    """The quotas that a request names, each bucket left out having none; None where it names no bucket."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise _wrong("quotas", value, f"an object of numbers by {', '.join(BUCKETS)}")
    quotas = dict.fromkeys(BUCKETS, 0)
    for name, number in value.items():
        if name not in BUCKETS:
            raise InvalidArgumentError(
                f"quotas has no {quoted(name)}; its keys are {', '.join(BUCKETS)}", field=f"quotas.{name}"
            )
        if isinstance(number, bool) or not isinstance(number, int):
            raise _wrong(f"quotas.{name}", number, "a whole number")
        quotas[name] = min(max(number, 0), MAX_LIMIT)
    return MappingProxyType(quotas) if value else None


def _detail(value: object) -> tuple[str | Mapping[str, str] | None, Mapping[str, Pin]]:
    """The pin as an answer shows it, and the tiers by category that it means."""
    if value is None or value == UNPINNED:
        return None, MappingProxyType({})
    if isinstance(value, Mapping):
        for name, tier in value.items():
            if name not in CATEGORIES:
                raise InvalidArgumentError(
                    f"detail has no {quoted(name)}; its keys are {', '.join(CATEGORIES)}", field=f"detail.{name}"
                )
            one_of(f"detail.{name}", tier, (*PINS, UNPINNED))
        pins = {name: tier for name, tier in value.items() if tier != UNPINNED}
        return MappingProxyType(dict(value)) if value else None, MappingProxyType(pins)
    tier = one_of("detail", value, (*PINS, UNPINNED))
    return cast("str", tier), MappingProxyType(dict.fromkeys(CATEGORIES, cast("Pin", tier)))


def _excluded(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise _wrong("exclude_uris", value, "a list of URIs")
    if len(value) > MOST_EXCLUDED:
        raise InvalidArgumentError(
            f"exclude_uris names {len(value)} URIs, at most {MOST_EXCLUDED} are allowed", field="exclude_uris"
        )
    return tuple(dict.fromkeys(one.strip() for one in value if one.strip()))


def _penalties(value: object) -> Mapping[str, float]:
    """The penalty of each category; what can't be read, and what names no category, changes nothing."""
    if value is None:
        return PENALTIES
    if isinstance(value, Mapping):
        asked = {name: number for name in CATEGORIES if (number := _share(value.get(name))) is not None}
        return MappingProxyType({**PENALTIES, **asked})
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong("other_peer_penalty", value, "a number, or an object of numbers by category")
    share = _share(value)
    return PENALTIES if share is None else MappingProxyType(dict.fromkeys(CATEGORIES, share))


def _share(value: object) -> float | None:
    """A number from 0 to 1, the nearest one for those beyond; None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) else min(max(number, 0.0), 1.0)


def _ignored(given: Mapping[str, Any], *, bucketed: bool) -> tuple[str, ...]:
    ignored = ["level"] if "level" in given else []
    if bucketed and ("limit" in given or "node_limit" in given):
        ignored.append("limit")
    return tuple(ignored)


def _wrong(name: str, value: object, right: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{name} is {quoted(value)}, it must be {right}", field=name, value=quoted(value))
