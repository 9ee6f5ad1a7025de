"""DashScope's native rerank format, recognised by its address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from openviking.providers.rerank.compatible import MODEL
from openviking.providers.rerank.wire import Score, decoded, encoded, indexed, list_at

ROUTE: Final = "/api/v1/services/rerank"
"""What an address has that speaks this format."""

API_BASE: Final = f"https://dashscope.aliyuncs.com{ROUTE}/text-rerank/text-rerank"


class DashScope:
    """``POST {api_base}`` with the query and the documents in ``input``."""

    def __init__(self, api_base: str = API_BASE, model: str = MODEL) -> None:
        self.url = api_base
        self.model = model

    def body(self, query: str, documents: Sequence[str]) -> bytes:
        """The documents are not sent back."""
        return encoded(
            {
                "model": self.model, "input": {"query": query, "documents": list(documents)},
                "parameters": {"return_documents": False},
            }
        )  # fmt: skip

    def signed(self, body: bytes) -> Mapping[str, str]:
        """None: the key is in the headers of all calls."""
        del body
        return {}

    def scores(self, answer: bytes, count: int) -> list[Score]:
        """``output.results[].relevance_score``, by index."""
        results = list_at(decoded(answer), "output", "results")
        return indexed(results, count, "relevance_score", "relevance_scores")
