"""Conversations over HTTP: shapes, headers, and what survives a killed server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_a_conversation_from_its_first_message_to_its_archive(api: Any, until: Callable[..., None]) -> None:
    made = api.post("sessions", session_id="s", telemetry=False, nonsense="ignored")
    assert (made["session_id"], made["user"]) == ("s", {"account_id": "default", "user_id": "default"})
    assert api.refused("sessions", session_id="s") == (409, "ALREADY_EXISTS")
    assert api.refused("sessions", session_id="a/b") == (400, "INVALID_ARGUMENT")
    answer = api.post("sessions/s/messages", role="user", content="I prefer green tea", metadata={"is": "ignored"})
    assert {"session_id", "message_count", "pending_tokens"} <= set(answer)
    batch = api.post("sessions/s/messages/batch", messages=[{"role": "assistant", "content": "noted"}] * 2)
    assert (batch["added"], batch["message_count"]) == (2, 3)
    assert api.get("sessions/s")["message_count"] == 3
    assert api.get("sessions")[0]["session_id"] == "s"
    context = api.get("sessions/s/context", token_budget=1_000)
    assert context["messages"][0]["parts"] == [{"type": "text", "text": "I prefer green tea"}]
    committed = api.call("POST", "sessions/s/commit")
    assert committed.json()["status"] == "ok"
    result = committed.json()["result"]
    assert (result["status"], result["archive_uri"]) == (
        "accepted",
        "viking://user/default/sessions/s/history/archive_001",
    )
    until(lambda: api.get(f"tasks/{result['task_id']}")["status"] == "completed")
    archive = api.get("sessions/s/archives/archive_001")
    assert (len(archive["messages"]), "green tea" in archive["overview"]) == (3, True)
    assert api.get("sessions/s/context")["stats"]["totalArchives"] == 1
    assert api.post("sessions/s/commit", keep_recent_count=0)["reason"] == "no_messages"
    assert api.result(api.call("DELETE", "sessions/s"))["session_id"] == "s"
    assert code(api.call("DELETE", "sessions/s")) == (404, "NOT_FOUND")


def test_settings_tell_absent_from_null(api: Any) -> None:
    api.post("sessions", session_id="s", auto_commit_policy={})

    def patch(**body: Any) -> Any:
        return api.call("PATCH", "sessions/s/config", json=body)

    kept = api.result(patch(memory_extraction_config={"events": {"tags": ["a=b"]}}))
    assert (kept["auto_commit_policy"]["message_count_threshold"], kept["memory_extraction_config"]) == (
        100, {"events": {"tags": ["a=b"]}},
    )  # fmt: skip
    assert api.result(patch(auto_commit_policy=None))["auto_commit_policy"] is None
    for bad in ({"nonsense": 1}, {"auto_commit_policy": {"x": 1}}, {"auto_commit_policy": {"keep_recent_count": None}}):
        assert code(patch(**bad)) == (400, "INVALID_ARGUMENT")
    assert code(api.call("PATCH", "sessions/none/config", json={})) == (404, "NOT_FOUND")


def test_a_repetition_is_told_by_its_header(api: Any) -> None:
    said = {"role": "user", "content": "once"}
    answers = [api.call("POST", "sessions/s/messages", json=said, headers={"Idempotency-Key": "k"}) for _ in range(3)]
    assert len({str(api.result(answer)["message_ids"]) for answer in answers}) == 1
    assert api.get("sessions/s")["message_count"] == 1
    for _ in range(2):
        api.post("sessions/s/messages", **said)
    assert api.get("sessions/s")["message_count"] == 3


def test_what_is_wrong_is_said(api: Any) -> None:
    api.get("sessions/s", auto_create=True)
    post = api.refused
    assert post("sessions/s/messages", role="user") == (400, "INVALID_ARGUMENT")
    assert post("sessions/s/messages", content="x") == (400, "INVALID_ARGUMENT")
    assert post("sessions/s/messages/batch", messages=[]) == (400, "INVALID_ARGUMENT")
    assert post("sessions/s/messages/batch", messages=[{"role": "user", "content": "x"}] * 101) == (
        400,
        "INVALID_ARGUMENT",
    )
    assert post("sessions/s/commit", keep_recent_turn_count=3) == (400, "INVALID_ARGUMENT")
    assert post("sessions/s/commit", extraction_metadata={"x": 1}) == (400, "INVALID_ARGUMENT")
    assert api.post("sessions/s/extract") == []
    half = b'{"contexts": ["\\ud800"]}'
    assert code(api.call("POST", "sessions/s/used", content=half)) == (400, "INVALID_ARGUMENT")
    assert api.post("sessions/s/used") == {"session_id": "s", "contexts_used": 0, "skills_used": 0}
    assert code(api.call("GET", "sessions/s/context?token_budget=-1")) == (400, "INVALID_ARGUMENT")
    for path in (
        "",
        "/context",
        "/archives/archive_001",
        "/tool-results",
        "/tool-results/x",
        "/tool-results/x/search?q=y",
    ):
        assert code(api.call("GET", f"sessions/none{path}"))[0] == 404, path
    for path in ("commit", "extract", "used"):
        assert post(f"sessions/none/{path}") == (404, "NOT_FOUND")


def test_memories_go_with_what_they_were_made_of(api: Any) -> None:
    for session, thing in (("s", "sweet"), ("t", "drink")):
        said = {"id": "m", "role": "user", "content": f"My favourite {thing} is fudge."}
        api.post(f"sessions/{session}/messages", **said)
        assert api.post(f"sessions/{session}/extract")
    for path in ("sessions/s", "sessions/t/messages/m"):
        gone = api.result(api.call("DELETE", f"{path}?memories=true"))
        assert (len(gone["memories_removed"]), gone["memories"]) == (1, [])
    assert code(api.call("DELETE", "sessions/t?memories=perhaps")) == (400, "INVALID_ARGUMENT")


def test_long_outputs_have_routes_of_their_own(api: Any) -> None:
    part = {"type": "tool", "tool_name": "bash", "tool_output": "zebra " * 4_000}
    api.post("sessions/s/messages", role="assistant", parts=[part])
    [listed] = api.get("sessions/s/tool-results", tool_name="bash")["tool_results"]
    place = f"sessions/s/tool-results/{listed['tool_result_id']}"
    assert api.get(place, offset=6, limit=5)["content"] == "zebra"
    assert len(api.get(place, limit=-1)["content"]) == 24_000
    assert api.get(f"{place}/search", q="ZEBRA", limit=2)["matches"][1]["offset"] == 6
    assert code(api.call("GET", place, params={"limit": -2})) == (400, "INVALID_ARGUMENT")


def test_sessions_are_private_and_an_actor_peer_makes_no_difference(tenants: Any) -> None:
    alice, bob = tenants("acme", "alice"), tenants("acme", "bob")
    alice.post("sessions/s/messages", role="user", content="secret")
    assert (bob.get("sessions"), bob.call("GET", "sessions/s").status_code) == ([], 404)
    assert bob.post("sessions/s/messages", role="user", content="mine")["message_count"] == 1
    with_peer = alice.call("GET", "sessions/s/context", headers={"X-OpenViking-Actor-Peer": "carol"})
    assert len(alice.result(with_peer)["messages"]) == 1


@pytest.mark.slow
def test_acknowledged_messages_survive_a_killed_server(serve: Any) -> None:
    first = serve()
    for number in range(10):
        first.caller.post("sessions/s/messages", role="user", content=f"text {number}", id=f"m{number}")
    archived = first.caller.post("sessions/s/commit", keep_recent_count=4)
    first.kill()
    second = serve()
    state = second.caller.get("sessions/s")
    assert (state["message_count"], state["total_message_count"], state["commit_count"]) == (4, 10, 1)
    again = second.caller.post("sessions/s/messages", role="user", content="text 3", id="m3")
    assert (again["message_ids"], again["message_count"]) == (["m3"], 4)
    archive = second.caller.get("sessions/s/archives/archive_001")
    assert [one["id"] for one in archive["messages"]] == [f"m{number}" for number in range(6)]
    assert archived["archive_uri"].endswith("archive_001")
