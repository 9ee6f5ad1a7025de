"""Redaction and erasure over HTTP: shapes, and whose they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_a_message_is_redacted_and_overwritten_by_its_owner_alone(
    tenants: Any, until: Callable[[Callable[[], object]], None]
) -> None:
    alice, bob = tenants("acme", "alice"), tenants("acme", "bob")
    alice.post("sessions/s/messages", role="user", content="the bid is 4.2 million", id="bid/1 ü")
    path = "sessions/s/messages/bid%2F1%20%C3%BC"
    assert bob.call("DELETE", path).status_code == 404
    assert alice.call("DELETE", "sessions/s/messages/none").json()["error"]["code"] == "NOT_FOUND"
    answer = alice.call("DELETE", path)
    if answer.status_code == 404:
        # A slash in a path belongs to the path, whatever it is written as.
        assert alice.get("sessions/s")["message_count"] == 1
    alice.post("sessions/s/messages", role="user", content="the bid is 4.2 million", id="bid")
    told = alice.result(alice.call("DELETE", "sessions/s/messages/bid"))
    assert told == {
        "session_id": "s", "message_id": "bid", "place": "live", "redacted": 1, "tool_results": [], "memories": [],
    }  # fmt: skip
    assert alice.refused("system/erase", rewrite="yes")[0] == 400
    assert alice.refused("system/erase", nonsense=1)[0] == 400
    began = alice.post("system/erase", rewrite=False)
    assert began["status"] == "accepted"
    until(lambda: alice.get(f"tasks/{began['task_id']}")["status"] == "completed")
    result = alice.get(f"tasks/{began['task_id']}")["result"]
    assert (set(result), result["rewritten"]) == ({"rewritten", "bytes_before", "bytes_after"}, False)
    assert bob.call("GET", f"tasks/{began['task_id']}").status_code == 404
    assert bob.refused("system/erase", rewrite=True) == (403, "PERMISSION_DENIED")
    assert "task_id" in alice.post("system/erase", rewrite=True), "the first user is the admin"
    assert "task_id" in bob.result(bob.call("POST", "system/erase"))


def test_an_erasure_that_waits_already_is_that_one(idle: Any) -> None:
    api, _ = idle
    first = api.post("system/erase")
    assert api.post("system/erase") == first
    assert api.post("system/erase", rewrite=False) != first
