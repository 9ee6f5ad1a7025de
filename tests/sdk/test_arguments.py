"""What callers may leave out or get wrong, and what comes beside a result."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

import openviking_sdk as ov

if TYPE_CHECKING:
    from tests.sdk.conftest import ScriptedServer

R = "viking://resources"


@pytest.mark.parametrize("field", ["limit", "since"])
def test_a_field_is_not_given_twice(client: Any, server: ScriptedServer, field: str) -> None:
    with pytest.raises(ov.errors.InvalidArgumentError, match=f"{field} is given twice"):
        client.find("q", limit=5, since="1h", options={field: "other"})
    assert server.take() == []
    client.find("q", limit=5, options={"limit": 5})
    assert server.take()[0].json == {"query": "q", "limit": 5}


def test_search_takes_a_session_object(client: Any, server: ScriptedServer) -> None:
    client.search("q", session=client.session("s"))
    client.search_context("q", session=client.session("s"))
    assert [asked.json["session_id"] for asked in server.take()] == ["s", "s"]
    with pytest.raises(ov.errors.InvalidArgumentError, match="Two sessions"):
        client.search("q", session_id="t", session=client.session("s"))


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_never_leads_to_another_route(client: Any, server: ScriptedServer, name: str) -> None:
    """Removing the user ``..`` would remove the account."""
    with pytest.raises(ov.errors.InvalidArgumentError, match="user_id"):
        client.admin_remove_user("a", name)
    with pytest.raises(ov.errors.InvalidArgumentError, match="session_id"):
        client.delete_session(name)
    assert server.take() == []


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("", ""),
        ("/", "viking://"),
        ("resources", R),
        ("/resources/a", f"{R}/a"),
        ("~/memories", "viking://~/memories"),
        (R, R),
        ("http://x", "http://x"),
        ("0123456789ABCDEF0123456789abcdef", "0123456789ABCDEF0123456789abcdef"),
        ("0123456789abcdef0123456789abcdeg", "viking://0123456789abcdef0123456789abcdeg"),
        ("a/b://c", "viking://a/b://c"),
    ],
)
def test_the_scheme_of_an_address_may_be_left_out(client: Any, server: ScriptedServer, given: str, sent: str) -> None:
    client.stat(given)
    assert server.take()[0].query == [("uri", sent)]


def test_what_waits_for_the_server_waits_longer() -> None:
    from openviking_sdk.calls import content, system
    from openviking_sdk.files import Upload
    from openviking_sdk.request import request_arguments
    from openviking_sdk.settings import Settings
    from openviking_sdk.uploading import temp_upload

    def answer_within(call: Any) -> Any:
        return request_arguments(call, Settings(timeout=10))["timeout"].read

    assert answer_within(content.write(R, "")) == 10
    assert answer_within(content.write(R, "", wait=True)) == 610
    assert answer_within(content.write(R, "", wait=True, timeout=30)) == 40
    assert answer_within(system.wait_processed()) == 610
    assert answer_within(system.wait_processed(5)) == 15
    large = Upload("x", io.BytesIO(), 100 * 2**20)
    assert answer_within(temp_upload(large)) == 1010


def test_values_that_no_json_holds_are_refused(client: Any, server: ScriptedServer) -> None:
    for wrong in (float("nan"), object(), "\ud800"):
        with pytest.raises(ov.errors.InvalidArgumentError):
            client.find("q", options={"since": wrong})
    with pytest.raises(ov.errors.InvalidArgumentError):
        client.ls("resources/\ud800")
    with pytest.raises(ov.errors.InvalidArgumentError):
        client.get_task("\ud800")
    assert server.take() == []


def test_an_address_may_be_too_long_to_be_sent(client: Any, server: ScriptedServer) -> None:
    with pytest.raises(ov.errors.InvalidArgumentError, match="too long"):
        client.stat("x" * 70_000)
    client.grep("x" * 70_000, "y")
    assert len(server.take()) == 1


def test_observer_and_is_healthy_ask_when_they_are_read(client: Any, server: ScriptedServer) -> None:
    for name in ("system", "queue", "vikingdb", "models", "lock", "retrieval", "filesystem"):
        server.gives({"name": name})
        assert getattr(client.observer, name) == {"name": name}
        assert server.take()[0].path == f"/api/v1/observer/{name}"
    for answer, healthy in (({"is_healthy": True}, True), ({"is_healthy": False}, False), ({}, False)):
        server.gives(answer)
        assert client.is_healthy() is healthy


def test_telemetry_comes_with_the_result(client: Any, server: ScriptedServer) -> None:
    server.gives({"total": 0}, telemetry={"id": "tm_1"})
    assert client.find("q", telemetry=True) == {"total": 0, "telemetry": {"id": "tm_1"}}


@pytest.mark.parametrize(
    ("method", "args", "sent"),
    [
        ("find", ("q", "a", 7, "https://x"), {"query": "q", "target_uri": "viking://a", "limit": 7, "image_url": "https://x"}),
        ("search", ("q", "s", "a", 7), {"query": "q", "session_id": "s", "target_uri": "viking://a", "limit": 7}),
        ("search_context", ("q", "s", "a", 7),
         {"query": "q", "mode": "context", "session_id": "s", "target_uri": "viking://a", "limit": 7}),
        ("grep", ("u", "p", True, 5, "x"),
         {"uri": "viking://u", "pattern": "p", "case_insensitive": True, "node_limit": 5, "exclude_uri": "viking://x"}),
        ("glob", ("p", "u", 5), {"pattern": "p", "uri": "viking://u", "node_limit": 5}),
        ("reindex", ("u", "vectors_only", False, True), {"uri": "viking://u", "mode": "vectors_only", "wait": False, "recursive": True}),
        ("write", ("u", "c", "create", True, {"timeout": 5}),
         {"uri": "viking://u", "content": "c", "mode": "create", "wait": True, "timeout": 5}),
        ("batch_write", ("u", [], False, {"timeout": 5}), {"root_uri": "viking://u", "operations": [], "wait": False, "timeout": 5}),
        ("add_resource", ("https://x", "a", None, True, {"timeout": 5}),
         {"path": "https://x", "to": "viking://a", "wait": True, "timeout": 5}),
        ("add_message", ("s", "user", None, [], {"peer_id": "p"}), {"role": "user", "parts": [], "peer_id": "p"}),
        ("commit_session", ("s", 3), {"keep_recent_count": 3}),
        ("create_session", ("s", {"memory_policy": {}}), {"session_id": "s", "memory_policy": {}}),
        ("add_skill", ({}, True, {"target_uri": "viking://a"}), {"data": {}, "wait": True, "target_uri": "viking://a"}),
        ("update_skill", ("n", {}, True, {"timeout": 5}), {"data": {}, "wait": True, "timeout": 5}),
        ("find_skills", ("q", 3, 0.5), {"query": "q", "limit": 3, "score_threshold": 0.5}),
        ("validate_skill", ("x", True, "p"), {"data": "x", "strict": True, "source_path": "p"}),
        ("admin_create_account", ("a", "u", {"x": 1}), {"account_id": "a", "admin_user_id": "u", "user_config": {"x": 1}}),
        ("admin_register_user", ("a", "u", "admin", {}), {"user_id": "u", "role": "admin", "user_config": {}}),
        ("admin_regenerate_key", ("a", "u", "s"), {"seed": "s"}),
    ],
)  # fmt: skip
def test_arguments_have_their_places(
    client: Any, server: ScriptedServer, method: str, args: tuple[Any, ...], sent: dict[str, Any]
) -> None:
    getattr(client, method)(*args)
    assert server.take()[0].json == sent


def test_options_may_hold_more_of_them(client: Any, server: ScriptedServer) -> None:
    client.find("q", options={"since": "1h", "extra": {"brand_new": 1, "until": None}})
    assert server.take()[0].json == {"query": "q", "since": "1h", "brand_new": 1}
    with pytest.raises(ov.errors.InvalidArgumentError, match="options is a mapping"):
        client.find("q", options=["since"])


def test_a_resource_has_one_place(client: Any, server: ScriptedServer) -> None:
    with pytest.raises(ov.errors.InvalidArgumentError, match="exclude each other"):
        client.add_resource("https://x", to="a", parent="b")
    assert server.take() == []
