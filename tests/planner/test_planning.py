"""Which model plans and when, and its client (contract/retrieval.md §4.2, §4.7, §9.5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.planner.conftest import ROOT, SESSION, World
from tests.stubs.scripted import Script, Scripted

from openviking.config.file import load_settings
from openviking.config.settings import ChatSettings, RetrievalSettings
from openviking.errors import FailedPreconditionError, InvalidArgumentError, UnavailableError, UnimplementedError
from openviking.providers.chat import Chat
from openviking.providers.chat_selection import chat_of, check_chat
from openviking.service.planning import Planned, Planning

MESSAGES = [{"role": "user", "content": "hello"}]


def planning(planner: ChatSettings | None = None, vlm: ChatSettings | None = None, **retrieval: Any) -> Planning:
    return Planning(RetrievalSettings(**retrieval), planner or ChatSettings(), vlm or ChatSettings())


def planned(world: World, one: Planning) -> Planned:
    try:
        return one.planned(world.services.tenancy.accounts.of("default"), ROOT, "harbour", SESSION)
    finally:
        one.close()


def test_the_planner_is_query_planner_or_else_vlm(world: World, tmp_path: Path) -> None:
    """Case 62: an empty object is as good as none."""
    url = world.stub.chat_url
    for sections, model in [
        ({"vlm": {"model": "v", "api_base": url}}, "v"),
        ({"vlm": {"model": "v", "api_base": url}, "query_planner": {}}, "v"),
        (
            {
                "vlm": {"model": "v", "api_base": "http://127.0.0.1:9/v1"},
                "query_planner": {"model": "p", "api_base": url},
            },
            "p",
        ),
        ({"query_planner": {"model": "p", "api_base": url}}, "p"),
    ]:
        file = tmp_path / "ov.conf"
        file.write_text(json.dumps(sections))
        settings = load_settings(file, env={}, home=tmp_path)
        world.stub.behave()
        assert planned(world, planning(settings.query_planner, settings.vlm)).plan is not None
        assert [call.body["model"] for call in world.stub.calls] == [model]


def test_nothing_is_planned_without_a_model_or_when_it_may_not(world: World) -> None:
    """Case 67."""
    vlm = ChatSettings(model="v", api_base=world.stub.chat_url)
    assert planned(world, planning()) == Planned()
    assert planned(world, planning(vlm=vlm, enable_intent=False)) == Planned()
    assert not planning(vlm=vlm, enable_intent=False).enabled
    assert not world.stub.calls


def test_a_model_that_takes_no_temperature_is_asked_without(stub: Scripted) -> None:
    chat = client(stub)
    stub.behave(Script(status=400, message="Unsupported value: 'temperature' does not support 0"))
    with pytest.raises(UnavailableError):
        chat.complete(MESSAGES, timeout=5)
    assert ["temperature" in call.body for call in stub.calls] == [True, False]
    stub.behave()
    assert chat.complete(MESSAGES, timeout=5).input_tokens == 100
    assert "temperature" not in stub.calls[0].body
    chat.close()


def client(stub: Scripted, **settings: Any) -> Chat:
    chat = chat_of(ChatSettings(**{"model": "m", "api_base": stub.chat_url, "max_retries": 1, **settings}), "vlm")
    assert chat is not None
    return chat


def test_what_is_sent(stub: Scripted) -> None:
    chat = client(
        stub, api_key="key-1", max_tokens=50, extra_headers={"X-A": "b"}, extra_request_body={"thinking": False}
    )
    assert chat.complete(MESSAGES, timeout=5).text.startswith('{"reasoning"')
    assert chat.describe() == {"provider": "openai", "model": "m", "address": stub.chat_url}
    chat.close()
    (call,) = stub.calls
    assert call.path == "/v1/chat/completions"
    assert (call.headers["authorization"], call.headers["x-a"]) == ("Bearer key-1", "b")
    assert call.body == {
        "model": "m", "messages": MESSAGES, "stream": False, "temperature": 0.0, "max_tokens": 50, "thinking": False,
    }  # fmt: skip


def test_text_may_come_in_parts(stub: Scripted) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}, 7]
    stub.behave(Script(body=json.dumps({"choices": [{"message": {"content": parts}}], "usage": {"prompt_tokens": -1}})))
    chat = client(stub)
    assert chat.complete(MESSAGES, timeout=5).text == "ab"
    assert chat.complete(MESSAGES, timeout=5).input_tokens == 0
    chat.close()


def test_a_call_is_repeated_unless_somebody_waits(stub: Scripted) -> None:
    stub.behave(Script(status=503, after=0))
    chat = client(stub)
    with pytest.raises(UnavailableError):
        chat.complete(MESSAGES, timeout=5, repeat=False)
    assert len(stub.calls) == 1
    with pytest.raises(UnavailableError) as caught:
        chat.complete(MESSAGES, timeout=5)
    assert len(stub.calls) == 3
    assert caught.value.details["service"] == "chat"
    chat.close()


def test_keys_are_not_shown(stub: Scripted) -> None:
    stub.behave(Script(status=401, message="wrong key: s3cr3t-key"))
    chat = client(stub, api_key="s3cr3t-key")
    with pytest.raises(UnavailableError) as caught:
        chat.complete(MESSAGES, timeout=5)
    assert "s3cr3t" not in caught.value.message
    assert "s3cr3t" not in repr(ChatSettings(api_key="s3cr3t", api_base="http://u:s3cr3t@h"))
    chat.close()


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"api_key": "k"}, ("openai", "https://api.openai.com/v1")),
        ({"provider": "volcengine", "api_key": "k"}, ("volcengine", "https://ark.cn-beijing.volces.com/api/v3")),
        ({"provider": "ollama"}, ("ollama", "http://localhost:11434/v1")),
        ({"provider": "ollama", "api_base": "http://gpu:11434"}, ("ollama", "http://gpu:11434/v1")),
        ({"api_base": "http://localhost:8000/v1/chat/completions/"}, ("openai", "http://localhost:8000/v1")),
    ],
)
def test_addresses(settings: dict[str, Any], found: tuple[str, str]) -> None:
    assert check_chat(ChatSettings(model="m", **settings), "vlm") == found


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"provider": "opnai", "model": "m"}, InvalidArgumentError, r"vlm\.provider: 'opnai' is not known"),
        ({"provider": "azure", "model": "m"}, UnimplementedError, "protocol"),
        ({"api_key": "k"}, InvalidArgumentError, r"vlm\.model"),
        ({"model": "m"}, FailedPreconditionError, "needs a key"),
        ({"model": "m", "api_key": "$UNSET"}, FailedPreconditionError, "is not set"),
        ({"model": "m", "provider": "vllm"}, InvalidArgumentError, r"vlm\.api_base"),
        ({"model": "m", "api_base": "ftp://x"}, InvalidArgumentError, "no address"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        check_chat(ChatSettings(**settings), "vlm")


def test_a_configuration_that_cannot_be_stops_every_door(tmp_path: Path) -> None:
    from openviking import OpenViking

    file = tmp_path / "ov.conf"
    for section in (
        '"vlm": {"provider": "x", "model": "m"}',
        '"query_planner": {"api_key": "k"}',
        '"rerank": {"provider": "x"}',
    ):
        file.write_text("{" + section + "}")
        with pytest.raises(InvalidArgumentError, match=r"ov\.conf (vlm|query_planner|rerank)\."):
            OpenViking(tmp_path / "data", config=file, workers=0)
