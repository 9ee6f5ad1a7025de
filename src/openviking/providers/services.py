"""What is known of model services and families of models, so that little has to be configured."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Service:
    """A service that speaks the OpenAI embeddings protocol.

    ``api_base`` is where it is asked unless configured, empty if that has to be said. ``dimension_parameter`` asks for
    a dimension, ``task_parameter`` for vectors of questions or of documents. ``max_batch`` is how many texts a request
    may have, 0 if no limit is known.
    """

    name: str
    api_base: str = ""
    needs_key: bool = False
    dimension_parameter: str = "dimensions"
    task_parameter: str = "input_type"
    max_batch: int = 0


SERVICES: Final = {
    service.name: service
    for service in (
        Service("openai", "https://api.openai.com/v1", needs_key=True, max_batch=2048),
        Service("ollama", "http://localhost:11434/v1"),
        Service("volcengine", "https://ark.cn-beijing.volces.com/api/v3", needs_key=True),
        Service("jina", "https://api.jina.ai/v1", needs_key=True, task_parameter="task"),
        Service("voyage", "https://api.voyageai.com/v1", needs_key=True, dimension_parameter="output_dimension"),
        Service(
            "dashscope",
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            needs_key=True,
            task_parameter="text_type",
            max_batch=10,
        ),
        Service("litellm"),
        Service("vllm"),
    )
}
"""By the name of the provider."""

OTHER_PROTOCOLS: Final = frozenset({"azure", "vikingdb", "gemini", "minimax", "cohere"})
"""Providers of the documented format that speak a protocol of their own."""


@dataclass(frozen=True, slots=True)
class Family:
    """Models that scale alike: ``lo`` and ``hi`` as in `openviking.model.embedding.EmbeddingModel`."""

    pattern: re.Pattern[str]
    lo: float
    hi: float


FAMILIES: Final = (
    Family(re.compile(r"text-embedding-3"), 0.1, 0.75),
    Family(re.compile(r"text-embedding-ada"), 0.7, 0.92),
    Family(re.compile(r"(^|[/_-])e5([_-]|$)"), 0.7, 0.95),
    Family(re.compile(r"(^|[/_-])(bge|gte)([_-]|$)"), 0.35, 0.95),
)
UNKNOWN_FAMILY: Final = Family(re.compile(""), 0.2, 0.9)

_ENGLISH: Final = re.compile(
    r"[_-]en([_.:-]|$)|all-minilm|all-mpnet|mxbai-embed-large|nomic-embed-text(?!-v2)|(^|/)e5-(small|base|large)"
)


def family_of(model: str) -> Family:
    """The family of a model by its name."""
    return next((family for family in FAMILIES if family.pattern.search(model.lower())), UNKNOWN_FAMILY)


def is_multilingual(model: str) -> bool:
    """Whether a model reads more than English; assumed of those that are not known."""
    return not _ENGLISH.search(model.lower())
