"""Why records are not among the hits of a search: asked of the same store and scored by the same code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from openviking.clock import iso
from openviking.index.unmet import spelled, unmet
from openviking.model.condition import Below, Condition, both
from openviking.model.hit import Hit
from openviking.model.missing import FOUND, Missing
from openviking.model.node import Node
from openviking.model.scope import Scope
from openviking.retrieve.across import record
from openviking.retrieve.find import FindRequest, Stage
from openviking.retrieve.hierarchical.absence import Way
from openviking.retrieve.ranking import DIRECTORY_SHARE, FILE_LEVEL, Ranked, ranked
from openviking.store.port import Candidate, View
from openviking.uri import context_type, from_path

MAX_ASKED: Final = 20
"""URIs that may be asked for in one search."""

DEEP: Final = 1_000
"""Ranks are told as far as here: so deep the search is carried out once more for those that were not found."""

SCORE_DECIMALS: Final = 6

DIRECTORY_LEVELS: Final = (0, 1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: its URI as the caller spelled it, and its store path; None where the caller may not see it."""

    uri: str
    path: str | None


@dataclass(slots=True)
class Account:
    """Why the first stage of one search did not give records; ``view`` and ``stage`` are those of the search.

    Whatever it says rests on the state that the hits come from. A record that the stage did give has no reason here.
    ``way`` is that of a walk through directories, if the records were found by one. The records that are asked for are
    looked for together: how many they are hardly matters.
    """

    view: View
    request: FindRequest
    stage: Stage
    newest: Sequence[Hit] = ()
    way: Way | None = None
    _owns: dict[int, Candidate] = field(default_factory=dict, init=False)
    _deep: list[Ranked] | None = field(default=None, init=False)
    _by_time: tuple[list[str], bool] | None = field(default=None, init=False)

    def reasons(self, asked: Sequence[Wanted]) -> dict[str, Missing]:
        """By URI as it was asked for, why it is not among the records of the stage; those that are have no entry."""
        given = {one.candidate.node.path for one in self.stage.best}
        found: dict[str, Missing] = {}
        candidates: dict[str, Node] = {}
        for one in asked:
            if one.path is not None and one.path in given:
                continue
            node = None if not one.path else self.view.get(one.path)
            reason = self._no_candidate(one.uri, node)
            if reason is not None:
                found[one.uri] = reason
            elif node is not None:
                candidates[one.uri] = node
        self._owns = self._scored([*candidates.values()])
        for uri, node in candidates.items():
            reason = self._not_newest(uri, node) if self.stage.recall is None else self._ranked(uri, node)
            if reason is not None:
                found[uri] = reason
        return found

    def _no_candidate(self, uri: str, node: Node | None) -> Missing | None:
        """Why the search is not for a record, None if it is."""
        if node is None:
            return Missing(uri, "not_found", "there is no such file or directory that you may see")
        return self._not_stored(uri, node) or self._left_out(uri, node)

    def _not_stored(self, uri: str, node: Node) -> Missing | None:
        """Why there is no record of ``node``."""
        if node.is_dir:
            sidecars = self.view.sidecars(node.path)
            if sidecars is None or sidecars.stale:
                return Missing(uri, "not_prepared", "the abstract and overview of this directory are still to be made")
            return None
        if node.name.startswith("."):
            return Missing(uri, "hidden_file", "files whose name starts with a dot are not searched")
        if not node.is_text:
            return Missing(uri, "no_text", "it has no text to search: a binary file")
        return None

    def _left_out(self, uri: str, node: Node) -> Missing | None:
        """The condition of the search that ``node`` does not meet."""
        scope = self.request.scope
        if not _inside(node.path, scope):
            return Missing(uri, "outside_target", "it is not in one of the directories that are searched")
        kind = context_type(node.path)
        if scope.context_types and kind not in scope.context_types:
            wanted = ", ".join(scope.context_types)
            return Missing(uri, "context_type", f"it is a {kind}, and the search is for {wanted}", {"value": kind})
        levels = DIRECTORY_LEVELS if node.is_dir else (FILE_LEVEL,)
        if scope.nothing or (scope.levels and not set(levels) & set(scope.levels)):
            what = "a directory, which has levels 0 and 1" if node.is_dir else "a file, which has level 2"
            return Missing(uri, "level", f"it is {what}, and the search is for others", {"value": list(levels)})
        carried = self.view.tags([node.id]).get(node.id, ())
        for tag in scope.tags:
            if tag not in carried:
                return Missing(uri, "tag", f"it does not carry the tag {tag}", {"value": tag})
        time = node.created_at if scope.time_field == "created_at" else node.updated_at
        told: dict[str, Any] = {"value": iso(time)}
        if scope.since is not None and time < scope.since:
            return Missing(uri, "since", f"its {scope.time_field} is {iso(time)}, before what the search allows", told)
        if scope.until is not None and time > scope.until:
            return Missing(uri, "until", f"its {scope.time_field} is {iso(time)}, after what the search allows", told)
        if scope.condition is not None and not self._meets(node, scope.condition):
            part = spelled(unmet(scope.condition, lambda part: self._meets(node, part)))
            return Missing(uri, "filter", "it does not meet this part of the filter", {"filter": part})
        return None

    def _meets(self, node: Node, condition: Condition) -> bool:
        """Whether the record meets a part of the filter, in one of the levels that the search is for."""
        levels: tuple[int, ...] = DIRECTORY_LEVELS if node.is_dir else (FILE_LEVEL,)
        levels = tuple(level for level in levels if level in (self.request.scope.levels or levels))
        itself = Scope((node.path,), levels=levels, condition=both(Below((node.path,), 0), condition))
        return bool(self.view.records(itself, 1))

    def _not_newest(self, uri: str, node: Node) -> Missing | None:
        """Why a record is not among those of a search without words, which gives the newest."""
        if any(hit.uri == str(node.uri) for hit in self.newest):
            return None
        if self._by_time is None:
            rows = self.view.records(self.request.scope, 3 * DEEP)
            self._by_time = list(dict.fromkeys(one.path for one, _ in rows)), len(rows) < 3 * DEEP
        places, complete = self._by_time
        rank = places.index(node.path) + 1 if node.path in places else None
        whole = len(places) if complete else None
        return _below_cut(uri, {}, rank, whole, self.request.limit, "ordered by time, the newest first")

    def _ranked(self, uri: str, node: Node) -> Missing | None:
        """Why a record that the search is for is not among the best."""
        own = self._owns.get(node.id)
        if own is None or (own.score <= 0 and own.origin_score is None):
            return self._unmatched(uri, node)
        told: dict[str, Any] = {}
        if own.cosine is None and not own.settled and self._waits(node):
            told["vector"] = "pending"
        if self.way is not None:
            return self.way.why(uri, node, {"score": round(own.score, SCORE_DECIMALS), **told})
        score = self._held(node, own.score)
        told["score"] = round(score, SCORE_DECIMALS)
        threshold = self.request.threshold
        lowest = max((min(one.score for one in self.stage.best), threshold)) if self._full else threshold
        before = own.score if own.origin_score is None else own.origin_score
        if score <= threshold and before <= threshold:
            told["threshold"] = threshold
            return Missing(uri, "below_threshold", f"its score {score:.4f} is not above {threshold:g}", told)
        place, same = self._place(node)
        told |= place
        if same is not None and score > lowest:
            told["duplicate_of"] = str(same.node.uri)
            message = f"its bytes are those of {same.node.uri}, and copies come after all other hits"
            return Missing(uri, "duplicate", message, told)
        if score <= lowest < before or score <= threshold:
            return self._lowered(uri, own, score, told)
        rank = told.get("rank")
        if (rank is None and self._reaches(score)) or (rank is not None and rank <= self.request.limit):
            told.pop("rank", None)
            message = "it has only words of the query that are too common to look at all that have them"
            return Missing(uri, "not_selected", message, told)
        return _below_cut(uri, told, rank, told.get("of"), self.request.limit, f"with a score of {score:.4f}")

    def _lowered(self, uri: str, own: Candidate, score: float, told: dict[str, Any]) -> Missing:
        """That a rule took so much of a score that others are before it."""
        if own.origin_score is not None and own.time_score is not None:
            told |= {"origin_score": round(own.origin_score, SCORE_DECIMALS), "time_score": own.time_score}
            message = f"it is an event, and time left {score:.4f} of its score {own.origin_score:.4f}"
            return Missing(uri, "faded", message, told)
        told["own_score"] = round(own.score, SCORE_DECIMALS)
        message = f"a directory scores at most {DIRECTORY_SHARE:g} times its best file: {score:.4f} instead of {own.score:.4f}"
        return Missing(uri, "behind_files", message, told)

    def _unmatched(self, uri: str, node: Node) -> Missing:
        if node.is_picture and not self.view.text(node):
            message = "it is a picture that no model has described, and the query has no word of its name"
            return Missing(uri, "not_described", message)
        passages = [] if node.is_dir else self.view.passages(node)
        blank = len(passages) < 2 and not any(self.view.slice(node, one.start, one.end).strip() for one in passages)
        if blank and not node.is_dir:
            return Missing(uri, "empty", "its text is empty, and the query has no word of its name")
        if self._waits(node):
            message = "it shares no word with the query, and a vector of it is still to be made"
            return Missing(uri, "vector_pending", message, {"vector": "pending"})
        meaning = "" if self.request.vector is None else ", and its vector is too far from that of the query to count"
        return Missing(uri, "no_match", f"it shares no word with the query{meaning}")

    def _waits(self, node: Node) -> bool:
        """Whether a vector of the record is still to be made."""
        model = self.request.model
        if model is None or self.request.dense_weight == 0:
            return False
        levels = DIRECTORY_LEVELS if node.is_dir else (FILE_LEVEL,)
        itself = Scope((node.path,), levels=levels, condition=Below((node.path,), 0))
        vectors = self.view.coverage(model.fingerprint, itself)
        return vectors.have + vectors.refused < vectors.of

    def _scored(self, nodes: Sequence[Node]) -> dict[int, Candidate]:
        """By node the better level of each record that answers, with its exact score, as the search would score it."""
        recall = self.stage.recall
        if recall is None or not nodes:
            return {}
        paths, scope = tuple(node.path for node in nodes), self.request.scope
        themselves = replace(scope, roots=paths, condition=both(Below(paths, 0), scope.condition))
        best: dict[int, Candidate] = {}
        for one in recall.search(themselves, len(nodes)):
            best.setdefault(one.node.id, one)
        return best

    def _held(self, node: Node, score: float) -> float:
        """``score`` of the record, a directory's held behind its best file."""
        scope, recall = self.request.scope, self.stage.recall
        if not node.is_dir or recall is None or (scope.levels and FILE_LEVEL not in scope.levels):
            return score
        files = recall.search(replace(scope, roots=(node.path,), levels=(FILE_LEVEL,)), 1)
        return min(score, DIRECTORY_SHARE * files[0].score) if files else score

    @property
    def _full(self) -> bool:
        """Whether there are as many records as were wanted."""
        return len(self.stage.best) >= self.request.limit

    def _deeper(self) -> list[Ranked]:
        """The best records of the search as far as ranks are told."""
        if self._deep is None:
            recall = self.stage.recall
            best = [] if recall is None else ranked(recall, self.request.scope, DEEP, self.request.threshold)
            self._deep = best
        return self._deep

    def _place(self, node: Node) -> tuple[dict[str, Any], Candidate | None]:
        """The rank of the record, of how many, and whose copy it is."""
        deep = self._deeper()
        told: dict[str, Any] = {} if len(deep) >= DEEP else {"of": len(deep)}
        for rank, one in enumerate(deep, 1):
            if one.candidate.node.id == node.id:
                return {"rank": rank, **told}, one.duplicate_of
        return told, None

    def _reaches(self, score: float) -> bool:
        """Whether a record with this score would be among those that ranks are told of."""
        deep = self._deeper()
        return len(deep) < DEEP or score > min(one.score for one in deep)


