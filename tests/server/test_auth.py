"""One tenant never sees another, whatever it asks (contract/core.md §1.5, §1.8), and trusted gateways are believed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

WORD = "quokkasecret"


@pytest.fixture
def world(tenants: Any) -> dict[str, Any]:
    """Two accounts of two users each; everybody keeps a word of their own in their tree, and one all members may read."""
    made = {}
    for account, users in (("acme", ("ann", "bob")), ("globex", ("eve", "fay"))):
        for user in users:
            caller = made[user] = tenants(account, user)
            caller.write(f"viking://user/{user}/memories/{user}.md", f"{WORD}{user} private")
            session = f"session-of-{user}"
            long = {"type": "tool", "tool_name": "t", "tool_output": f"{WORD}{user} " * 2_000}
            said = [{"role": "user", "content": f"{WORD}{user} said"}, {"role": "assistant", "parts": [long]}]
            caller.post(f"sessions/{session}/messages/batch", messages=said)
            [result] = caller.get(f"sessions/{session}/tool-results")["tool_results"]
            caller.post(f"sessions/{session}/commit", keep_recent_count=1)
            skill = f"---\nname: skill-of-{user}\ndescription: {WORD}{user}\n---\nhow\n"
            caller.post("skills", data=skill)
            # One task that is over, one that was cancelled, and an upload that waits.
            private = f"viking://user/{user}/resources/imported"
            done = caller.post("resources", temp_file_id=caller.upload(f"# {WORD}{user}\n".encode()), to=private)
            caller.theirs = {
                "task_id": done["task_id"], "skill_name": f"skill-of-{user}", "temp_file_id": caller.upload(b"# w\n"),
                "session_id": session, "archive_id": "archive_001", "tool_result_id": result["tool_result_id"],
                "resource_id": private,
            }  # fmt: skip
        made[users[0]].write(f"viking://resources/{account}/shared.md", f"{WORD}{account} shared")
    return made


def asked(document: dict[str, Any], theirs: dict[str, str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every route with somebody else's URIs and ids wherever it takes one."""
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if operation.get("x-absent") or path in {"/metrics", "/api/v1/system/wait"}:
                continue
            named = path
            params: dict[str, Any] = {}
            for one in operation.get("parameters", []):
                value = theirs.get(one["name"], "1" if one["name"].endswith("limit") else None)
                if one["in"] == "path":
                    named = named.replace("{" + one["name"] + "}", value or "x")
                elif one["in"] == "query" and (one.get("required") or one["name"] in theirs):
                    params[one["name"]] = value or "x"
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            schema = content.get("schema", {})
            while "$ref" in schema or "anyOf" in schema:
                schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema["anyOf"][0]
            body: dict[str, Any] | None = None
            if content:
                body = {name: theirs[name] for name in schema.get("properties", {}) if name in theirs}
                body |= {name: "x" for name in schema.get("required", []) if name not in body}
            yield method, named, {"params": params, **({"json": body} if body is not None else {})}


@pytest.mark.cpu_budget(20)
@pytest.mark.parametrize(
    ("who", "whose", "account"), [("eve", "ann", "acme"), ("fay", "bob", "acme"), ("bob", "ann", "acme")]
)
def test_no_route_tells_of_another(world: dict[str, Any], who: str, whose: str, account: str) -> None:
    caller = world[who]
    assert world[whose].theirs["task_id"] not in json.dumps(caller.get("tasks", include_internal=True, limit=200))
    for method, path in (("GET", "tasks/{task_id}"), ("POST", "tasks/{task_id}/cancel"), ("GET", "skills/{skill_name}"),
                         ("GET", "sessions/{session_id}"), ("GET", "sessions/{session_id}/archives/{archive_id}"),
                         ("GET", "sessions/{session_id}/tool-results/{tool_result_id}")):  # fmt: skip
        there = caller.call(method, path.format(**world[whose].theirs))
        absent = caller.call(method, path.format(**dict.fromkeys(world[whose].theirs, "nothing")))
        assert there.status_code == absent.status_code == 404, path
        assert there.json()["error"]["code"] == absent.json()["error"]["code"]
    taken = caller.call("POST", "resources", json={"temp_file_id": world[whose].theirs["temp_file_id"]})
    assert taken.status_code == 403
    document = caller.client.get("/openapi.json").json()
    private = f"viking://user/{whose}/memories/{whose}.md"
    for uri in (private, f"viking://user/{whose}", "viking://user"):
        theirs = {
            "uri": uri, "from_uri": uri, "to_uri": "viking://resources/taken.md", "target_uri": uri, "root_uri": uri,
            "parent": uri, "query": WORD, "pattern": WORD, "mode": "replace",
            "content": "overwritten", "account_id": account, "user_id": whose, "q": WORD, "role": "user",
            **world[whose].theirs,
        }  # fmt: skip
        calls = 0
        for method, path, sent in asked(document, theirs):
            answer = caller.client.request(method, path, headers=caller.headers, **sent)
            calls += 1
            assert answer.status_code < 500 or answer.status_code == 501, (method, path, answer.text)
            told = answer.text.replace(json.dumps(sent.get("json") or {})[1:-1], "")
            assert f"{WORD}{whose}" not in told, (method, path, sent)
            if who != "bob":
                assert f"{WORD}{account}" not in told, (method, path, sent)
        assert calls > 50
    assert world[whose].get(f"tasks/{world[whose].theirs['task_id']}")["status"] in {"completed", "running", "pending"}
    assert world[whose].get(f"skills/skill-of-{whose}")["description"] == f"{WORD}{whose}"
    assert world[whose].get("content/read", uri=private) == f"{WORD}{whose} private"


