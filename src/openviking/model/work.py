"""What an answer of find or search took, as its telemetry tells (contract/retrieval.md §3.14)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Work:
    """``searches`` of the index, which gave ``scored`` candidates out of ``scanned`` passages that the scope has.

    ``passed`` of them were above the threshold. ``query_tokens`` is the estimate of what the embedding model was given,
    ``rerank_tokens`` of what the rerank model was.
    Times are milliseconds; ``planned`` counts the queries that a plan made, 0 without one;
    ``llm_input`` and ``llm_output`` are the tokens that it took, as the chat model counted them.
    """

    searches: int = 0
    scored: int = 0
    passed: int = 0
    scanned: int = 0
    query_tokens: int = 0
    embed_ms: float = 0.0
    search_ms: float = 0.0
    intent_ms: float = 0.0
    planned: int = 0
    llm_input: int = 0
    llm_output: int = 0
    rerank_tokens: int = 0
    target_ms: float = 0.0

    def __add__(self, other: Work) -> Work:
        """What both took together."""
        return Work(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def to_dict(self, returned: int) -> dict[str, Any]:
        """The groups ``tokens``, ``vector`` and ``search``, without what is zero; ``returned`` is the number of hits."""
        llm_total = self.llm_input + self.llm_output
        llm = {"input": self.llm_input, "output": self.llm_output, "total": llm_total}
        embedding, rerank = {"total": self.query_tokens}, {"total": self.rerank_tokens}
        tokens: dict[str, Any] = {
            "total": self.query_tokens + llm_total + self.rerank_tokens,
            "llm": llm,
            "embedding": embedding,
            "rerank": rerank,
            "stages": {
                "embed_query": {"embedding": embedding},
                "intent_analysis": {"llm": llm},
                "rerank": {"rerank": rerank},
            },
        }
        vector = {
            "searches": self.searches,
            "scored": self.scored,
            "passed": self.passed,
            "returned": returned,
            "scanned": self.scanned,
            "scan_reason": ("words_and_vectors" if self.query_tokens else "words") if self.searches else "filter",
        }
        search = {
            "embed_query": {"duration_ms": self.embed_ms},
            "intent_analysis": {"duration_ms": self.intent_ms},
            "vector_retrieval": {"duration_ms": self.search_ms},
            "target_abstract": {"duration_ms": self.target_ms},
            "typed_queries_count": self.planned,
        }
        groups = {"tokens": tokens, "vector": vector, "search": search}
        return {name: kept for name, group in groups.items() if (kept := _without_zeros(group))}


def _without_zeros(group: dict[str, Any]) -> dict[str, Any]:
    kept = {name: _without_zeros(value) if isinstance(value, dict) else value for name, value in group.items()}
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in kept.items()}
    return {name: value for name, value in rounded.items() if value}
