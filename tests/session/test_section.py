"""What contract/core.md §3.6 says of sessions, line by line, over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import Caller

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

META = {
    "session_id", "uri", "user", "created_at", "updated_at", "last_message_at", "last_commit_at", "last_auto_commit_at",
    "created_by_account_id", "created_by_user_id", "message_count", "total_message_count", "commit_count",
    "memories_extracted", "llm_token_usage", "embedding_token_usage", "pending_tokens", "keep_recent_count",
    "retention_mode", "keep_recent_turn_count", "retained_message_token_budget", "min_raw_tail_steps", "memory_policy",
    "auto_commit_policy", "memory_extraction_config",
}  # fmt: skip
USAGE = {"prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "reasoning_tokens"}
DEFAULT_POLICY = {
    "pending_token_threshold": 150_000, "message_count_threshold": 100, "idle_timeout_seconds": 86_400,
    "keep_recent_count": 0, "min_commit_interval_seconds": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Caller, Services]]:
    """A server without background work but that of who waits."""
    settings = Settings(
        path=tmp_path_factory.mktemp("section") / "data", workers=0, embedding=EmbeddingSettings(provider="none")
    )
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    with TestClient(create_app(services)) as client:
        yield Caller(client), services


@pytest.fixture
def api(server: tuple[Caller, Services]) -> Caller:
    return server[0]


@pytest.fixture
def session(api: Caller, request: pytest.FixtureRequest) -> str:
    name = re.sub(r"\W", "-", request.node.name)[:100]
    api.post("sessions", session_id=name)
    return str(name)


def say(api: Caller, session: str, **message: Any) -> Any:
    return api.post(f"sessions/{session}/messages", **{"role": "user", **message})


def shown(api: Caller, session: str) -> list[Any]:
    return list(api.get(f"sessions/{session}/context")["messages"])


def status(api: Caller, method: str, path: str, body: Any = None) -> int:
    return int(api.call(method, path, json=body).status_code)


def test_what_is_known_of_a_session_from_the_start(api: Caller) -> None:
    made = api.post("sessions")
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{16}", made["session_id"])
    assert made == {
        "session_id": made["session_id"],
        "uri": f"viking://user/default/sessions/{made['session_id']}",
        "user": {"account_id": "default", "user_id": "default"},
        "auto_commit_policy": None,
        "memory_extraction_config": {"events": {"tags": []}},
    }
    meta = api.get(f"sessions/{made['session_id']}")
    assert set(meta) == META
    assert meta["created_at"] == meta["updated_at"] != ""
    assert (set(meta["llm_token_usage"]), set(meta["embedding_token_usage"])) == (USAGE, {"total_tokens"})
    assert meta["memories_extracted"] == {"total": 0}
    numbers = ("message_count", "total_message_count", "commit_count", "pending_tokens", "keep_recent_count")
    assert [meta[name] for name in numbers] == [0, 0, 0, 0, 0]
    listed = next(one for one in api.get("sessions") if one["session_id"] == made["session_id"])
    assert set(listed) == {"session_id", "uri", "is_dir", "mod_time"}
    assert (listed["is_dir"], listed["uri"]) == (True, made["uri"])


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        ({"type": "text", "text": ""}, None),
        ({"type": "context", "uri": "viking://resources/a"},
         {"type": "context", "uri": "viking://resources/a", "context_type": "memory", "abstract": ""}),
        ({"type": "context", "uri": "viking://agent/skills/a", "context_type": "skill", "abstract": "does it"}, None),
        ({"type": "tool", "tool_id": "t1", "tool_name": "bash", "tool_uri": "viking://agent/tools/bash",
          "skill_uri": "viking://agent/skills/a", "tool_input": {"cmd": ["ls", 1, None, True, 1.5]},
          "tool_output": "ok", "tool_status": "error", "duration_ms": 1.5, "prompt_tokens": 2,
          "completion_tokens": 3}, None),
        ({"type": "tool", "tool_name": "x"},
         {"type": "tool", "tool_id": "", "tool_name": "x", "tool_status": "pending"}),
        ({"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}, None),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}, None),
        ({"type": "thinking", "text": "hm", "signature": "x"}, {"type": "text", "text": "hm"}),
        ({"type": "citation", "at": [1, 2]}, {"type": "text", "text": '{"type":"citation","at":[1,2]}'}),
    ],
)  # fmt: skip
def test_every_kind_of_part_comes_back(api: Caller, session: str, part: Any, kept: Any) -> None:
    say(api, session, role="assistant", parts=[{"type": "text", "text": "see"}, part])
    expected = [{"type": "text", "text": "see"}, kept or part]
    assert shown(api, session)[0]["parts"] == expected
    api.post(f"sessions/{session}/commit")
    assert api.get(f"sessions/{session}/archives/archive_001")["messages"][0]["parts"] == expected


def test_a_message_keeps_what_is_said_of_it(api: Caller, session: str) -> None:
    fields = {
        "role": "system", "peer_id": "carol", "created_at": "2026-03-01T12:00:00+01:00", "turn_id": "t9",
        "message_kind": "checkpoint", "source_message_ids": ["a", "b"], "metadata": {"is": "ignored"},
    }  # fmt: skip
    say(api, session, content="x", **fields)
    [message] = shown(api, session)
    assert re.fullmatch(r"msg_[0-9a-f]+", message.pop("id"))
    del fields["metadata"]
    assert message == {**fields, "created_at": "2026-03-01T11:00:00.000Z", "parts": [{"type": "text", "text": "x"}]}


def test_tools_alone_are_a_message_each_and_content_loses_to_parts(api: Caller, session: str) -> None:
    tools = [{"type": "tool", "tool_name": name} for name in "abc"]
    assert say(api, session, role="assistant", parts=tools, content="x")["message_count"] == 3
    assert [[part["tool_name"] for part in one["parts"]] for one in shown(api, session)] == [["a"], ["b"], ["c"]]
    assert say(api, session, content="")["message_count"] == 4
    assert status(api, "POST", f"sessions/{session}/messages", {"role": "user", "parts": []}) == 400


@pytest.mark.parametrize(
    ("parts", "tokens"),
    [
        ([{"type": "text", "text": "hello world"}], 3), ([{"type": "text", "text": "你好世界"}], 6),
        ([{"type": "text", "text": "OAuth 登录"}], 5), ([{"type": "text", "text": "🚀"}], 2),
        ([{"type": "text", "text": "a" * 400}], 100), ([{"type": "text", "text": "한글 かな ，Ａ"}], 10),
        # The sum is rounded up, and not each part of it.
        ([{"type": "text", "text": "ab"}, {"type": "text", "text": "cd"}], 1),
        ([{"type": "context", "uri": "viking://resources/" + "x" * 99, "abstract": "a" * 8}], 2),
        ([{"type": "tool", "tool_id": "aaaa", "tool_name": "bbbb", "tool_input": {"c": "d"}, "tool_output": "e" * 8}], 7),
        ([{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}], 0),
    ],
)  # fmt: skip
def test_tokens_are_estimated(api: Caller, session: str, parts: Any, tokens: int) -> None:
    assert say(api, session, role="assistant", parts=parts)["pending_tokens"] == tokens
    context = api.get(f"sessions/{session}/context")
    assert (context["estimatedTokens"], context["stats"]["activeTokens"]) == (tokens, tokens)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, DEFAULT_POLICY),
        ({"message_count_threshold": 5}, {**DEFAULT_POLICY, "message_count_threshold": 5}),
        (dict.fromkeys(DEFAULT_POLICY, 1 << 40),
         {"pending_token_threshold": 1_000_000, "message_count_threshold": 1_000, "idle_timeout_seconds": 604_800,
          "keep_recent_count": 1_000, "min_commit_interval_seconds": 604_800}),
        (dict.fromkeys(DEFAULT_POLICY, -5), dict.fromkeys(DEFAULT_POLICY, 0)),
    ],
)  # fmt: skip
def test_a_policy_has_defaults_and_limits(api: Caller, given: Any, kept: Any) -> None:
    assert api.post("sessions", auto_commit_policy=given)["auto_commit_policy"] == kept


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("sessions", {"auto_commit_policy": {"nonsense": 1}}), ("sessions", {"auto_commit_policy": {"keep_recent_count": None}}),
        ("sessions", {"auto_commit_policy": {"keep_recent_count": 1.5}}), ("sessions", {"memory_policy": {"nonsense": {}}}),
        ("sessions", {"memory_policy": {"memory_types": ["nonsense"]}}), ("sessions", {"memory_policy": {"self": {"x": 1}}}),
        ("sessions", {"memory_extraction_config": {"nonsense": {}}}), ("sessions", {"session_id": "../x"}),
        ("sessions", {"session_id": ""}), ("{}/commit", {"keep_recent_count": 10_001}), ("{}/commit", {"keep_recent_count": -1}),
        ("{}/commit", {"min_raw_tail_steps": 1}), ("{}/commit", {"retained_message_token_budget": 5}),
        ("{}/commit", {"retention_mode": "turn_budget", "retained_message_token_budget": 0}),
        ("{}/commit", {"retention_mode": "other"}), ("{}/commit", {"extraction_metadata": {"event": {"x": 1}}}),
        ("{}/messages", {"role": "user", "content": "x", "message_kind": "other"}),
        ("{}/messages", {"role": "user", "content": "x", "created_at": "soon"}),
        ("{}/messages", {"role": "user", "parts": [{"type": "image_url", "image_url": {"url": ""}}]}),
        ("{}/messages", {"role": "user", "parts": [{"type": "tool", "tool_status": "odd"}]}),
        ("{}/messages/batch", {"messages": []}),
        ("{}/messages/batch", {"messages": [{"role": "user", "content": "x"}] * 101}),
    ],
)  # fmt: skip
def test_what_is_wrong_is_a_400_and_changes_nothing(api: Caller, session: str, path: str, body: Any) -> None:
    count = len(api.get("sessions"))
    answer = api.call("POST", path.format(f"sessions/{session}"), json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
    assert (len(api.get("sessions")), api.get(f"sessions/{session}")["total_message_count"]) == (count, 0)


def test_thresholds_are_exceeded_strictly_and_by_the_message_that_does_it(api: Caller) -> None:
    policy = {"message_count_threshold": 2, "keep_recent_count": 1}
    name = api.post("sessions", auto_commit_policy=policy)["session_id"]
    assert [say(api, name, content="aaaa")["message_count"] for _ in range(3)] == [1, 2, 1]
    meta = api.get(f"sessions/{name}")
    assert (meta["commit_count"], meta["pending_tokens"]) == (1, 0)
    assert meta["last_auto_commit_at"] == meta["last_commit_at"]
    tokens = api.post("sessions", auto_commit_policy={"pending_token_threshold": 2})["session_id"]
    assert [say(api, tokens, content="aaaa")["pending_tokens"] for _ in range(3)] == [1, 2, 0]
    slow = {"message_count_threshold": 0, "min_commit_interval_seconds": 3600}
    rare = api.post("sessions", auto_commit_policy=slow)["session_id"]
    assert [say(api, rare, content="aaaa")["message_count"] for _ in range(3)] == [0, 1, 2]


def test_settings_are_merged_kept_or_switched_off(api: Caller, session: str) -> None:
    def patch(body: Any) -> Any:
        return api.result(api.call("PATCH", f"sessions/{session}/config", json=body))

    steps = [
        ({"auto_commit_policy": {"keep_recent_count": 3}}, {**DEFAULT_POLICY, "keep_recent_count": 3}, []),
        ({"auto_commit_policy": {"idle_timeout_seconds": 60}},
         {**DEFAULT_POLICY, "keep_recent_count": 3, "idle_timeout_seconds": 60}, []),
        ({"memory_extraction_config": {"events": {"tags": ["a=b"]}}},
         {**DEFAULT_POLICY, "keep_recent_count": 3, "idle_timeout_seconds": 60}, ["a=b"]),
        ({"auto_commit_policy": None}, None, ["a=b"]),
        ({}, None, ["a=b"]),
        ({"auto_commit_policy": {}}, DEFAULT_POLICY, ["a=b"]),
    ]  # fmt: skip
    for body, policy, tags in steps:
        told = {"auto_commit_policy": policy, "memory_extraction_config": {"events": {"tags": tags}}}
        assert patch(body) == {"session_id": session, **told}
        assert {name: api.get(f"sessions/{session}")[name] for name in told} == told


def test_a_commit_and_what_it_keeps(api: Caller, session: str) -> None:
    assert api.post(f"sessions/{session}/commit")["reason"] == "no_messages"
    for number in range(4):
        say(api, session, content=f"u{number}")
        say(api, session, role="assistant", content=f"a{number}")
    assert api.post(f"sessions/{session}/commit", keep_recent_count=8) == {
        "session_id": session, "status": "skipped", "task_id": None, "archive_uri": None, "archived": False,
        "reason": "all_within_keep_window",
    }  # fmt: skip
    budget = {"retention_mode": "turn_budget", "keep_recent_turn_count": 2, "retained_message_token_budget": 100}
    done = api.post(f"sessions/{session}/commit", **budget)
    assert (done["status"], done["archived"], done["estimated_active_tokens"], done["budget_exceeded"]) == (
        "accepted", True, 4, False,
    )  # fmt: skip
    assert {"task_id", "trace_id", "archive_uri"} <= set(done)
    meta = api.get(f"sessions/{session}")
    assert [meta[name] for name in ("message_count", "total_message_count", "commit_count", "pending_tokens")] == [
        4,
        8,
        1,
        0,
    ]
    assert [meta[name] for name in ("retention_mode", "keep_recent_turn_count", "retained_message_token_budget",
                                    "min_raw_tail_steps")] == ["turn_budget", 2, 100, 1]  # fmt: skip
    assert [one["parts"][0]["text"] for one in api.get(f"sessions/{session}/archives/archive_001")["messages"]] == [
        "u0", "a0", "u1", "a1",
    ]  # fmt: skip
    api.post("system/wait", timeout=30)
    task = api.get(f"tasks/{done['task_id']}")
    assert (task["task_type"], task["status"], task["resource_id"]) == ("session_commit", "completed", session)
    assert {"session_id", "archive_uri", "memories_extracted", "session_skills_extracted", "session_skill_uris",
            "usage_events_extracted", "active_count_updated", "effective_memory_types", "agent_evolution_enabled",
            "agent_memory_skip_reason", "token_usage"} <= set(task["result"])  # fmt: skip
    assert set(task["result"]["token_usage"]) == {"llm", "embedding", "total"}
    archive = api.get(f"sessions/{session}/archives/archive_001")
    assert set(archive) == {"archive_id", "abstract", "overview", "messages"}
    listed = api.get("fs/ls", uri=f"viking://~/sessions/{session}/history", simple=True)
    assert [one.rstrip("/").rpartition("/")[2] for one in listed] == ["archive_001"]
    for name in (".meta.json", ".done", "memory_diff.json"):
        assert status(api, "GET", f"content/read?uri={done['archive_uri']}/{name}&raw=true") == 200, name


def test_a_context_holds_the_newest_then_the_overview(api: Caller, session: str) -> None:
    for number in range(5):
        say(api, session, content=f"We saw {number} penguins there. " * 4)
    api.post(f"sessions/{session}/commit")
    for _ in range(5):
        say(api, session, content="live " * 8)
    pending = api.get(f"sessions/{session}/context")
    assert set(pending) == {"latest_archive_overview", "pre_archive_abstracts", "messages", "estimatedTokens", "stats"}
    assert (len(pending["messages"]), pending["latest_archive_overview"]) == (10, ""), "nothing else tells of them yet"
    api.post("system/wait", timeout=30)
    whole = api.get(f"sessions/{session}/context")
    assert (len(whole["messages"]), "4 penguins" in whole["latest_archive_overview"]) == (5, True)
    assert whole["pre_archive_abstracts"] == []
    each = whole["stats"]["activeTokens"] // 5
    for budget, messages in ((0, 0), (each - 1, 0), (each, 1), (3 * each + 1, 3), (5 * each, 5)):
        got = api.get(f"sessions/{session}/context", token_budget=budget)
        assert len(got["messages"]) == messages
        assert got["estimatedTokens"] == got["stats"]["activeTokens"] + got["stats"]["archiveTokens"] <= budget
    assert {"totalArchives", "includedArchives", "droppedArchives", "failedArchives"} <= set(whole["stats"])
    refused = api.call("GET", f"sessions/{session}/context?token_budget=-1").json()["error"]
    assert refused["details"]["field"] == "token_budget"
    assert str(refused["details"]["value"]) == "-1"


def test_long_outputs_are_kept_beside(api: Caller, session: str) -> None:
    text = "".join(f"Line {number}: ünïcode 你好\n" for number in range(1_500))
    assert len(text) > 20_000
    say(api, session, role="assistant", parts=[{"type": "tool", "tool_name": "cat", "tool_output": text}])
    [part] = shown(api, session)[0]["parts"]
    assert part["tool_output"] == text[:2_000]
    told = api.get(f"sessions/{session}/tool-results", tool_name="cat")["tool_results"]
    assert told == [{
        "tool_result_id": part["tool_result_id"], "tool_name": "cat", "original_chars": len(text), "preview_chars": 2_000,
        "mime_type": "text/plain", "synopsis_kind": "head", "storage_uri": part["tool_output_ref"],
        "offset_unit": "unicode_code_point",
    }]  # fmt: skip
    place = f"sessions/{session}/tool-results/{part['tool_result_id']}"
    pieces, offset = "", 0
    while True:
        piece = api.get(place, offset=offset, limit=7_000)
        pieces += piece["content"]
        offset += len(piece["content"])
        if not piece["has_more"]:
            break
    assert (pieces, piece["total_chars"]) == (text, len(text))
    assert "metadata" not in api.get(place, include_metadata=False)
    [match] = api.get(f"{place}/search", q="line 77:", context_chars=3)["matches"]
    assert text[match["offset"] :].startswith("Line 77:")
    assert api.get("content/read", uri=part["tool_output_ref"], raw=True) == text
    api.post(f"sessions/{session}/commit")
    assert api.get(place, limit=-1)["content"] == text
    say(api, session, role="assistant", parts=[{"type": "tool", "tool_name": "cat", "tool_output": "x" * 20_000}])
    assert len(api.get(f"sessions/{session}/tool-results")["tool_results"]) == 1, "not more than the bound"


def test_uses_are_counted_by_call_and_once_by_commit(api: Caller, session: str) -> None:
    uri = f"viking://resources/{session}.md"
    api.write(uri, "used")
    told = api.post(
        f"sessions/{session}/used", contexts=[uri, uri], skill={"uri": "viking://agent/skills/a", "success": True}
    )
    assert told == {"session_id": session, "contexts_used": 2, "skills_used": 1}
    assert api.post(f"sessions/{session}/used") == {"session_id": session, "contexts_used": 0, "skills_used": 0}
    say(api, session, content="x")
    done = api.post(f"sessions/{session}/commit")
    api.post("system/wait", timeout=30)
    assert api.get(f"tasks/{done['task_id']}")["result"]["active_count_updated"] == 1


def test_the_same_is_stored_once_by_its_id_alone(api: Caller, session: str) -> None:
    batch = [{"role": "user", "content": "same", "id": f"b{number}"} for number in range(100)]
    first = api.post(f"sessions/{session}/messages/batch", messages=batch)
    again = api.post(f"sessions/{session}/messages/batch", messages=batch)
    assert (first["added"], again["added"], again["message_ids"]) == (100, 0, first["message_ids"])
    twice = [say(api, session, content="once", id="x")["message_ids"] for _ in range(3)]
    assert twice == [["x"]] * 3
    for _ in range(2):
        say(api, session, content="without an id")
    assert api.get(f"sessions/{session}")["message_count"] == 103
    api.post(f"sessions/{session}/commit")
    assert say(api, session, content="once", id="x")["message_count"] == 0, "also when it is archived"


def test_a_session_removed_under_its_commit_stays_removed(api: Caller, session: str) -> None:
    say(api, session, content="gone")
    done = api.post(f"sessions/{session}/commit")
    assert api.result(api.call("DELETE", f"sessions/{session}")) == {"session_id": session, "memories": []}
    api.post("system/wait", timeout=30)
    assert api.get(f"tasks/{done['task_id']}")["status"] == "failed"
    assert status(api, "GET", f"fs/stat?uri=viking://~/sessions/{session}") == 404
    assert status(api, "GET", f"sessions/{session}") == 404
    assert status(api, "POST", f"sessions/{session}/commit") == 404
    assert api.get(f"sessions/{session}", auto_create=True)["total_message_count"] == 0