def concluded(
    asked: Sequence[Wanted],
    reasons: Mapping[str, Missing],
    ordered: Sequence[Hit],
    kept: Sequence[Hit],
    threshold: float,
) -> tuple[Missing, ...]:
    """The answer for each URI that was asked for: ``reasons`` of the first stage, and for the others what came after it.

    ``ordered`` are all hits of the first stage in their final order with their final scores; ``kept`` of them is the
    answer, what is left out was cut off or is not above ``threshold``.
    """
    ranks = {_path(hit): (rank, hit) for rank, hit in enumerate(ordered, 1)}
    shown = {_path(hit): rank for rank, hit in enumerate(kept, 1)}
    told = []
    for one in asked:
        uri = _spelled(one)
        if one.uri in reasons:
            told.append(reasons[one.uri])
        elif uri in shown:
            told.append(Missing(one.uri, FOUND, "it is among the hits", {"rank": shown[uri]}))
        elif uri in ranks:
            told.append(_reread(one.uri, *ranks[uri], len(kept), len(ordered), threshold))
        else:
            told.append(Missing(one.uri, "not_selected", "the search did not look at it"))
    return tuple(told)


def _reread(uri: str, rank: int, hit: Hit, kept: int, of: int, threshold: float) -> Missing:
    told: dict[str, Any] = {"score": round(hit.score, SCORE_DECIMALS), "rank": rank, "of": of, "cut": kept}
    if hit.score <= threshold:
        told["threshold"] = threshold
        message = f"the rerank model gave it {hit.score:.4f}, which is not above {threshold:g}"
        return Missing(uri, "below_threshold", message, told)
    if hit.duplicate_of is not None:
        told["duplicate_of"] = hit.duplicate_of
        return Missing(uri, "duplicate", f"its bytes are those of {hit.duplicate_of}", told)
    message = f"the rerank model put it at rank {rank} of {of} with a score of {hit.score:.4f}, cut at {kept}"
    return Missing(uri, "reranked", message, told)


