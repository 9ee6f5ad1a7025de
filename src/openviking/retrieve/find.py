"""find: from a query to ranked, explained hits (contract/retrieval.md §3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from openviking.errors import UnavailableError
from openviking.index.analyse import MAX_QUERY_TERMS, TermFinder, analyse_query
from openviking.index.decay import Decay
from openviking.index.fusion import Fusion, fusion
from openviking.index.hidden_fields import visible
from openviking.index.question import question
from openviking.index.signals import phrases
from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.model.evidence import Evidence
from openviking.model.hit import Degradation, FindResult, Hit
from openviking.model.node import Node
from openviking.model.scope import Scope
from openviking.model.work import Work
from openviking.retrieve.ranking import Ranked, ranked
from openviking.retrieve.recall import Recall
from openviking.retrieve.snippet import readable, snippet
from openviking.store.port import Candidate, Query, QueryVector, View
from openviking.uri import ABSTRACT_NAME, OVERVIEW_NAME, context_type

MAX_LIMIT: Final = 10_000

ROUNDING: Final = 1e-9
"""Differences up to this are those of sums, not contributions."""

NO_MODEL: Final = ""
"""The fingerprint of no model at all: no passage has a vector of it."""

SNIPPET_BYTES: Final = 64 * 1024
"""How much of a passage a snippet is taken from; only markup can hold more, in its tags."""

MEMORY_ABSTRACT_BYTES: Final = 50_000

MEMORY: Final = "memory"
FILE_LEVEL: Final = 2


@dataclass(frozen=True, slots=True)
class FindRequest:
    """A validated find: ``query`` may be blank if the scope narrows by itself; ``threshold`` is exclusive.

    ``model`` is the record of the embedding model in use, None if there is none; ``vector`` what it makes of the query,
    None where it was not asked or did not answer: then words answer alone, and ``degraded`` should say why.
    ``dense_weight`` is the vectors' share of the score, None for the shares by context type. With ``decay`` the scores
    of events fade. With ``by_picture`` the vector is one of pictures, perhaps with the query, and no word counts.
    ``snippets`` False leaves them out: they take as long as all else that is told.
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
    decay: Decay | None = None
    by_picture: bool = False
    snippets: bool = True


@dataclass(frozen=True, slots=True)
class Stage:
    """What the first stage found: the best records, and what it takes to tell of them; ``recall`` looks once more.

    Who ranks the records anew gives `answer` another ``best``, which `openviking.retrieve.ranking.cut` puts in order.
    """

    best: tuple[Ranked, ...]
    vectors: Coverage
    terms: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    fused: Fusion | None = None
    searches: int = 0
    scored: int = 0
    recall: Recall | None = None


def find(view: View, request: FindRequest) -> FindResult:
    """The best records for a query, or the newest of the scope where the query is blank."""
    return answer(view, request, first_stage(view, request))


def first_stage(view: View, request: FindRequest) -> Stage:
    """The best ``limit`` records for a query that score above its threshold; none where it is blank."""
    vectors = view.coverage(NO_MODEL if request.model is None else request.model.fingerprint, request.scope)
    if not request.query.strip() and not request.by_picture:
        return Stage((), vectors)
    said = "" if request.by_picture else request.query
    asked = analyse_query(said)
    terms = asked[:MAX_QUERY_TERMS]
    model = None if request.vector is None else request.model
    asks = question(said)
    fused = fusion(asks, has_terms=bool(terms), model=model, dense_weight=request.dense_weight)
    recall = Recall(view, Query(terms, request.vector, fused.score), phrases(asks.phrases), request.decay)
    best = ranked(recall, request.scope, min(request.limit, MAX_LIMIT), request.threshold)
    degraded = () if request.by_picture else _degraded(asked)
    return Stage(tuple(best), vectors, tuple(terms), degraded, fused, recall.searches, recall.scored, recall)


def answer(view: View, request: FindRequest, stage: Stage) -> FindResult:
    """What there is to tell of the records of a stage, in their order."""
    if stage.fused is None:
        hits = _newest(view, request, min(request.limit, MAX_LIMIT))
        work = Work(scanned=stage.vectors.of, passed=len(hits))
    else:
        tags = view.tags([one.candidate.node.id for one in stage.best])
        teller = _Teller(view, request, TermFinder(stage.terms), stage.fused)
        hits = tuple(teller.hit(one, tags.get(one.candidate.node.id, ())) for one in stage.best)
        work = Work(stage.searches, stage.scored, passed=len(stage.best), scanned=stage.vectors.of)
    return FindResult(hits, (*request.degraded, *stage.degraded), stage.vectors, work=work)


def _degraded(asked: Sequence[str]) -> tuple[Degradation, ...]:
    if not asked:
        return (Degradation("words", "the query has no word or number to search for"),)
    others = set(asked[MAX_QUERY_TERMS:]).difference(asked[:MAX_QUERY_TERMS])
    if not others:
        return ()
    return (Degradation("query", f"{MAX_QUERY_TERMS} of its terms are searched for, {len(others)} others are not"),)


