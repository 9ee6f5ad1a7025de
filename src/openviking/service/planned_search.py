"""A search that a plan split into several queries: all asked at once, and one answer made of theirs (§4.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from openviking.model.embedding import Coverage
from openviking.model.hit import Degradation, FindResult
from openviking.model.identity import Identity
from openviking.model.missing import Missing
from openviking.model.query_plan import PlannedQuery
from openviking.model.work import Work
from openviking.retrieve.across import appended, fused
from openviking.retrieve.missing import across
from openviking.service.planning import Planned
from openviking.service.search_request import SearchRequest
from openviking.service.targets import Targets


def carried_out(
    identity: Identity,
    request: SearchRequest,
    planned: Planned,
    answered: Callable[[SearchRequest], FindResult],
    *,
    dedup: bool,
) -> FindResult:
    """The answer to ``request`` by the queries of its plan, or by its own query where there is none.

    ``answered`` answers one query, each with the request's limit. Their hits stand one after the other as the wire
    documents it; with ``dedup`` they are fused, each record once, and the limit is that of all together.
    """
    spent = Work(
        intent_ms=1000 * planned.seconds, llm_input=planned.tokens[0], llm_output=planned.tokens[1],
        planned=len(planned.plan.queries) if planned.plan else 0, target_ms=1000 * planned.reading,
    )  # fmt: skip
    if planned.plan is None:
        result = answered(request)
        return replace(result, degraded=(*planned.degraded, *result.degraded), work=result.work + spent)
    requests = [_typed(identity, request, one) for one in planned.plan.queries]
    results = _at_once(requests, answered)
    answers = [one.hits for one in results]
    told = tuple(one for result in results for one in result.provenance or ()) if request.provenance else None
    work = spent
    for one in results:
        work = work + one.work
    hits = fused(answers, request.limit) if dedup else appended(answers)
    missing = None
    if request.missing is not None and not results:
        why = "the plan of this search asks nothing"
        missing = tuple(Missing(one.uri, "not_selected", why) for one in request.missing)
    elif request.missing is not None:
        told_each = [(one.query, result.missing or ()) for one, result in zip(requests, results, strict=True)]
        missing = across(request.missing, told_each, hits)
    return FindResult(
        hits,
        _once([*request.notes, *(note for result in results for note in result.degraded)]),
        _coverage(requests, results),
        any(result.model_in_use for result in results),
        told,
        work,
        planned.plan,
        missing,
    )


def _typed(identity: Identity, request: SearchRequest, query: PlannedQuery) -> SearchRequest:
    """The request for one query of its plan; a type narrows what the caller asked for."""
    request = replace(request, query=query.query, notes=())
    if query.context_type is None:
        return request
    types = (query.context_type,)
    targets = Targets(request.scope.roots or (), request.named)
    return replace(
        request,
        scope=replace(request.scope, context_types=types),
        directories=targets.searched(identity, types) or request.directories,
    )


def _at_once(requests: Sequence[SearchRequest], answered: Callable[[SearchRequest], FindResult]) -> list[FindResult]:
    if len(requests) < 2:
        return [answered(one) for one in requests]
    with ThreadPoolExecutor(len(requests), "openviking-planned") as threads:
        return list(threads.map(answered, requests))


def _once(notes: Sequence[Degradation]) -> tuple[Degradation, ...]:
    return tuple(dict.fromkeys(notes))


def _coverage(requests: Sequence[SearchRequest], results: Sequence[FindResult]) -> Coverage:
    """Of all that was looked at: types add up, and a query of several types covers them all."""
    by_types = {request.scope.context_types: result.vectors for request, result in zip(requests, results, strict=True)}
    several = [vectors for types, vectors in by_types.items() if len(types) != 1]
    if several:
        return max(several, key=lambda vectors: vectors.of)
    return Coverage(
        sum(vectors.have for vectors in by_types.values()),
        sum(vectors.of for vectors in by_types.values()),
        sum(vectors.refused for vectors in by_types.values()),
    )
