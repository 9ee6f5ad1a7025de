"""find: from a query to ranked, explained hits (contract/retrieval.md §3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from openviking.index.analyse import analyse_query
from openviking.model.hit import Degradation, FindResult, Hit
from openviking.model.node import Node
from openviking.model.scope import Scope
from openviking.retrieve.snippet import snippet, without_tags
from openviking.store.port import Candidate, View
from openviking.uri import ABSTRACT_NAME, OVERVIEW_NAME, context_type

CANDIDATES: Final = 100
GROWTH: Final = 4
MAX_LIMIT: Final = 10_000
DIRECTORY_SHARE: Final = 0.9
"""A directory scores at most this share of its best descendant among the candidates."""

SNIPPET_BYTES: Final = 64 * 1024
"""How much of a passage a snippet is taken from; only markup can hold more, in its tags."""

MARKUP: Final = (".html", ".htm", ".xhtml")

MEMORY_ABSTRACT_BYTES: Final = 50_000


@dataclass(frozen=True, slots=True)
class FindRequest:
    """A validated find: ``query`` may be blank if the scope narrows by itself; ``threshold`` is exclusive."""

    query: str
    scope: Scope
    limit: int
    threshold: float = 0.0
    read_content: bool = False
    explain: bool = False


def find(view: View, request: FindRequest) -> FindResult:
    """The best records for a query, or the newest of the scope where the query is blank."""
    limit = min(request.limit, MAX_LIMIT)
    if not request.query.strip():
        return FindResult(_newest(view, request, limit))
    terms = analyse_query(request.query)
    degraded = () if terms else (Degradation("words", "the query has no word or number to search for"),)
    ranked = _rank(_candidates(view, terms, request.scope, limit), limit, request.threshold)
    tags = view.tags([candidate.node.id for candidate, _, _ in ranked])
    hits = tuple(
        _hit(view, candidate, score, terms, tags.get(candidate.node.id, ()), duplicate, request)
        for candidate, score, duplicate in ranked
    )
    return FindResult(hits, degraded)


def _candidates(view: View, terms: Sequence[str], scope: Scope, limit: int) -> list[Candidate]:
    """The best passage of each record, grown until ``limit`` distinct contents were found or nothing is left."""
    if not terms or scope.nothing:
        return []
    k = max(CANDIDATES, GROWTH * limit)
    while True:
        passages = view.search(terms, scope, k, limit)
        best: dict[int, Candidate] = {}
        for passage in passages:
            best.setdefault(passage.node.id, passage)
        distinct = len({candidate.node.hash or candidate.node.id for candidate in best.values()})
        if distinct >= limit or len(passages) < k:
            return list(best.values())
        k *= GROWTH


Ranked = tuple[Candidate, float, str | None]


def _rank(candidates: list[Candidate], limit: int, threshold: float) -> list[Ranked]:
    """Candidates with their final scores in order: distinct contents first, copies of them behind."""
    best_file = _best_below(candidates)
    scored = []
    for candidate in candidates:
        score = candidate.score
        if candidate.node.is_dir and (below := best_file.get(candidate.node.path)) is not None:
            score = min(score, DIRECTORY_SHARE * below)
        if score > threshold:
            scored.append((candidate, score))
    scored.sort(key=lambda pair: (-pair[1], pair[0].node.path))
    distinct: list[Ranked] = []
    copies: list[Ranked] = []
    first: dict[bytes, str] = {}
    for candidate, score in scored:
        digest = candidate.node.hash
        if digest is not None and digest in first:
            copies.append((candidate, score, first[digest]))
        else:
            distinct.append((candidate, score, None))
            if digest is not None:
                first[digest] = str(candidate.node.uri)
    return (distinct + copies)[:limit]


def _best_below(candidates: list[Candidate]) -> dict[str, float]:
    """By directory path, the best score of a file below it."""
    best: dict[str, float] = {}
    for candidate in candidates:
        if candidate.node.is_dir:
            continue
        path = candidate.node.path
        while path:
            path = path.rpartition("/")[0]
            if candidate.score > best.get(path, 0.0):
                best[path] = candidate.score
    return best


def _hit(
    view: View,
    candidate: Candidate,
    score: float,
    terms: Sequence[str],
    tags: tuple[str, ...],
    duplicate: str | None,
    request: FindRequest,
) -> Hit:
    node = candidate.node
    explain = _explain(candidate, score) if request.explain else None
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
            snippet(text, terms),
        )
    else:
        passage = view.slice(node, candidate.start, min(candidate.end, candidate.start + SNIPPET_BYTES))
        if node.name.lower().endswith(MARKUP):
            passage = without_tags(passage)
        hit = Hit(
            str(node.uri), context_type(node.path), 2, score, _abstract(view, node), tags,
            (candidate.first_line, candidate.last_line), snippet(passage, terms),
        )  # fmt: skip
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


def _explain(candidate: Candidate, score: float) -> tuple[tuple[str, float], ...]:
    shares = tuple(
        (f"words:{term}", share) for term, share in sorted(candidate.terms, key=lambda pair: (-pair[1], pair[0]))
    )
    behind = score - candidate.score
    return (*shares, ("directory_behind_files", behind)) if behind else shares
