"""The rerank format of OpenAI-compatible services, posted to the configured address as it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from openviking.providers.rerank.wire import Score, decoded, encoded, indexed, list_at

MODEL: Final = "qwen3-rerank"


class Compatible:
    """``POST {api_base}``: no path is appended."""

    def __init__(self, api_base: str, model: str = MODEL) -> None:
        self.url = api_base
        self.model = model

    def body(self, query: str, documents: Sequence[str]) -> bytes:
        """Model, query and documents, nothing else."""
        return encoded({"model": self.model, "query": query, "documents": list(documents)})

    def signed(self, body: bytes) -> Mapping[str, str]:
        """None: the key is in the headers of all calls."""
        del body
        return {}

    def scores(self, answer: bytes, count: int) -> list[Score]:
        """``results[].relevance_score`` (or ``relevance_scores``), by index."""
        return indexed(list_at(decoded(answer), "results"), count, "relevance_score", "relevance_scores")