@dataclass(frozen=True, slots=True)
class _Teller:
    """Makes hits of records of one view."""

    view: View
    request: FindRequest
    finder: TermFinder
    fused: Fusion

    def hit(self, one: Ranked, tags: tuple[str, ...]) -> Hit:
        candidate = one.candidate
        node = candidate.node
        if node.is_dir:
            sidecars = self.view.sidecars(node.path)
            abstract = "" if sidecars is None else sidecars.abstract if candidate.level == 0 else sidecars.overview
            uri = str(node.uri.child(ABSTRACT_NAME if candidate.level == 0 else OVERVIEW_NAME))
            level, lines, text = candidate.level, None, abstract
        else:
            uri, level = str(node.uri), FILE_LEVEL
            shown = _visible(self.view, node)
            abstract = node.abstract if shown is None else _first(shown)
            lines, text = self._passage(candidate, shown)
        return Hit(
            uri, context_type(node.path), level, one.score, abstract, tags, lines,
            snippet(text, self.finder) if self.request.snippets else "",
            content=_content(self.view, node, abstract, self.request),
            explain=_explain(one, self.fused) if self.request.explain else None,
            duplicate_of=None if one.duplicate_of is None else str(one.duplicate_of.node.uri),
            origin_score=candidate.origin_score, time_score=candidate.time_score, evidence=self._evidence(candidate),
        )  # fmt: skip

    def _evidence(self, candidate: Candidate) -> Evidence | None:
        if self.request.by_picture:
            return None
        if candidate.cosine is None or self.fused.model is None:
            return Evidence(candidate.words, candidate.covered)
        weight = self.fused.weight(context_type(candidate.node.path))
        return Evidence(candidate.words, candidate.covered, self.fused.similarity(candidate.cosine), weight)

    def _passage(self, candidate: Candidate, shown: str | None) -> tuple[tuple[int, int] | None, str]:
        """The first and last line of a passage and its text, of a memory as far as a reader sees it (``shown``)."""
        node, lines = candidate.node, (candidate.first_line, candidate.last_line)
        end = candidate.end if shown is None else min(candidate.end, len(shown.encode()))
        if end < candidate.end and shown is not None:
            last = max(shown.count("\n"), 1)
            lines = (min(candidate.first_line, last), min(candidate.last_line, last))
        if end <= candidate.start or not self.request.snippets:
            return lines, ""
        passage = self.view.slice(node, candidate.start, min(end, candidate.start + SNIPPET_BYTES))
        return lines, readable(passage, node.kind)


def _newest(view: View, request: FindRequest, limit: int) -> tuple[Hit, ...]:
    rows = view.records(request.scope, 3 * limit)
    once = {node.id: (node, level) for node, level in reversed(rows)}
    found = [(node, level) for node, level in rows if once[node.id] == (node, level)][:limit]
    tags = view.tags([node.id for node, _ in found])
    hits = []
    for node, level in found:
        sidecars = view.sidecars(node.path) if node.is_dir else None
        if sidecars is None:
            shown = _visible(view, node)
            abstract = node.abstract if shown is None else _first(shown)
        else:
            abstract = sidecars.overview if level == 1 else sidecars.abstract
        hit = Hit(
            str(node.uri), context_type(node.path), level, 0.0, abstract, tags.get(node.id, ()), match_reason="filter"
        )
        explain = () if request.explain else None
        hits.append(replace(hit, content=_content(view, node, abstract, request), explain=explain))
    return tuple(hits)


def _visible(view: View, node: Node) -> str | None:
    """The text of a memory that a reader sees; None of any other file."""
    return visible(view.text(node) or "") if context_type(node.path) == MEMORY else None


def _first(text: str) -> str:
    return text.encode()[:MEMORY_ABSTRACT_BYTES].decode("utf-8", "ignore")


def _content(view: View, node: Node, abstract: str, request: FindRequest) -> str | None:
    """All of the text that a reader sees; None where it is not wanted, or can't be read."""
    if not request.read_content:
        return None
    if node.is_dir:
        return abstract
    try:
        shown = _visible(view, node)
        return view.text(node) if shown is None else shown
    except UnavailableError:
        # One file that is damaged is no reason to be without the others.
        return None


def _explain(one: Ranked, fused: Fusion) -> tuple[tuple[str, float], ...]:
    """What the score is made of; the values add up to it."""
    candidate = one.candidate
    kind = context_type(candidate.node.path)
    parts = fused.parts(kind, candidate.terms, candidate.cosine, settled=candidate.settled)
    before = candidate.score if candidate.origin_score is None else candidate.origin_score
    phrase = before - fused.score(kind, candidate.words, candidate.cosine)
    if abs(phrase) > ROUNDING:
        parts.append(("phrase", phrase))
    if candidate.origin_score is not None:
        parts.append(("time", candidate.score - before))
    behind = one.score - candidate.score
    if behind:
        parts.append(("directory_behind_files", behind))
    return tuple(parts)
