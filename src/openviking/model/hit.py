"""What a search returns: hits grouped by context type, in rank order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from openviking.model.embedding import Coverage

NO_PASSAGES: Final = Coverage(0, 0)


@dataclass(frozen=True, slots=True)
class Hit:
    """One record that answers a query (contract/retrieval.md §3.9).

    ``lines`` are the first and last line of its best passage, 1-based, None for directories. ``snippet`` has at most
    300 characters. ``explain`` lists contributions that add up to ``score``, None unless asked for. ``duplicate_of``
    names the better hit whose bytes are the same. ``content`` is there only if it was asked for and could be read.
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

    @property
    def category(self) -> str:
        """Always ""; documented clients expect it."""
        return ""

    @property
    def overview(self) -> None:
        """Always None; documented clients expect it."""
        return

    @property
    def relations(self) -> list[Any]:
        """Always empty; documented clients expect it."""
        return []

    @property
    def is_leaf(self) -> bool:
        """Whether it is a file."""
        return self.level == 2

    @property
    def citation(self) -> str:
        """The URI with the lines of the best passage, such as ``viking://resources/a.md#L3-L9``; `read` accepts it."""
        return f"{self.uri}#L{self.lines[0]}-L{self.lines[1]}" if self.lines else self.uri

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
class FindResult:
    """The hits of a find; iterating gives all of them in rank order.

    ``memories``, ``resources`` and ``skills`` are the same hits by context type, each in rank order. ``degraded``
    says what the answer had to do without; it is empty when nothing was missing. ``vectors`` says how many of the
    passages that were looked at have a vector; the others are found by their words alone. ``model_in_use`` says that
    there is a model, so that vectors are to come.
    """

    hits: tuple[Hit, ...]
    degraded: tuple[Degradation, ...] = ()
    vectors: Coverage = NO_PASSAGES
    model_in_use: bool = False

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
        return {
            "memories": [hit.to_dict() for hit in self.memories],
            "resources": [hit.to_dict() for hit in self.resources],
            "skills": [hit.to_dict() for hit in self.skills],
            "total": self.total,
            "retrieval": {
                "vectors": {"have": self.vectors.have, "of": self.vectors.of},
                "degraded": [{"stage": one.stage, "reason": one.reason} for one in self.degraded],
            },
        }