@pytest.mark.parametrize("route", ["fs/stat", "fs/ls", "content/read", "content/abstract", "fs/attrs"])
def test_what_is_there_and_what_is_not_look_the_same(world: dict[str, Any], route: str) -> None:
    answers = []
    for uri in ("viking://user/ann/memories/ann.md", "viking://user/ann/memories/nothing.md"):
        answer = world["bob"].call("GET", route, params={"uri": uri})
        answers.append((answer.status_code, answer.text.replace(uri, "")))
    assert answers[0] == answers[1]
    assert answers[0][0] in {403, 404}


def test_another_account_has_nothing_of_it(world: dict[str, Any]) -> None:
    eve = world["eve"]
    assert eve.call("GET", "fs/ls", params={"uri": "viking://resources/acme"}).status_code == 404
    assert "shared.md" not in json.dumps(eve.post("search/glob", pattern="**/acme/**"))
    assert eve.post("search/grep", uri="viking://resources", pattern=f"{WORD}acme")["count"] == 0


def test_counts_are_of_what_one_may_see(world: dict[str, Any]) -> None:
    # What is written in the background is counted too.
    world["bob"].post("system/wait", timeout=30)
    before = world["bob"].get("debug/vector/count")["count"]
    for number in range(3):
        world["ann"].write(f"viking://user/ann/memories/more/{number}.md", f"{number} more")
    assert world["bob"].get("debug/vector/count")["count"] == before


@pytest.fixture
def gateway(place: Path) -> Iterator[Any]:
    settings = Settings(path=place, embedding=EmbeddingSettings(provider="none"))
    with TestClient(create_app(Services(settings, Rules.of("trusted", "k", "127.0.0.1")))) as client:
        yield client


def headers(user: str, **more: str) -> dict[str, str]:
    return {"X-API-Key": "k", "X-OpenViking-Account": "acme", "X-OpenViking-User": user, **more}


def test_a_gateway_says_who_is_calling(gateway: Any) -> None:
    body = {"uri": "viking://user/ann/memories/a.md", "content": "zebra", "mode": "create"}
    assert gateway.post("/api/v1/content/write", json=body, headers=headers("ann")).status_code == 200
    read = {"params": {"uri": "viking://user/ann/memories/a.md"}}
    assert gateway.get("/api/v1/content/read", headers=headers("bob"), **read).status_code == 403
    assert gateway.get("/api/v1/content/read", headers=headers("ann"), **read).json()["result"] == "zebra"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"X-API-Key": "k"}, 400),
        ({"X-API-Key": "k", "X-OpenViking-Account": "acme"}, 400),
        (headers("a/b"), 400),
        (headers("ann", **{"X-OpenViking-Role": "root"}), 400),
        (headers("ann") | {"X-API-Key": "wrong"}, 401),
        (headers("ann", **{"X-OpenViking-Actor-Peer": "a/b"}), 400),
    ],
)
def test_a_gateway_that_says_nonsense(gateway: Any, sent: dict[str, str], status: int) -> None:
    assert gateway.get("/api/v1/system/status", headers=sent).status_code == status


def test_a_header_that_is_there_twice(gateway: Any) -> None:
    twice = [*headers("ann").items(), ("X-OpenViking-User", "bob")]
    assert gateway.get("/api/v1/system/status", headers=twice).status_code == 400


def test_no_answer_to_a_gateway_has_a_key(gateway: Any) -> None:
    made = gateway.post(
        "/api/v1/admin/accounts", json={"account_id": "acme", "admin_user_id": "ann"}, headers={"X-API-Key": "k"}
    )
    assert made.json()["result"] == {"account_id": "acme", "admin_user_id": "ann"}
