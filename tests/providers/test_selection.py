"""Which embedder the settings give, and what is said of settings that give none."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openviking.config.settings import EmbeddingSettings
from openviking.errors import FailedPreconditionError, InvalidArgumentError, OpenVikingError, UnimplementedError
from openviking.model.embedding import EmbeddingModel
from openviking.providers.selection import address, embedder_of
from openviking.providers.services import SERVICES

BASE = {"provider": "openai", "model": "some-model", "api_base": "http://localhost:1/v1", "dimension": 8}


def described(**settings: Any) -> dict[str, Any]:
    embedder = embedder_of(EmbeddingSettings(**settings))
    assert embedder is not None
    told = embedder.describe()
    embedder.close()
    return told


def model_of(**settings: Any) -> EmbeddingModel:
    embedder = embedder_of(EmbeddingSettings(**{**BASE, **settings}))
    assert embedder is not None
    model = embedder.model
    embedder.close()
    return model


@pytest.mark.parametrize("provider", ["builtin", "local", "Builtin "])
def test_the_builtin_model_needs_nothing(provider: str) -> None:
    assert described(provider=provider)["provider"] == "builtin"


def test_none_is_words_only() -> None:
    assert embedder_of(EmbeddingSettings(provider="none")) is None


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("openai", "https://api.openai.com/v1"),
        ("ollama", "http://localhost:11434/v1"),
        ("volcengine", "https://ark.cn-beijing.volces.com/api/v3"),
        ("jina", "https://api.jina.ai/v1"),
        ("voyage", "https://api.voyageai.com/v1"),
        ("dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
    ],
)
def test_known_services_have_an_address(provider: str, expected: str) -> None:
    assert described(provider=provider, model="m", api_key="k")["address"] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (" https://example.org/v1/ ", "https://example.org/v1"),
        ("https://example.org/v1/embeddings", "https://example.org/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("http://localhost:11434", "http://localhost:11434/v1"),
    ],
)
def test_addresses_are_made_uniform(given: str, expected: str) -> None:
    assert address(given, SERVICES["ollama"]) == expected


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"provider": "opnai"}, InvalidArgumentError, "did you mean 'openai'"),
        ({"provider": "x" * 10_000}, InvalidArgumentError, "supported: builtin, none, openai"),
        ({"provider": "gemini"}, UnimplementedError, "supported: builtin, none, openai"),
        ({"provider": "vikingdb"}, UnimplementedError, "does not"),
        ({"provider": "openai"}, InvalidArgumentError, "embedding.dense.model: the provider 'openai' needs"),
        ({"provider": "openai", "model": "m"}, FailedPreconditionError, "needs a key"),
        ({"provider": "openai", "model": "m", "api_key": "$OPENAI_API_KEY"}, FailedPreconditionError, "is not set"),
        ({"provider": "vllm", "model": "m"}, InvalidArgumentError, "embedding.dense.api_base"),
        ({"provider": "vllm", "model": "m", "api_base": "localhost:8000"}, InvalidArgumentError, "no address"),
        ({"provider": "vllm", "model": "m", "api_base": "ftp://host/v1"}, InvalidArgumentError, "no address"),
        ({"provider": "vllm", "model": "m", "api_base": "http://host:99999/v1"}, InvalidArgumentError, "no address"),
        ({"provider": "vllm", "model": "m", "api_base": "http://[bad/v1"}, InvalidArgumentError, "no address"),
        ({"provider": "vllm", "model": "m", "api_base": "http://h/v1\nX: y"}, InvalidArgumentError, "no address"),
        (
            {"provider": "builtin", "model": "bge-large"},
            InvalidArgumentError,
            "the built-in model is bge-small-en-v1.5",
        ),
        ({"provider": "local", "dimension": 512}, InvalidArgumentError, "384"),
    ],
)
def test_wrong_settings_say_what_would_be_right(
    settings: dict[str, Any], error: type[OpenVikingError], told: str
) -> None:
    with pytest.raises(error, match=told) as caught:
        embedder_of(EmbeddingSettings(**settings))
    assert len(caught.value.message) < 600


def test_a_key_may_be_in_a_header() -> None:
    assert described(provider="openai", model="m", extra_headers={"Authorization": "Basic x"})["provider"] == "openai"


def test_a_user_in_the_address_is_not_shown() -> None:
    assert described(**{**BASE, "api_base": "http://me:secret@localhost:1/v1"})["address"] == "http://localhost:1/v1"


def test_vectors_are_filed_under_what_makes_them_comparable() -> None:
    model = model_of()
    assert model.name == "some-model@localhost"
    assert model.dimension == 8
    assert model_of(api_base="http://127.0.0.1:9/other").fingerprint == model.fingerprint
    assert model_of(cosine_range=(0.0, 0.5), api_key="k", batch_size=3, timeout=9.0).fingerprint == model.fingerprint
    others: list[dict[str, Any]] = [
        {"model": "other"},
        {"api_base": "http://example.org/v1"},
        {"dimension": 16},
        {"query_prefix": "q"},
        {"passage_prefix": "p"},
        {"document_param": {"task": "x"}},
        {"query_param": {"task": "x"}},
        {"extra_body": {"user": "x"}},
    ]
    assert len({model.fingerprint, *(model_of(**other).fingerprint for other in others)}) == len(others) + 1
    named = model_of(model_id="mine", api_base="http://example.org/v1")
    assert named.name == "mine"
    assert named.fingerprint == model_of(model_id="mine", model="renamed").fingerprint


@pytest.mark.parametrize(
    ("name", "scale", "multilingual"),
    [
        ("text-embedding-3-small", (0.1, 0.75), True),
        ("text-embedding-ada-002", (0.7, 0.92), True),
        ("intfloat/multilingual-e5-large", (0.7, 0.95), True),
        ("e5-large-v2", (0.7, 0.95), False),
        ("BAAI/bge-small-en-v1.5", (0.35, 0.95), False),
        ("bge-m3", (0.35, 0.95), True),
        ("Alibaba-NLP/gte-Qwen2-7B-instruct", (0.35, 0.95), True),
        ("nomic-embed-text", (0.2, 0.9), False),
        ("nomic-embed-text-v2-moe", (0.2, 0.9), True),
        ("doubao-embedding-text-240715", (0.2, 0.9), True),
        ("mxbai-embed-large:latest", (0.2, 0.9), False),
    ],
)
def test_families_have_their_scale(name: str, scale: tuple[float, float], multilingual: bool) -> None:
    model = model_of(model=name)
    assert (model.lo, model.hi) == scale
    assert model.multilingual is multilingual
    assert replace(model_of(model=name, cosine_range=(0.0, 1.0)), lo=0, hi=0) == replace(model, lo=0, hi=0)


def test_words_alone_load_neither_numbers_nor_http() -> None:
    program = (
        "import sys; from openviking.providers.selection import embedder_of; "
        "from openviking.config.settings import EmbeddingSettings; "
        "assert embedder_of(EmbeddingSettings(provider='none')) is None; "
        "print(*{'numpy', 'httpx2', 'onnxruntime', 'tokenizers'} & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert not result.stdout.strip()
