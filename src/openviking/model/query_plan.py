"""The queries that a search was split into (contract/retrieval.md §4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """One query of a plan; ``context_type`` None means whatever the caller asked for, ``priority`` 1 is the highest."""

    query: str
    context_type: str | None = None
    intent: str = ""
    priority: int = 3

    def to_dict(self) -> dict[str, Any]:
        """The query as it goes over the wire."""
        return {
            "query": self.query, "context_type": self.context_type, "intent": self.intent, "priority": self.priority,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """The queries of a search, none where nothing has to be looked up, and why."""

    reasoning: str = ""
    queries: tuple[PlannedQuery, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """``query_plan`` as it goes over the wire."""
        return {"reasoning": self.reasoning, "queries": [one.to_dict() for one in self.queries]}
