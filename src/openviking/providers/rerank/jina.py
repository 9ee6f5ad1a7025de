"""Jina's rerank format: Cohere's, at an address of its own."""

from __future__ import annotations

from typing import Final

from openviking.providers.rerank.cohere import Cohere

API_BASE: Final = "https://api.jina.ai/v1"
MODEL: Final = "jina-reranker-v2-base-multilingual"


class Jina(Cohere):
    """``POST {api_base}/rerank``, as llama.cpp, vLLM, Infinity and Text Embeddings Inference's gateways take it too."""

    def __init__(self, api_base: str = API_BASE, model: str = MODEL) -> None:
        super().__init__(api_base if api_base.endswith("/rerank") else f"{api_base}/rerank", model)