def across(
    asked: Sequence[Wanted], each: Sequence[tuple[str, Sequence[Missing]]], kept: Sequence[Hit]
) -> tuple[Missing, ...]:
    """What several queries tell of the same URIs, made one answer for each: of the query in which it fared best.

    ``each`` is the text of a query and its answers, in the order of ``asked``; ``kept`` are the hits of all together.
    """
    shown = {_path(hit): rank for rank, hit in reversed([*enumerate(kept, 1)])}
    told = []
    for number, one in enumerate(asked):
        answers = [(query, answers[number]) for query, answers in each]
        query, best = max(answers, key=lambda pair: (pair[1].reason == FOUND, pair[1].details.get("score", -1.0)))
        if best.reason == FOUND and (rank := shown.get(_spelled(one))) is None:
            message = f"a query found it at rank {best.details['rank']}, but the hits of all are cut at {len(kept)}"
            best = Missing(one.uri, "below_cut", message, {"cut": len(kept)})
        elif best.reason == FOUND:
            best = replace(best, details={"rank": rank})
        told.append(replace(best, details={**best.details, "query": query}))
    return tuple(told)


def _below_cut(uri: str, told: Mapping[str, Any], rank: int | None, of: int | None, limit: int, how: str) -> Missing:
    place = f"rank {rank}" if rank is not None else f"a rank beyond {DEEP}"
    whole = f" of {of}" if of is not None else ""
    details = {**told, "cut": limit}
    if rank is not None:
        details["rank"] = rank
    if of is not None:
        details["of"] = of
    return Missing(uri, "below_cut", f"it has {place}{whole} {how}, cut at {limit}", details)


def _inside(path: str, scope: Scope) -> bool:
    def below(root: str) -> bool:
        return not root or path == root or path.startswith(f"{root}/")

    if any(below(root) for root in scope.excluded):
        return False
    return scope.roots is None or any(below(root) for root in scope.roots)


def _path(hit: Hit) -> str:
    return record(hit).removesuffix("/")


def _spelled(one: Wanted) -> str:
    return "" if one.path is None else str(from_path(one.path))
