"""A search that walks: from the directories nearest to the query into those below, in one view (contract/retrieval.md §8)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from openviking.index.decay import EVENTS_TAG
from openviking.model.hit import Hit
from openviking.model.trace import Trace
from openviking.retrieve.documents import documents
from openviking.retrieve.find import MAX_LIMIT, ROUNDING, FindRequest, Stage, first_stage
from openviking.retrieve.hierarchical.absence import Places, Way
from openviking.retrieve.hierarchical.choosing import chosen, heated
from openviking.retrieve.hierarchical.parameters import MOST_CHILDREN, Parameters
from openviking.retrieve.hierarchical.walk import FILE_LEVEL, Child, walk
from openviking.retrieve.ranking import Ranked
from openviking.retrieve.recall import Recall, faded
from openviking.store.port import Candidate, View

DIRECTORY_LEVELS: Final = (0, 1)

Judge = Callable[[Sequence[str], Sequence[float]], Sequence[float]]
"""New scores for records whose texts and own scores are given; it keeps those that it does not judge."""


@dataclass(frozen=True, slots=True)
class Found:
    """The ``stage`` of a walk, whose records have their own scores, what the walk made of these, and which ``way`` it took.

    There is no way where there was nothing to look for.
    """

    stage: Stage
    trace: Trace
    _made: Mapping[int, tuple[float, tuple[tuple[str, float], ...]]]
    way: Way | None = None

    def told(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """``hits`` of the stage's records with their scores of the walk, of which their explanations tell."""
        return tuple(self._told(hit, one.candidate.node.id) for hit, one in zip(hits, self.stage.best, strict=True))

    def _told(self, hit: Hit, node: int) -> Hit:
        score, parts = self._made[node]
        explain = None if hit.explain is None else (*hit.explain, *parts)
        return replace(hit, score=score, explain=explain)


