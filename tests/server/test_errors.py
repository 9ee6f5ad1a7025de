"""Whatever comes in, the answer is an envelope and none of the server's faults (contract/core.md §1.2)."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.server.body_limit import MAX_BYTES, MAX_STRUCTURE

JSON = {"Content-Type": "application/json"}


def refusal(answer: Any) -> tuple[int, str]:
    told = answer.json()
    assert told["status"] == "error"
    assert set(told["error"]) == {"code", "message", "details"}
    return answer.status_code, told["error"]["code"]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b"3", b'"x"', b"\xff\xfe", b'{"query": NaN}', b'{"query": "x", "limit": Infinity}',
        b"[" * 100_000, b'{"query":' * 50_000, b'{"query": "\\ud800"}', b'{"query": "x", "score_threshold": 1e999}',
        b'{"query": "x", "nonsense": 1}', b'{"query": 3}', b'{"query": "x", "limit": "10"}',
        b'{"query": "x", "limit": 1.0}', b'{"query": "x", "limit": true}', b'{"query": "x", "limit": 0}',
        b'{"query": "x", "tags": "a=b"}',
    ],
)  # fmt: skip
def test_a_body_that_is_no_question(api: Any, body: bytes) -> None:
    assert refusal(api.call("POST", "search/find", content=body, headers=JSON)) == (400, "INVALID_ARGUMENT")


def test_half_of_a_surrogate_pair_anywhere(api: Any) -> None:
    for uri, content in (("viking://resources/\ud800.md", "x"), ("viking://resources/a.md", "\udfff")):
        answer = api.call("POST", "content/write", headers=JSON, content=_ascii(uri=uri, content=content))
        assert refusal(answer)[0] == 400


def _ascii(**body: str) -> bytes:
    import json

    return json.dumps({**body, "mode": "create"}).encode("ascii")


def test_what_is_wrong_is_named(api: Any) -> None:
    told = api.call("POST", "search/find", json={"query": 3, "nonsense": 1}).json()["error"]
    assert {tuple(one["loc"]) for one in told["details"]["validation_errors"]} == {
        ("body", "query"),
        ("body", "nonsense"),
    }
    assert "body.query" in told["message"]


@pytest.mark.parametrize("path", ["/nowhere", "/api/v1/nowhere", "/api/v1/search", "/"])
def test_an_unknown_route(api: Any, path: str) -> None:
    assert refusal(api.client.get(path)) == (404, "NOT_FOUND")


def test_the_wrong_verb(api: Any) -> None:
    assert refusal(api.client.put("/health")) == (405, "UNKNOWN")
    assert refusal(api.call("GET", "search/find")) == (405, "UNKNOWN")


def test_too_large_a_body(api: Any) -> None:
    told = {"uri": "viking://resources/a.md", "content": "x" * MAX_BYTES, "mode": "create"}
    assert refusal(api.call("POST", "content/write", json=told)) == (413, "INVALID_ARGUMENT")


def test_too_large_a_body_of_unknown_length(api: Any) -> None:
    def pieces() -> Any:
        for _ in range(MAX_BYTES // 65_536 + 2):
            yield b"x" * 65_536

    assert refusal(api.call("POST", "content/write", content=pieces(), headers=JSON)) == (413, "INVALID_ARGUMENT")


def test_too_many_parts(api: Any) -> None:
    body = b"[" + b"[]," * (MAX_STRUCTURE // 3 + 1) + b"[]]"
    assert refusal(api.call("POST", "search/find", content=body, headers=JSON)) == (413, "INVALID_ARGUMENT")


def test_a_large_text_is_no_large_structure(api: Any) -> None:
    text = '{"a": [1, "\\n"]},\n' * 100_000
    api.write("viking://resources/large.json", text)
    assert api.get("content/read", uri="viking://resources/large.json") == text


def test_a_body_without_a_type_is_refused(api: Any) -> None:
    answer = api.call("POST", "search/find", content=b'{"query": "x"}', headers={"Content-Type": "text/plain"})
    assert refusal(answer) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("method", "path", "sent", "expected"),
    [
        ("GET", "content/read", {"params": {"uri": "viking://resources"}}, (400, "INVALID_ARGUMENT")),
        ("GET", "content/download", {"params": {"uri": "viking://resources"}}, (400, "INVALID_ARGUMENT")),
        ("GET", "fs/ls", {"params": {"uri": "viking://resources/a.md"}}, (412, "FAILED_PRECONDITION")),
        ("GET", "fs/stat", {"params": {"uri": "viking://resources/none"}}, (404, "NOT_FOUND")),
        ("GET", "content/read", {"params": {"uri": "viking://resources/none.md"}}, (404, "NOT_FOUND")),
        ("GET", "fs/ls", {"params": {"uri": "http://x"}}, (400, "INVALID_URI")),
        ("GET", "fs/ls", {"params": {"uri": ""}}, (400, "INVALID_URI")),
        ("GET", "fs/ls", {}, (400, "INVALID_ARGUMENT")),
        ("GET", "fs/ls", {"params": {"uri": "viking://resources/../user"}}, (403, "PERMISSION_DENIED")),
        ("GET", "fs/ls", {"params": {"uri": "viking://temp/x"}}, (400, "INVALID_URI")),
        ("GET", "fs/ls", {"params": {"uri": "viking://resources", "node_limit": "many"}}, (400, "INVALID_ARGUMENT")),
        ("POST", "fs/mkdir", {"json": {"uri": "viking://resources"}}, (409, "CONFLICT")),
        ("POST", "search/grep", {"json": {"uri": "viking://resources", "pattern": "("}}, (400, "INVALID_ARGUMENT")),
    ],
)  # fmt: skip
def test_wrong_kind_missing_malformed(api: Any, method: str, path: str, sent: Any, expected: tuple[int, str]) -> None:
    api.write("viking://resources/a.md", "x")
    assert refusal(api.call(method, path, **sent)) == expected


def test_a_directory_is_not_read_and_says_what_was_expected(api: Any) -> None:
    details = api.call("GET", "content/read", params={"uri": "viking://resources"}).json()["error"]["details"]
    assert (details["expected"], details["actual"]) == ("file", "directory")


def test_a_fault_tells_nothing(services: Any, caplog: Any) -> None:
    from starlette.testclient import TestClient

    from openviking.server.app import create_app

    def fault(*_: object, **__: object) -> None:
        raise RuntimeError("/secret/path")

    services.fs.stat = fault
    with TestClient(create_app(services), raise_server_exceptions=False) as client:
        answer = client.get("/api/v1/fs/stat", params={"uri": "viking://resources"})
    assert refusal(answer) == (500, "INTERNAL")
    assert "secret" not in answer.text
    assert "X-Request-ID" in answer.headers
    assert "secret" in caplog.text
    assert answer.headers["X-Request-ID"]
