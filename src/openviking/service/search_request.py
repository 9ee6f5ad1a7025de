"""What a caller asks of find and search, checked (contract/retrieval.md §3.2–§3.8, §4.1)."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypedDict

from openviking.clock import now_ms
from openviking.errors import InvalidArgumentError
from openviking.index.context_types import parse_context_types
from openviking.index.decay import Decay, parse_protection
from openviking.index.filter import parse_filter
from openviking.index.levels import parse_levels
from openviking.index.limits import result_limit
from openviking.index.tags import required_tags
from openviking.index.time_window import check_time_field, resolve_window
from openviking.model.hit import Degradation
from openviking.model.identity import Identity
from openviking.model.scope import Scope
from openviking.retrieve.hierarchical.parameters import NOTHING_ASKED, AskedStrategy, parse_strategy
from openviking.retrieve.missing import Wanted
from openviking.service.missing_request import asked_for
from openviking.service.pictures import named
from openviking.service.targets import search_targets
from openviking.text import quoted
from openviking.uri import parse

MAX_QUERY_CHARS: Final = 32_000
"""Characters of a query that are searched for; of a longer one the answer says so."""

PICTURE_TYPES: Final = ("resource",)
FILE_LEVEL: Final = 2


class Options(TypedDict, total=False):
    """What narrows and shapes an answer of find or search; the defaults are those of a missing member."""

    image_url: str | Sequence[str] | None
    limit: int
    node_limit: int | None
    score_threshold: float | None
    context_type: str | Sequence[str] | None
    filter: Mapping[str, Any] | None
    tags: Sequence[str] | None
    since: str | None
    until: str | None
    time_field: str | None
    level: int | str | Sequence[int] | None
    events_time_decay_protection: str | None
    include_provenance: bool
    read_content: bool
    explain: bool
    strategy: str | Mapping[str, Any] | None
    explain_missing: str | Sequence[str] | None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A checked request.

    ``query`` is stripped, and "" where the filter alone answers. ``directories`` are the URIs that provenance names,
    ``named`` says that the caller chose them. ``missing`` are URIs of which the answer shall say why they are not in it. ``threshold`` is exclusive. ``words_only`` asks no vector.
    Without ``snippets`` hits have none.
    """

    query: str
    scope: Scope
    limit: int
    threshold: float = 0.0
    directories: tuple[str, ...] = ()
    named: bool = False
    decay: Decay | None = None
    words_only: bool = False
    provenance: bool = False
    read_content: bool = False
    explain: bool = False
    notes: tuple[Degradation, ...] = ()
    missing: tuple[Wanted, ...] | None = None
    strategy: AskedStrategy = NOTHING_ASKED
    pictures: tuple[str, ...] = ()
    snippets: bool = True


def checked(
    identity: Identity,
    query: str,
    target_uri: str | Sequence[str] | None,
    options: Options,
    *,
    filter_alone: bool,
    words_only: bool = False,
    threshold: float = 0.0,
    sees: bool = False,
) -> SearchRequest:
    """The request of ``identity``; with ``filter_alone`` a filter may stand in for the query.

    ``threshold`` is that of a request that names none. ``sees`` says that there is a model for pictures: with these the
    files of resources are searched unless the request says otherwise.

    Raises `InvalidArgumentError` that names the parameter, `InvalidURIError` and `PermissionDeniedError` for targets.
    """
    asked, notes = _query(query)
    pictures = _pictures(options.get("image_url"), words_only=words_only, sees=sees)
    protection = parse_protection(options.get("events_time_decay_protection"))
    limit = result_limit(options.get("limit", 10), options.get("node_limit"))
    now = now_ms()
    first, last = resolve_window(options.get("since"), options.get("until"), now)
    levels = parse_levels(options.get("level"))
    context_types = parse_context_types(options.get("context_type")) or ()
    if pictures:
        levels, context_types = (FILE_LEVEL,) if levels is None else levels, context_types or PICTURE_TYPES
    tags = required_tags(options.get("tags") or ())
    time_field = check_time_field(options.get("time_field"))
    threshold = _threshold(options.get("score_threshold"), threshold)
    condition = parse_filter(options.get("filter"), lambda uri: _place(identity, uri, now), identity.account)
    narrowed = condition is not None or bool(context_types or tags) or first is not None or last is not None
    if not asked and not pictures and not (filter_alone and narrowed):
        unless = " unless a filter is given" if filter_alone else ""
        raise InvalidArgumentError(f"query must not be empty{unless}", field="query")
    if not asked and not pictures and protection is not None:
        raise InvalidArgumentError(
            "events_time_decay_protection needs a query: without one there are no scores to fade",
            field="events_time_decay_protection",
        )
    strategy = parse_strategy(options.get("strategy"))
    targets = search_targets(identity, target_uri)
    scope = Scope(
        roots=targets.roots, context_types=context_types, levels=levels or (), tags=tags, time_field=time_field,
        since=first, until=last, nothing=levels == (), condition=condition,
    )  # fmt: skip
    return SearchRequest(
        asked, scope, limit, threshold, targets.searched(identity, context_types), targets.named,
        decay=None if protection is None or words_only else Decay(now, protection), words_only=words_only,
        provenance=bool(options.get("include_provenance")), read_content=bool(options.get("read_content")),
        explain=bool(options.get("explain")), notes=notes,
        missing=asked_for(identity, options.get("explain_missing")), strategy=strategy, pictures=pictures,
    )  # fmt: skip


def _query(query: object) -> tuple[str, tuple[Degradation, ...]]:
    if not isinstance(query, str):
        raise InvalidArgumentError(f"query must be a string, not {type(query).__name__}", field="query")
    if any("\ud800" <= character <= "\udfff" for character in query):
        raise InvalidArgumentError("query must be valid Unicode: it has half of a surrogate pair", field="query")
    asked = query.strip()
    if len(asked) <= MAX_QUERY_CHARS:
        return asked, ()
    reason = f"of its {len(asked)} characters the first {MAX_QUERY_CHARS} are searched for"
    return asked[:MAX_QUERY_CHARS], (Degradation("query", reason),)


def _pictures(value: object, *, words_only: bool, sees: bool) -> tuple[str, ...]:
    """The pictures of a request. Raises where there are some and no model makes vectors of them."""
    pictures = named(value)
    if pictures and words_only:
        raise InvalidArgumentError("search_type keywords needs a query, and no image", field="search_type")
    if pictures and not sees:
        raise InvalidArgumentError(
            "The embedding model embeds texts, no images: leave out image_url, or configure a model that does"
            " (embedding.dense.input: multimodal)",
            field="image_url",
        )
    return pictures


def _place(identity: Identity, uri: str, now: int) -> str:
    # No check of rights: the scope holds the caller to what may be seen, whatever a filter names.
    return parse(uri, user=identity.user, today=datetime.fromtimestamp(now / 1000, tz=UTC).date()).path


def _threshold(value: Any, default: float) -> float:
    if value is None:
        return default
    if not isinstance(value, bool) and isinstance(value, int | float):
        with contextlib.suppress(OverflowError):
            number = float(value)
            if math.isfinite(number):
                return number
    raise InvalidArgumentError(
        f"score_threshold is {quoted(value)}, it must be a finite number", field="score_threshold", value=quoted(value)
    )
