"""What stands before the tools over HTTP: keys, identities, pages of elsewhere, links, and requests that are no protocol."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from openviking.errors import PermissionDeniedError
from openviking.mcp.links import MAX_OF_ONE, Tickets
from openviking.model.identity import Identity

ROOT_KEY = "root-key-of-the-tests"
ROOT = Identity(account="default", user="default", role="root")
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
F = "viking://resources/zoo/koala.md"


def message(method: str = "tools/call", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def post(http: httpx2.AsyncClient, body: Any, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await http.post("/mcp", content=content, headers=HEADERS | headers)


async def test_without_or_with_a_wrong_key_it_is_an_error_of_the_protocol(opened: Any) -> None:
    async with opened(ROOT_KEY) as place, place.client() as http:
        for headers, status, code in (
            ({}, 401, "UNAUTHENTICATED"),
            ({"Authorization": "Bearer wrong"}, 401, "UNAUTHENTICATED"),
            ({"X-API-Key": ROOT_KEY}, 403, "PERMISSION_DENIED"),
        ):
            answer = await post(http, message("tools/list"), **headers)
            told = answer.json()
            assert answer.status_code == status
            assert (told["jsonrpc"], told["id"], told["error"]["code"]) == ("2.0", None, -32001)
            assert told["error"]["message"].startswith(f"{code}: ")
            assert told["error"]["data"]["code"] == code
            assert answer.headers["content-length"] == str(len(answer.content))


async def test_each_caller_is_who_the_key_says(opened: Any) -> None:
    async with opened(ROOT_KEY) as place:
        admin = place.services.admin
        keys = {"ann": admin.create_account(ROOT, "acme", "ann")["user_key"]}
        keys["bob"] = admin.register_user(ROOT, "acme", "bob")["user_key"]
        keys["eve"] = admin.create_account(ROOT, "evil", "eve")["user_key"]
        agents = {name: {"Authorization": f"Bearer {key}", "X-OpenViking-User": "ann"} for name, key in keys.items()}
        async with (
            place.agent(agents["ann"]) as ann,
            place.agent(agents["bob"]) as bob,
            place.agent(agents["eve"]) as eve,
        ):
            assert "You are ann of account acme" in await ann.call("health")
            assert "You are bob of account acme" in await bob.call("health")
            await ann.call("write", uri="viking://~/memories/secret.md", content="The hedgehog sings.")
            await ann.call("write", uri="viking://resources/shared.md", content="A hedgehog dances.")
            assert "hedgehog dances" in await bob.call("read", uris="viking://resources/shared.md")
            await bob.refused("read", uris="viking://user/ann/memories/secret.md")
            assert "secret" not in await bob.call("find", query="hedgehog sings", min_score=0)
            assert "secret" not in await bob.call("grep", uri="viking://", pattern="hedgehog")
            assert (await eve.call("find", query="hedgehog", min_score=0)).startswith("No matching")
            users = await ann.call("list_users")
            assert re.findall(r'"user_id": "(\w+)"', users) == ["ann", "bob"]
            assert '"users"' in users
            assert "key" not in users
            assert "key_prefix" in await ann.call("list_users", include_credentials=True)
            assert re.findall(r'"user_id": "(\w+)"', await ann.call("list_users", limit=1, cursor="1")) == ["bob"]
            assert "PERMISSION_DENIED" in await bob.refused("list_users")


async def test_the_actor_peer_is_that_of_the_header(opened: Any) -> None:
    async with opened() as place:
        async with place.agent() as agent:
            for peer in ("cat", "dog"):
                await agent.call(
                    "write", uri=f"viking://~/peers/{peer}/memories/food.md", content=f"the {peer} eats fish"
                )
        async with place.agent({"X-OpenViking-Actor-Peer": "cat"}) as cat:
            found = await cat.call("find", query="eats fish", min_score=0)
            assert "/peers/cat/" in found
            assert "/peers/dog/" not in found
        async with place.client() as http:
            answer = await post(http, message("tools/list"), **{"X-OpenViking-Actor-Peer": "a/b"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32001)


async def test_pages_of_elsewhere_are_refused_without_keys(opened: Any) -> None:
    async with opened() as place, place.client() as http:
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            answer = await post(http, message("tools/list"), **headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, -32001)
        assert (await post(http, message("tools/list"), Origin="http://localhost:3000")).status_code == 200


async def test_requests_that_are_no_protocol(opened: Any) -> None:
    async with opened() as place, place.client() as http:
        for method in ("GET", "DELETE", "PUT"):
            answer = await http.request(method, "/mcp", headers=HEADERS)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        deep = (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":' + b'{"query":' * 3_000
        )
        for body in (
            b"",
            b"{",
            b"[]",
            b"null",
            b"\xff\xfe",
            b'{"id":1}',
            b"[" * 50_000,
            deep,
            deep + b"1" + b"}" * 3_002,
        ):
            answer = await post(http, body)
            assert 400 <= answer.status_code < 500, body[:40]
            assert answer.json()["error"]["code"] < 0
        assert (await http.post("/mcp", content=b"{}", headers={"Content-Type": "text/plain"})).status_code in {
            400,
            406,
            415,
        }
        unknown = await post(http, message("no/such/method"))
        assert "error" in unknown.json()
        # Half of a surrogate pair can be spelled in JSON.
        for arguments in ({"uris": "viking://resources/\ud800"}, {"uris": ["\udc00"]}):
            answer = await post(http, message(name="read", arguments=arguments))
            assert answer.status_code in {200, 400}
            assert "error" in answer.json() or answer.json()["result"]["isError"]
        answer = await post(http, message(name="write", arguments={"uri": F, "content": "\udc00"}))
        assert "error" in answer.json() or "INVALID_ARGUMENT" in answer.text
        # Both spellings of the place, and a batch of calls at once.
        same = await http.post("/mcp/", content=json.dumps(message("tools/list")).encode(), headers=HEADERS)
        assert len(same.json()["result"]["tools"]) == 18


async def test_links_send_and_fetch_without_a_key(opened: Any) -> None:
    async with opened(ROOT_KEY, public_base_url="https://ov.example/") as place, place.client() as http:
        key = place.services.admin.create_account(ROOT, "acme", "ann")["user_key"]
        async with place.agent({"Authorization": f"Bearer {key}"}) as agent:
            await agent.call("write", uri=F, content="download me\n")
            link = re.findall(
                r"https://ov\.example(/api/v1/content/download\?token=\S+)", await agent.call("download", uri=F)
            )[0]
            for _ in range(2):
                answer = await http.get(link)
                assert (answer.status_code, answer.content) == (200, b"download me\n")
                assert answer.headers["content-disposition"].endswith("koala.md")
            assert (await http.post(link)).status_code == 401
            wrong_kind = link.replace("content/download", "resources/temp_upload")
            assert (await http.post(wrong_kind, files={"file": ("a.md", b"x")})).status_code == 403

            told = await agent.call("add_resource", path="/home/ann/note.md", to="viking://resources/note")
            upload = re.findall(r"https://ov\.example(/api/v1/resources/temp_upload\?token=[^']+)", told)[0]
            assert (await http.post(upload, content=b"no form")).status_code == 400
            # A failed attempt uses the link up.
            assert (await http.post(upload, files={"file": ("note.md", b"# A quokka")})).status_code == 403
            told = await agent.call("add_resource", path="/home/ann/note.md", to="viking://resources/note")
            upload = re.findall(r"https://ov\.example(/api/v1/resources/temp_upload\?token=[^']+)", told)[0]
            answer = await http.post(upload, files={"file": ("note.md", b"# A quokka")})
            assert answer.status_code == 200, answer.text
            place.services.system.wait_processed(Identity("acme", "ann", "admin"), 20)
            assert "quokka" in await agent.call("grep", uri="viking://resources/note", pattern="quokka")
            for token in ("", "x", "%ff", "a&token=b"):
                assert (await http.get(f"/api/v1/content/download?token={token}")).status_code in {400, 401, 403}


def test_tickets_end() -> None:
    now = [0.0]
    tickets = Tickets(600, lambda: now[0])
    other = Identity("acme", "ann", "user")
    kept = tickets.issue("download", other, "y")
    first = tickets.issue("upload", ROOT, "x")
    assert tickets.use("upload", first).terms == "x"
    with pytest.raises(PermissionDeniedError):
        tickets.use("upload", first)
    many = [tickets.issue("upload", ROOT, number) for number in range(MAX_OF_ONE + 1)]
    with pytest.raises(PermissionDeniedError):
        tickets.use("upload", many[0])
    assert tickets.use("upload", many[-1]).terms == MAX_OF_ONE
    assert tickets.use("download", kept).caller == other
    now[0] = 601
    for kind, token in (("download", kept), ("upload", many[5])):
        with pytest.raises(PermissionDeniedError):
            tickets.use(kind, token)  # type: ignore[arg-type]


async def test_where_links_lead(opened: Any) -> None:
    cases: list[tuple[dict[str, str], str]] = [
        ({}, "http://127.0.0.1:1933/"),
        ({"X-Forwarded-Host": "ov.example, inner", "X-Forwarded-Proto": "http, https"}, "http://ov.example/"),
        ({"X-Forwarded-Host": "ov.example"}, "https://ov.example/"),
        ({"X-Forwarded-Host": "a b'; rm -rf"}, "http://127.0.0.1:1933/"),
    ]
    async with opened() as place:
        place.services.content.write(ROOT, F, "x", "create")
        for headers, base in cases:
            async with place.agent(headers) as agent:
                assert base in await agent.call("download", uri=F)


@pytest.mark.slow
async def test_a_slow_call_keeps_no_other_waiting(opened: Any) -> None:
    async with opened() as place, place.agent() as agent:
        await agent.call("write", uri=F, content="a" * 40 + "b\n")
        slow = asyncio.ensure_future(agent.refused("grep", uri=F, pattern=r"(a|a|aa)+$"))
        answered = 0
        while not slow.done():
            async with place.client() as http:
                assert (await http.get("/health")).status_code == 200
            await agent.call("health")
            answered += 1
        assert "DEADLINE_EXCEEDED" in await slow
        assert answered > 3


async def test_a_client_of_the_protocol_without_a_handshake(opened: Any) -> None:
    async with (
        opened() as place,
        place.client() as http,
        Client(streamable_http_client("http://127.0.0.1:1933/mcp", http_client=http)) as client,
    ):
        assert client.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS
        assert len((await client.list_tools()).tools) == 18
        assert not (await client.call_tool("health", {})).is_error
        assert (await client.call_tool("read", {"uris": "http://x"})).is_error
