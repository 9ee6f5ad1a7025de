"""Finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from openviking_sdk.call import Call, an_object, given, with_options
from openviking_sdk.images import Image, image_urls
from openviking_sdk.questions import SessionLike, list_or_text, session_named, target
from openviking_sdk.uri import full_uri

_PLANNED_S = 120.0
"""So long a server may take that asks a model what is meant."""


def find(
    query: str = "",
    target_uri: str | Sequence[str] = "",
    limit: int | None = None,
    image: Image | Sequence[Image] | None = None,
    *,
    context_type: str | Sequence[str] | None = None,
    score_threshold: float | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - its name on the wire
    tags: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    time_field: Literal["updated_at", "created_at"] | None = None,
    level: int | str | Sequence[int] | None = None,
    include_provenance: bool = False,
    read_content: bool = False,
    events_time_decay_protection: str | None = None,
    explain: bool = False,
    strategy: str | Mapping[str, Any] | None = None,
    explain_missing: str | Sequence[str] | None = None,
    telemetry: bool | dict[str, Any] = False,
    options: Mapping[str, Any] | None = None,
) -> Call[dict[str, Any]]:
    """What answers the query: ``memories``, ``resources`` and ``skills``, each a list of hits, best first, and ``total``.

    A hit has ``uri``, ``level`` (0 abstract, 1 overview, 2 file), ``score``, ``abstract``, ``tags`` and more. At most
    ``limit`` hits (10) below ``target_uri`` (the caller's own tree and ``viking://resources``) that score above
    ``score_threshold``, have all ``tags`` (``key=value``), match ``filter``, and were changed between ``since`` and
    ``until`` (``7d``, ``2026-03-15``). ``image`` is a path, the bytes, or the address of a picture, or several.
    ``read_content`` puts the text of each hit in ``content``; ``explain`` says how each score came about;
    ``explain_missing`` names up to 20 addresses, and ``missing`` says of each why it is not among the hits.
    ``events_time_decay_protection`` (``0``, ``12h``, ``7d``) lets the scores of older events fade.
    ``options`` are fields of the request by their names on the wire. Raises `InvalidArgumentError`.
    """
    return Call(
        method="POST",
        path="/api/v1/search/find",
        body=with_options(
            given(
                query=query,
                target_uri=target(target_uri),
                limit=limit,
                image_url=image_urls(image),
                context_type=list_or_text(context_type),
                score_threshold=score_threshold,
                filter=None if filter is None else dict(filter),
                tags=None if tags is None else list(tags),
                since=since,
                until=until,
                time_field=time_field,
                level=list(level) if isinstance(level, Sequence) and not isinstance(level, str) else level,
                include_provenance=include_provenance or None,
                read_content=read_content or None,
                events_time_decay_protection=events_time_decay_protection,
                explain=explain or None,
                strategy=dict(strategy) if isinstance(strategy, Mapping) else strategy,
                explain_missing=target(explain_missing or ""),
                telemetry=telemetry or None,
            ),
            options,
        ),
        read=an_object,
        repeatable=True,
    )


def search(
    query: str = "",
    session_id: str | None = None,
    target_uri: str | Sequence[str] = "",
    limit: int | None = None,
    *,
    session: SessionLike | None = None,
    image: Image | Sequence[Image] | None = None,
    search_type: Literal["semantic", "keywords"] | None = None,
    dedup: bool | None = None,
    rerank: bool | None = None,
    context_type: str | Sequence[str] | None = None,
    score_threshold: float | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - its name on the wire
    tags: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    time_field: Literal["updated_at", "created_at"] | None = None,
    level: int | str | Sequence[int] | None = None,
    include_provenance: bool = False,
    read_content: bool = False,
    events_time_decay_protection: str | None = None,
    explain: bool = False,
    strategy: str | Mapping[str, Any] | None = None,
    explain_missing: str | Sequence[str] | None = None,
    telemetry: bool | dict[str, Any] = False,
    options: Mapping[str, Any] | None = None,
) -> Call[dict[str, Any]]:
    """As `find`, with queries made out of the conversation of a session, if there is one and a model to make them.

    The session is named by ``session_id`` or given as ``session``. The result then has ``query_plan``, and the hits of
    its queries one after the other; with ``dedup`` each record once, and ``limit`` is that of all. ``rerank`` False does
    without the rerank model. ``search_type="keywords"`` ranks by words alone. Other parameters and errors as in `find`.
    """
    as_find = find(
        query,
        target_uri,
        limit,
        image=image,
        context_type=context_type,
        score_threshold=score_threshold,
        filter=filter,
        tags=tags,
        since=since,
        until=until,
        time_field=time_field,
        level=level,
        include_provenance=include_provenance,
        read_content=read_content,
        events_time_decay_protection=events_time_decay_protection,
        explain=explain,
        strategy=strategy,
        explain_missing=explain_missing,
        telemetry=telemetry,
    )
    session_id = session_named(session_id, session)
    body = {**(as_find.body or {}), **given(session_id=session_id, search_type=search_type, dedup=dedup, rerank=rerank)}
    return Call(
        method="POST",
        path="/api/v1/search/search",
        body=with_options(body, options),
        read=an_object,
        repeatable=True,
        seconds=0.0 if session_id is None else _PLANNED_S,
    )


def grep(
    uri: str,
    pattern: str,
    case_insensitive: bool = False,
    node_limit: int | None = None,
    exclude_uri: str | None = None,
    *,
    level_limit: int | None = None,
    before_context: int | None = None,
    after_context: int | None = None,
    tags: Sequence[str] | None = None,
    include_tags: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Call[dict[str, Any]]:
    """The lines that match a regular expression: ``matches``, each with ``uri``, ``line`` (from 1), ``content``; ``count``.

    At most ``node_limit`` lines (256) of files up to ``level_limit`` levels below ``uri`` (10), without what is below
    ``exclude_uri``, and only of files with all ``tags``; ``truncated`` says whether there are more. Raises
    `NotFoundError`, and `InvalidArgumentError` for a pattern that can't be read.
    """
    return Call(
        method="POST",
        path="/api/v1/search/grep",
        body=with_options(
            given(
                uri=full_uri(uri),
                pattern=pattern,
                case_insensitive=case_insensitive or None,
                exclude_uri=None if exclude_uri is None else full_uri(exclude_uri),
                node_limit=node_limit,
                level_limit=level_limit,
                before_context=before_context,
                after_context=after_context,
                tags=None if tags is None else list(tags),
                include_tags=include_tags or None,
            ),
            options,
        ),
        read=an_object,
        repeatable=True,
    )


def glob(
    pattern: str,
    uri: str = "viking://",
    node_limit: int | None = None,
    *,
    extra_fields: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    include_tags: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Call[dict[str, Any]]:
    """The entries whose path below ``uri`` matches a glob: ``matches``, addresses by name, and ``count``.

    ``*`` stays within a directory, ``**`` does not. At most ``node_limit`` (256). With ``extra_fields``, ``tags`` or
    ``include_tags`` the matches are objects. Raises `NotFoundError`.
    """
    return Call(
        method="POST",
        path="/api/v1/search/glob",
        body=with_options(
            given(
                pattern=pattern,
                uri=full_uri(uri),
                node_limit=node_limit,
                extra_fields=None if extra_fields is None else list(extra_fields),
                tags=None if tags is None else list(tags),
                include_tags=include_tags or None,
            ),
            options,
        ),
        read=an_object,
        repeatable=True,
    )