@dataclass(slots=True)
class _Walking:
    """The records that one walk has seen."""

    view: View
    request: FindRequest
    recall: Recall
    children: int
    judge: Judge | None
    known: dict[tuple[str, int], Candidate] = field(default_factory=dict)
    judged: dict[tuple[str, int], float] = field(default_factory=dict)

    def look(self, directories: Sequence[str]) -> list[list[Child]]:
        """For each of ``directories`` the best records right in it; those that are new are judged together."""
        scope = replace(self.request.scope, levels=())
        found = [
            self._faded(self.recall.search(replace(scope, within=path), self.children)[: self.children])
            for path in directories
        ]
        self.take([one for some in found for one in some])
        return [[self.child(one) for one in some] for some in found]

    def paths(self, directory: str, most: int) -> list[str]:
        """The records right in a directory by their own scores, the best first."""
        found = self.recall.search(replace(self.request.scope, levels=(), within=directory), most)
        return list(dict.fromkeys(one.node.path for one in self._faded(found)))

    def take(self, candidates: Sequence[Candidate]) -> None:
        """Know ``candidates``, and have those judged that were not yet."""
        new: dict[tuple[str, int], Candidate] = {}
        for one in candidates:
            key = (one.node.path, one.level)
            if key not in self.judged:
                new[key] = one
                self.known[key] = one
                self.judged[key] = one.score
        if self.judge is not None and new:
            own = [one.score for one in new.values()]
            texts = documents(self.view, [Ranked(one, one.score) for one in new.values()])
            self.judged.update(zip(new, self.judge(texts, own), strict=True))

    def child(self, one: Candidate) -> Child:
        """A known record as the walk sees it."""
        return Child(one.node.path, self.judged[one.node.path, one.level], one.level)

    def _faded(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """``candidates`` as the global search has them: events fade there, and no way to them may bring them back."""
        decay = self.request.decay
        if decay is None:
            return list(candidates)
        tags = self.view.tags([one.node.id for one in candidates])
        return [faded(one, decay) if EVENTS_TAG in tags.get(one.node.id, ()) else one for one in candidates]


def walked(
    view: View,
    request: FindRequest,
    roots: Sequence[str],
    parameters: Parameters,
    *,
    now: int,
    judge: Judge | None = None,
) -> Found:
    """The best records for a query that a walk through directories finds, from the store paths ``roots`` on.

    A ``judge`` scores directories and files instead of words and vectors. ``now`` is in milliseconds.
    """
    began = time.perf_counter()
    limit = min(request.limit, MAX_LIMIT)
    files = not request.scope.levels or FILE_LEVEL in request.scope.levels
    # What is wanted is looked for everywhere too: a walk sees only what lies on its way.
    wanted = (FILE_LEVEL,) if files else request.scope.levels
    least = min(request.threshold, 0.0) if judge is not None else request.threshold
    flat = first_stage(
        view, replace(request, scope=replace(request.scope, levels=wanted), threshold=least, limit=limit)
    )
    if flat.recall is None or request.scope.nothing:
        return Found(flat, Trace(duration_seconds=time.perf_counter() - began), {})
    recall = Recall(view, flat.recall.query, flat.recall.phrases)
    walking = _Walking(view, request, recall, parameters.children(limit), judge)
    directories = _directories(
        flat.recall.search(replace(request.scope, levels=DIRECTORY_LEVELS), max(limit, parameters.global_search_topk)),
        max(limit, parameters.global_search_topk),
    )
    globally = [one.candidate for one in flat.best]
    walking.take([*directories, *globally])
    starts = {one.path: one.score for one in map(walking.child, directories)}
    for root in _real(view, roots):
        starts.setdefault(root, 0.0)
    done = walk(
        starts, [walking.child(one) for one in globally], walking.look, limit=limit, threshold=request.threshold,
        levels=request.scope.levels, parameters=parameters,
    )  # fmt: skip
    pool = [Ranked(walking.known[one.path, one.level], one.score) for one in done.collected.values()]
    best = chosen(
        pool, limit=limit, threshold=request.threshold, files=files, dominance=parameters.directory_dominance_ratio
    )
    counts = view.active_counts([one.candidate.node.id for one in best]) if parameters.hotness_alpha else {}
    ordered = heated(best, counts, now, parameters)
    trace = Trace(
        done.events, time.perf_counter() - began, done.directories, len(done.collected), done.excluded, done.rounds
    )
    chosen_scores = {one.candidate.node.id: one.score for one in best}
    made = {}
    for one in ordered:
        node = one.candidate.node
        known, said = done.collected[node.path], walking.judged[node.path, one.candidate.level]
        steps = (
            ("rerank", said - one.candidate.score),
            ("propagated", known.score - said),
            ("directory_behind_files", chosen_scores[node.id] - known.score),
            ("hotness", one.score - chosen_scores[node.id]),
        )
        made[node.id] = (one.score, tuple(step for step in steps if abs(step[1]) > ROUNDING))
    fingerprint = "" if request.model is None else request.model.fingerprint
    stage = replace(
        flat,
        best=tuple(Ranked(one.candidate, one.candidate.score, one.duplicate_of) for one in ordered),
        vectors=view.coverage(fingerprint, request.scope),
        searches=flat.recall.searches + recall.searches,
        scored=flat.recall.scored + recall.scored,
    )
    place = Places(pool, request.threshold, parameters.directory_dominance_ratio, files=files)
    way = Way(done, starts, walking.children, limit, place, lambda path: walking.paths(path, MOST_CHILDREN))
    return Found(stage, trace, made, way)


def _directories(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """The better level of each directory, the ``most`` best."""
    best: dict[str, Candidate] = {}
    for one in candidates:
        best.setdefault(one.node.path, one)
    return list(best.values())[:most]


def _real(view: View, roots: Sequence[str]) -> list[str]:
    """The directories to start from: a file's is the one that it is in."""
    found = []
    for root in roots:
        node = view.get(root)
        if node is not None:
            found.append(root if node.is_dir else root.rpartition("/")[0])
    return found
