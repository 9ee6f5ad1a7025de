"""What may be sent as a message, and how it is kept."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.errors import InvalidArgumentError
from openviking.model.message import Message, messages_of


def one(**given: Any) -> Message:
    _, messages = messages_of({"role": "user", **given}, 0)
    assert len(messages) == 1
    return messages[0]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("hello world", 3), ("你好世界", 6), ("OAuth 登录", 5), ("🚀", 2), ("a" * 400, 100), ("", 0)],
)
def test_the_token_estimate(text: str, tokens: int) -> None:
    assert one(content=text).tokens == tokens


def test_the_estimate_counts_abstracts_and_tools_but_no_addresses() -> None:
    context = {"type": "context", "uri": "viking://resources/x" * 9, "abstract": "four" * 3}
    assert one(parts=[context]).tokens == 3
    tool = {"type": "tool", "tool_id": "four", "tool_name": "four", "tool_input": {"a": 1}, "tool_output": "four" * 2}
    assert one(parts=[tool]).tokens == 6
    assert one(parts=[{"type": "image_url", "image_url": {"url": "data:" + "x" * 999}}]).tokens == 0


def test_all_kinds_of_parts_come_back_as_they_were() -> None:
    parts = [
        {"type": "text", "text": "noted"},
        {"type": "tool", "tool_id": "t1", "tool_name": "bash", "tool_status": "completed", "tool_input": {"cmd": "ls"},
         "tool_output": "ok", "duration_ms": 12.5, "prompt_tokens": 3},
        {"type": "context", "uri": "viking://resources/x", "context_type": "resource", "abstract": "penguins"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
    ]  # fmt: skip
    message = one(parts=parts, content="loses", peer_id="p1", turn_id="t", message_kind="checkpoint",
                  source_message_ids=["a"], created_at="2026-01-02T05:04:05+02:00", metadata={"is": "ignored"})  # fmt: skip
    told = message.to_dict()
    assert told.pop("id").startswith("msg_")
    assert told == {
        "role": "user", "parts": parts, "created_at": "2026-01-02T03:04:05.000Z", "peer_id": "p1", "turn_id": "t",
        "message_kind": "checkpoint", "source_message_ids": ["a"],
    }  # fmt: skip
    assert Message.from_dict(message.to_dict()) == message


def test_other_parts_are_kept_as_text() -> None:
    assert one(parts=[{"type": "thought", "text": "hm"}]).text == "hm"
    assert one(parts=[{"type": "thought", "x": [1]}]).text == '{"type":"thought","x":[1]}'


def test_several_tools_alone_are_several_messages() -> None:
    tools = [{"type": "tool", "tool_name": name} for name in ("a", "b", "c")]
    client_id, messages = messages_of({"id": "m", "role": "assistant", "parts": tools}, 0)
    assert (client_id, [message.id for message in messages]) == ("m", ["m", "m_2", "m_3"])
    assert [message.parts[0]["tool_name"] for message in messages] == ["a", "b", "c"]
    assert len(one(parts=[{"type": "text", "text": "see"}, *tools]).parts) == 4


def test_empty_content_is_a_message_and_any_role_is_one() -> None:
    assert one(content="").text == ""
    assert one(content="x", role="system").role == "system"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "content"), ({"parts": []}, "content"), ({"content": 5}, "content"), ({"parts": "x"}, "parts"),
        ({"parts": ["x"]}, "parts[0]"), ({"parts": [{"type": "text"}]}, "parts[0].text"),
        ({"parts": [{"type": "image_url", "image_url": {"url": " "}}]}, "parts[0].image_url.url"),
        ({"parts": [{"type": "context", "uri": "x", "context_type": "y"}]}, "parts[0].context_type"),
        ({"parts": [{"type": "tool", "tool_status": "y"}]}, "parts[0].tool_status"),
        ({"parts": [{"type": "tool", "duration_ms": -1}]}, "parts[0].duration_ms"),
        ({"parts": [{"type": "tool", "tool_input": float("nan")}]}, "parts[0].tool_input"),
        ({"content": "x", "role": ""}, "role"), ({"content": "x", "role": None}, "role"),
        ({"content": "x", "peer_id": "a/b"}, "peer_id"), ({"content": "x", "created_at": "yesterday"}, "created_at"),
        ({"content": "x", "created_at": 5}, "created_at"), ({"content": "x", "message_kind": "y"}, "message_kind"),
        ({"content": "x", "source_message_ids": [1]}, "source_message_ids"), ({"content": "x", "id": 5}, "id"),
        ({"content": "\ud800"}, "content"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused_by_its_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        messages_of({"role": "user", **given}, 0)
    assert caught.value.details["field"] == field
    caught.value.message.encode()
