"""The wire formats of rerank services, each against a service that answers in it (contract/retrieval.md §4.6)."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from math import inf
from typing import Any

import pytest
from tests.stubs.scripted import Asked, Script, Scripted

from openviking.config.settings import RerankSettings
from openviking.errors import DeadlineExceededError, FailedPreconditionError, InvalidArgumentError, UnavailableError
from openviking.providers.rerank.reranker import Reranker
from openviking.providers.rerank.selection import check_rerank, provider_of, reranker_of

DOCUMENTS = ["the ferry leaves at nine", "bread and butter", "a ferry"]


def made(**settings: Any) -> Reranker:
    found = reranker_of(RerankSettings(**settings))
    assert found is not None
    return found


def asked(query: str = "ferry leaves", timeout: float = 10.0, **settings: Any) -> list[float | None]:
    one = made(**settings)
    try:
        return one.scores(query, DOCUMENTS, timeout=timeout)
    finally:
        one.close()


def formats(stub: Scripted) -> dict[str, dict[str, Any]]:
    root = f"http://127.0.0.1:{stub.port}"
    return {
        "cohere": {"provider": "cohere", "api_base": root, "api_key": "key-1"},
        "jina": {"provider": "jina", "api_base": f"{root}/v1/", "api_key": "key-1"},
        "openai": {"api_base": f"{root}/any/rerank", "api_key": "key-1", "model": "m"},
        "dashscope": {"api_base": f"{root}/api/v1/services/rerank/text-rerank/text-rerank", "api_key": "key-1"},
        "litellm": {"provider": "litellm", "api_base": root, "model": "m"},
        "vikingdb": {"provider": "volcengine", "api_base": root, "ak": "AK", "sk": "SK"},
    }


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("cohere", "/v2/rerank",
         {"model": "rerank-v3.5", "query": "ferry leaves", "documents": DOCUMENTS, "top_n": 3, "return_documents": False}),
        ("jina", "/v1/rerank",
         {"model": "jina-reranker-v2-base-multilingual", "query": "ferry leaves", "documents": DOCUMENTS, "top_n": 3,
          "return_documents": False}),
        ("openai", "/any/rerank", {"model": "m", "query": "ferry leaves", "documents": DOCUMENTS}),
        ("dashscope", "/api/v1/services/rerank/text-rerank/text-rerank",
         {"model": "qwen3-rerank", "input": {"query": "ferry leaves", "documents": DOCUMENTS},
          "parameters": {"return_documents": False}}),
        ("litellm", "/v2/rerank",
         {"model": "m", "query": "ferry leaves", "documents": DOCUMENTS, "top_n": 3, "return_documents": False}),
    ],
)  # fmt: skip
def test_requests_and_scores(stub: Scripted, name: str, path: str, body: dict[str, Any]) -> None:
    settings = formats(stub)[name]
    assert asked(**settings) == [1.0, 0.0, 0.5]
    (call,) = stub.calls
    assert call.path == path
    assert call.body == body
    assert call.headers.get("authorization") == (None if name == "litellm" else "Bearer key-1")


def test_volcengine_is_signed(stub: Scripted) -> None:
    """The service makes the signature again out of what arrived."""
    assert asked(**formats(stub)["vikingdb"]) == [1.0, 0.0, 0.5]
    (call,) = stub.calls
    assert call.path == "/api/vikingdb/rerank"
    assert call.body["data"] == [[{"text": one}] for one in DOCUMENTS]
    assert call.body["query"] == [{"text": "ferry leaves"}]
    assert (call.body["model_name"], call.body["model_version"]) == ("doubao-seed-rerank", "251028")
    assert call.body["instruction"]
    assert call.headers["authorization"] == authorization(call)


def authorization(call: Asked, secret: bytes = b"SK") -> str:
    """Signature V4 as Volcengine's documentation spells it out, step by step."""
    date = call.headers["x-date"]
    digest = hashlib.sha256(call.raw).hexdigest()
    assert call.headers["x-content-sha256"] == digest
    names = "content-type;host;x-content-sha256;x-date"
    canonical = "\n".join(
        ["POST", call.path, "", *(f"{name}:{call.headers[name]}" for name in names.split(";")), "", names, digest]
    )
    scope = f"{date[:8]}/cn-beijing/vikingdb/request"
    to_sign = "\n".join(["HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = secret
    for part in (date[:8], "cn-beijing", "vikingdb", "request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signed = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    return f"HMAC-SHA256 Credential=AK/{scope}, SignedHeaders={names}, Signature={signed}"


@pytest.mark.parametrize("name", ["cohere", "jina", "openai", "dashscope", "litellm", "vikingdb"])
@pytest.mark.parametrize(
    "script",
    [
        Script(mood="badly"),
        Script(body="[]"),
        Script(body='{"results": 1}'),
        Script(body="[" * 90_000),
        Script(status=400),
    ],
    ids=["html", "list", "number", "nested", "refused"],
)
def test_what_is_no_answer(stub: Scripted, name: str, script: Script) -> None:
    stub.behave(script)
    with pytest.raises(UnavailableError) as caught:
        asked(**formats(stub)[name])
    assert caught.value.details["service"] == "rerank"
    assert len(stub.calls) == 1


@pytest.mark.parametrize(
    ("script", "scores"),
    [
        (Script(scores=[0.9, None, 0.1]), [0.9, None, 0.1]),
        (Script(scores=[0.9]), [0.9, -inf, -inf]),
        (Script(scores=[0.1, 0.9], indices=[2, 0]), [0.9, -inf, 0.1]),
        (Script(body='{"results": [{"index": 0, "relevance_scores": 0.5}, {"index": 1, "relevance_score": "0.9"}]}'),
         [0.5, None, -inf]),
        (Script(body='{"results": [{"index": 2, "relevance_score": NaN}, {"index": 1, "relevance_score": 1e999}]}'),
         [-inf, None, None]),
    ],
)  # fmt: skip
def test_scores_that_are_missing(stub: Scripted, script: Script, scores: list[float | None]) -> None:
    stub.behave(script)
    assert asked(**formats(stub)["openai"]) == scores


@pytest.mark.parametrize("indices", [[0, 1, 3], [0, 1, -1], [0, 0, 1], ["0", 1, 2], [True, 1, 2]])
def test_an_index_that_is_none_fails_the_whole_call(stub: Scripted, indices: list[Any]) -> None:
    stub.behave(Script(scores=[0.1, 0.2, 0.3], indices=indices))
    with pytest.raises(UnavailableError, match="index"):
        asked(**formats(stub)["cohere"])


def test_volcengine_must_score_every_document(stub: Scripted) -> None:
    stub.behave(Script(scores=[0.1, 0.2]))
    with pytest.raises(UnavailableError, match="2 scores for 3 documents"):
        asked(**formats(stub)["vikingdb"])


def test_a_service_that_never_answers_is_left_in_time(stub: Scripted) -> None:
    stub.behave(Script(mood="never"))
    with pytest.raises(DeadlineExceededError):
        asked(timeout=0.2, **formats(stub)["openai"])
    assert len(stub.calls) == 1


def test_a_slow_service_is_waited_for(stub: Scripted) -> None:
    stub.behave(Script(mood="slowly", delay=0.1))
    assert asked(**formats(stub)["openai"]) == [1.0, 0.0, 0.5]


def test_keys_are_not_shown(stub: Scripted) -> None:
    stub.behave(Script(status=401, message="the key s3cr3t-key is wrong"))
    with pytest.raises(UnavailableError) as caught:
        asked(api_base=stub.rerank_url, api_key="s3cr3t-key")
    assert "s3cr3t" not in caught.value.message
    assert "HTTP 401" in caught.value.message


# --- which one -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "provider"),
    [
        ({}, "none"), ({"timeout": 3.0}, "none"), ({"provider": "none", "api_key": "k"}, "none"),
        ({"api_key": "k"}, "cohere"), ({"api_key": "k", "api_base": "http://localhost/rerank"}, "openai"),
        ({"ak": "a", "sk": "s"}, "vikingdb"), ({"provider": "volcengine", "api_key": "a", "api_secret": "s"}, "vikingdb"),
        ({"api_key": "k", "api_base": "https://x.example/api/v1/services/rerank/text-rerank/text-rerank"}, "dashscope"),
        ({"provider": "local"}, "local"),
    ],
)  # fmt: skip
def test_the_provider_is_derived(settings: dict[str, Any], provider: str) -> None:
    assert provider_of(RerankSettings(**settings)) == provider
    assert check_rerank(RerankSettings(**settings)) == provider


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"provider": "coher"}, InvalidArgumentError, "did you mean 'cohere'"),
        ({"provider": "openai", "api_key": "k"}, InvalidArgumentError, "needs an address"),
        ({"provider": "litellm", "api_base": "http://localhost"}, InvalidArgumentError, "name of a model"),
        ({"provider": "cohere"}, FailedPreconditionError, "needs a key"),
        ({"provider": "cohere", "api_key": "$NOT_SET"}, FailedPreconditionError, "is not set"),
        ({"provider": "vikingdb", "ak": "a"}, FailedPreconditionError, "both are needed"),
        ({"api_key": "k", "api_base": "localhost:80"}, InvalidArgumentError, "no address"),
        ({"provider": "vikingdb", "ak": "a", "sk": "s", "host": "a b"}, InvalidArgumentError, "no address"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        check_rerank(RerankSettings(**settings))


def test_the_window_is_checked(tmp_path: Any) -> None:
    """Case 48."""
    from openviking.config.file import load_settings

    file = tmp_path / "ov.conf"

    def load(tokens: int) -> Callable[[], int]:
        file.write_text(json.dumps({"rerank": {"max_input_tokens": tokens}}))
        return lambda: load_settings(file, env={}, home=tmp_path).rerank.max_input_tokens

    assert load(0)() == 0
    assert load(128)() == 128
    with pytest.raises(InvalidArgumentError, match=r"rerank\.max_input_tokens must be 0 for no limit, or .* from 128"):
        load(127)()
