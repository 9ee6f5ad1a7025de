"""Cohere's rerank format, version 2, which LiteLLM's proxy and others speak too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from openviking.providers.rerank.wire import Score, decoded, encoded, indexed, list_at

API_BASE: Final = "https://api.cohere.com"
MODEL: Final = "rerank-v3.5"


class Cohere:
    """``POST {api_base}/v2/rerank``; an address that ends in ``/rerank`` is taken as it is."""

    def __init__(self, api_base: str = API_BASE, model: str = MODEL) -> None:
        self.url = api_base if api_base.endswith("/rerank") else f"{api_base.removesuffix('/v2')}/v2/rerank"
        self.model = model

    def body(self, query: str, documents: Sequence[str]) -> bytes:
        """All documents are to be scored, and none sent back."""
        return encoded(
            {
                "model": self.model, "query": query, "documents": list(documents), "top_n": len(documents),
                "return_documents": False,
            }
        )  # fmt: skip

    def signed(self, body: bytes) -> Mapping[str, str]:
        """None: the key is in the headers of all calls."""
        del body
        return {}

    def scores(self, answer: bytes, count: int) -> list[Score]:
        """``results[].relevance_score``, by index."""
        return indexed(list_at(decoded(answer), "results"), count, "relevance_score")
