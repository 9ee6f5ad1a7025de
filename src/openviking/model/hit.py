"""What a search returns: hits grouped by context type, in rank order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from openviking.model.embedding import Coverage
from openviking.model.evidence import Evidence
from openviking.model.missing import Missing
from openviking.model.query_plan import Plan
from openviking.model.trace import NO_TRACE, Trace
from openviking.model.work import Work
from openviking.uri import SCHEME

_ARCHIVED: Final = re.compile(re.escape(SCHEME) + r"user/[^/]+/sessions/[^/]+/history/archive_\d+/")

NO_PASSAGES: Final = Coverage(0, 0)
NO_WORK: Final = Work()


@dataclass(frozen=True, slots=True)
class Hit:
    """One record that answers a query (contract/retrieval.md §3.9).

    ``lines`` are the first and last line of its best passage, 1-based, None for directories. ``snippet`` has at most
    300 characters. ``explain`` lists contributions that add up to ``score``, None unless asked for. ``duplicate_of``
    names the better hit whose bytes are the same. ``content`` is there only if it was asked for and could be read.
    ``origin_score`` and ``time_score`` are there only if its score fades with time: what it was, and the factor.
    ``related`` are its ``relations``. ``evidence`` is what words and vector say of it, None where neither was asked.
    """

    uri: str
    context_type: str
    level: int
    score: float
    abstract: str
    tags: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None
    snippet: str = ""
    match_reason: str = ""
    content: str | None = None
    explain: tuple[tuple[str, float], ...] | None = None
    duplicate_of: str | None = None
    origin_score: float | None = None
    time_score: float | None = None
    related: tuple[dict[str, str], ...] = ()
    evidence: Evidence | None = field(default=None, compare=False, repr=False)

    @property
    def category(self) -> str:
        """``events`` of an archived conversation, else ""; documented clients expect it."""
        return "events" if _ARCHIVED.match(self.uri) else ""

    @property
    def overview(self) -> None:
        """Always None; documented clients expect it."""
        return

    @property
    def relations(self) -> list[dict[str, str]]:
        """What a directory is linked to, ``uri``, ``abstract`` and ``reason`` each; of a file nothing."""
        return list(self.related)

    @property
    def is_leaf(self) -> bool:
        """Whether it is a file."""
        return self.level == 2

    @property
    def citation(self) -> str:
        """The URI with the lines of the best passage, such as ``viking://resources/a.md#L3-L9``; `read` accepts it."""
        return f"{self.uri}#L{self.lines[0]}-L{self.lines[1]}" if self.lines else self.uri

    @property
    def faded(self) -> dict[str, float]:
        """``origin_score`` and ``time_score`` as they go over the wire: empty where they are not there."""
        if self.origin_score is None or self.time_score is None:
            return {}
        return {"origin_score": self.origin_score, "time_score": self.time_score}

    def to_dict(self) -> dict[str, Any]:
        """The hit as it goes over the wire."""
        out: dict[str, Any] = {
            "context_type": self.context_type,
            "uri": self.uri,
            "level": self.level,
            "score": self.score,
            "category": self.category,
            "match_reason": self.match_reason,
            "relations": self.relations,
            "abstract": self.abstract,
            "overview": self.overview,
            "tags": list(self.tags),
            "lines": list(self.lines) if self.lines else None,
            "snippet": self.snippet,
            **self.faded,
        }
        if self.content is not None:
            out["content"] = self.content
        if self.explain is not None:
            out["explain"] = [{"name": name, "value": value} for name, value in self.explain]
        if self.duplicate_of is not None:
            out["duplicate_of"] = self.duplicate_of
        return out


@dataclass(frozen=True, slots=True)
class Degradation:
    """Something that the answer is without: which stage, and why."""

    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """One query that was carried out: its text, the directories it looked at, and its hits in rank order."""

    query: str
    searched_directories: tuple[str, ...]
    hits: tuple[Hit, ...]
    trace: Trace = NO_TRACE

    def to_dict(self) -> dict[str, Any]:
        """The element of ``provenance`` as it goes over the wire."""
        return {
            "query": self.query,
            "searched_directories": list(self.searched_directories),
            "matched_contexts": [_matched(hit) for hit in self.hits],
            "thinking_trace": self.trace.to_dict(),
        }


def _matched(hit: Hit) -> dict[str, Any]:
    matched: dict[str, Any] = {
        "uri": hit.uri,
        "tier": f"L{hit.level}",
        "context_type": hit.context_type,
        "score": hit.score,
        "match_reason": hit.match_reason,
    }
    return matched | hit.faded


@dataclass(frozen=True, slots=True)
class FindResult:
    """The hits of a find; iterating gives all of them in rank order.

    ``memories``, ``resources`` and ``skills`` are the same hits by context type, each in rank order. ``degraded``
    says what the answer had to do without; it is empty when nothing was missing. ``vectors`` says how many of the
    passages that were looked at have a vector; the others are found by their words alone. ``model_in_use`` says that
    there is a model, so that vectors are to come. ``provenance`` is None unless it was asked for, ``work`` what the
    answer took. ``query_plan`` says which queries were asked instead of the caller's, None if that one was.
    ``missing`` says of the URIs of ``explain_missing`` why they are not among the hits, None if none was given.
    """

    hits: tuple[Hit, ...]
    degraded: tuple[Degradation, ...] = ()
    vectors: Coverage = NO_PASSAGES
    model_in_use: bool = False
    provenance: tuple[Provenance, ...] | None = None
    work: Work = NO_WORK
    query_plan: Plan | None = None
    missing: tuple[Missing, ...] | None = None

    @property
    def memories(self) -> list[Hit]:
        """The hits that are memories."""
        return self._of("memory")

    @property
    def resources(self) -> list[Hit]:
        """The hits that are resources."""
        return self._of("resource")

    @property
    def skills(self) -> list[Hit]:
        """The hits that are skills."""
        return self._of("skill")

    @property
    def total(self) -> int:
        """The number of hits."""
        return len(self.hits)

    def _of(self, context_type: str) -> list[Hit]:
        return [hit for hit in self.hits if hit.context_type == context_type]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def to_dict(self) -> dict[str, Any]:
        """The result as it goes over the wire."""
        out: dict[str, Any] = {
            "memories": [hit.to_dict() for hit in self.memories],
            "resources": [hit.to_dict() for hit in self.resources],
            "skills": [hit.to_dict() for hit in self.skills],
            "total": self.total,
            "retrieval": {
                "vectors": {"have": self.vectors.have, "of": self.vectors.of},
                "degraded": [{"stage": one.stage, "reason": one.reason} for one in self.degraded],
            },
        }
        if self.query_plan is not None:
            out["query_plan"] = self.query_plan.to_dict()
        if self.provenance is not None:
            out["provenance"] = [one.to_dict() for one in self.provenance]
        if self.missing is not None:
            out["missing"] = [one.to_dict() for one in self.missing]
        return out
