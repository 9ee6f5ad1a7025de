"""find: from a query to ranked, explained hits (contract/retrieval.md §3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from openviking.index.analyse import MAX_QUERY_TERMS, TermFinder, analyse_query
from openviking.index.fusion import Fusion, fusion
from openviking.index.question import question
from openviking.index.signals import phrases
from openviking.model.embedding import EmbeddingModel
from openviking.model.hit import Degradation, FindResult, Hit
from openviking.model.node import Node
from openviking.model.scope import Scope
from openviking.retrieve.ranking import Ranked, ranked
from openviking.retrieve.snippet import snippet, without_tags
from openviking.store.port import Query, QueryVector, View
from openviking.uri import ABSTRACT_NAME, OVERVIEW_NAME, context_type

MAX_LIMIT: Final = 10_000

ROUNDING: Final = 1e-9
"""Differences up to this are those of sums, not contributions."""

NO_MODEL: Final = ""
"""The fingerprint of no model at all: no passage has a vector of it."""

SNIPPET_BYTES: Final = 64 * 1024
"""How much of a passage a snippet is taken from; only markup can hold more, in its tags."""

MEMORY_ABSTRACT_BYTES: Final = 50_000


@dataclass(frozen=True, slots=True)
class FindRequest:
    """A validated find: ``query`` may be blank if the scope narrows by itself; ``threshold`` is exclusive.

    ``model`` is the record of the embedding model in use, None if there is none; ``vector`` what it makes of the query,
    None where it was not asked or did not answer: then words answer alone, and ``degraded`` should say why.
    ``dense_weight`` is the vectors' share of the score, None for the shares by context type.
    """

    query: str
    scope: Scope
    limit: int
    threshold: float = 0.0
    read_content: bool = False
    explain: bool = False
    model: EmbeddingModel | None = None
    vector: QueryVector | None = None
    dense_weight: float | None = None
    degraded: tuple[Degradation, ...] = ()


def find(view: View, request: FindRequest) -> FindResult:
    """The best records for a query, or the newest of the scope where the query is blank."""
    limit = min(request.limit, MAX_LIMIT)
    vectors = view.coverage(NO_MODEL if request.model is None else request.model.fingerprint, request.scope)
    if not request.query.strip():
        return FindResult(_newest(view, request, limit), request.degraded, vectors)
    asked = analyse_query(request.query)
    terms = asked[:MAX_QUERY_TERMS]
    model = None if request.vector is None else request.model
    asks = question(request.query)
    fused = fusion(asks, has_terms=bool(terms), model=model, dense_weight=request.dense_weight)
    best = ranked(
        view, Query(terms, request.vector, fused.score), phrases(asks.phrases), request.scope, limit, request.threshold
    )
    tags = view.tags([one.candidate.node.id for one in best])
    finder = TermFinder(terms)
    hits = tuple(_hit(view, one, finder, tags.get(one.candidate.node.id, ()), request, fused) for one in best)
    return FindResult(hits, (*request.degraded, *_degraded(asked)), vectors)


def _degraded(asked: Sequence[str]) -> tuple[Degradation, ...]:
    if not asked:
        return (Degradation("words", "the query has no word or number to search for"),)
    others = set(asked[MAX_QUERY_TERMS:]).difference(asked[:MAX_QUERY_TERMS])
    if not others:
        return ()
    return (Degradation("query", f"{MAX_QUERY_TERMS} of its terms are searched for, {len(others)} others are not"),)


def _hit(
    view: View, one: Ranked, finder: TermFinder, tags: tuple[str, ...], request: FindRequest, fused: Fusion
) -> Hit:
    candidate, score = one.candidate, one.score
    node = candidate.node
    explain = _explain(one, fused) if request.explain else None
    if node.is_dir:
        sidecars = view.sidecars(node.path)
        text = "" if sidecars is None else sidecars.abstract if candidate.level == 0 else sidecars.overview
        name = ABSTRACT_NAME if candidate.level == 0 else OVERVIEW_NAME
        hit = Hit(
            str(node.uri.child(name)),
            context_type(node.path),
            candidate.level,
            score,
            text,
            tags,
            None,
            snippet(text, finder),
        )
    else:
        passage = view.slice(node, candidate.start, min(candidate.end, candidate.start + SNIPPET_BYTES))
        if node.kind == "html":
            passage = without_tags(passage)
        hit = Hit(
            str(node.uri), context_type(node.path), 2, score, _abstract(view, node), tags,
            (candidate.first_line, candidate.last_line), snippet(passage, finder),
        )  # fmt: skip
    duplicate = None if one.duplicate_of is None else str(one.duplicate_of.node.uri)
    return replace(hit, content=_content(view, node, hit, request), explain=explain, duplicate_of=duplicate)


def _newest(view: View, request: FindRequest, limit: int) -> tuple[Hit, ...]:
    rows = view.records(request.scope, 3 * limit)
    once = {node.id: (node, level) for node, level in reversed(rows)}
    found = [(node, level) for node, level in rows if once[node.id] == (node, level)][:limit]
    tags = view.tags([node.id for node, _ in found])
    hits = []
    for node, level in found:
        sidecars = view.sidecars(node.path) if node.is_dir else None
        abstract = _abstract(view, node) if sidecars is None else sidecars.overview if level == 1 else sidecars.abstract
        hit = Hit(
            str(node.uri), context_type(node.path), level, 0.0, abstract, tags.get(node.id, ()), match_reason="filter"
        )
        explain = () if request.explain else None
        hits.append(replace(hit, content=_content(view, node, hit, request), explain=explain))
    return tuple(hits)


def _abstract(view: View, node: Node) -> str:
    if context_type(node.path) == "memory":
        data = (view.text(node) or "").encode()[:MEMORY_ABSTRACT_BYTES]
        return data.decode("utf-8", "ignore")
    return node.abstract


def _content(view: View, node: Node, hit: Hit, request: FindRequest) -> str | None:
    if not request.read_content:
        return None
    return hit.abstract if node.is_dir else view.text(node)


def _explain(one: Ranked, fused: Fusion) -> tuple[tuple[str, float], ...]:
    """What the score is made of; the values add up to it."""
    candidate = one.candidate
    kind = context_type(candidate.node.path)
    parts = fused.parts(kind, candidate.terms, candidate.cosine, settled=candidate.settled)
    phrase = candidate.score - fused.score(kind, candidate.words, candidate.cosine)
    if abs(phrase) > ROUNDING:
        parts.append(("phrase", phrase))
    behind = one.score - candidate.score
    if behind:
        parts.append(("directory_behind_files", behind))
    return tuple(parts)
