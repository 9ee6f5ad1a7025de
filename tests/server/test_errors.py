"""Whatever comes in, the answer is an envelope and none of the server's faults (contract/core.md §1.2)."""

from __future__ import annotations

import gzip
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


def test_why_a_body_is_no_json(api: Any) -> None:
    for body, said in (
        (b"[" * 100_000, "nested too deeply"),
        (b'{"query": "x", "limit": ' + b"9" * 5_000 + b"}", "too many digits"),
        (b'{"query": "\xff"}', "not UTF-8: invalid start byte at byte 11"),
    ):
        assert said in api.call("POST", "search/find", content=body, headers=JSON).json()["error"]["message"]


def test_a_compressed_body_is_not_unpacked(api: Any) -> None:
    packed = gzip.compress(b'{"query": "' + b"x" * 5_000_000 + b'"}')
    for path in ("search/find", "resources/temp_upload"):
        answer = api.call("POST", path, content=packed, headers={**JSON, "Content-Encoding": "gzip"})
        assert refusal(answer) == (415, "INVALID_ARGUMENT")
    plain = api.call("POST", "search/find", content=b'{"query": "x"}', headers={**JSON, "Content-Encoding": "identity"})
    assert plain.status_code == 200


def test_many_parts_in_another_encoding(api: Any) -> None:
    text = '["\\"",' + "[]," * (MAX_STRUCTURE // 2) + '"x"]'
    assert refusal(api.call("POST", "search/find", content=text.encode("utf-16"), headers=JSON))[0] == 413


def test_what_other_tools_write_is_read(api: Any) -> None:
    """A byte order mark, the wide encodings, and of two members of one name the last, as everywhere in JSON."""
    plain = '{"query": "x"}'
    for body in (plain.encode("utf-8-sig"), plain.encode("utf-16"), b'{"query": 3, "query": "x"}', b' {"query":"x"}\n'):
        assert api.call("POST", "search/find", content=body, headers=JSON).status_code == 200


def test_an_identifier_that_is_none(api: Any) -> None:
    for name in ("X-OpenViking-User", "X-OpenViking-Account", "X-OpenViking-Actor-Peer"):
        for value in ("a" * 129, "a" * 5_000, "..", "../x", "a/b", "a\\b", "é", "a b", "a@b@c", "a:b"):
            answer = api.call("POST", "search/find", json={"query": "x"}, headers={name: value.encode("latin-1")})
            assert refusal(answer) == (400, "INVALID_ARGUMENT"), (name, value)
            assert "/accounts/" not in answer.text


def test_a_header_that_is_there_twice(api: Any, tenants: Any) -> None:
    key = tenants("acme", "ann").headers["X-API-Key"]
    keys = tenants("acme", "bob").client
    for client, name, value in (
        (api.client, "X-OpenViking-User", "a"), (api.client, "X-Request-ID", "a"), (keys, "X-API-Key", key),
        (keys, "Authorization", f"Bearer {key}"),
    ):  # fmt: skip
        assert client.get("/api/v1/fs/ls?uri=viking://", headers={name: value}).status_code == 200
        twice = client.get("/api/v1/fs/ls?uri=viking://", headers=[(name, value), (name, value)])
        assert refusal(twice) == (400, "INVALID_ARGUMENT")


def test_a_name_does_not_break_the_header_that_tells_it(api: Any) -> None:
    for name in ('a";x=y.md', "a\u202eb.md", "é\u0301.md", "a;b=c.md", "%0d%0a.md", "'.md"):
        api.write(f"viking://resources/{name}", "x")
        answer = api.call("GET", "content/download", params={"uri": f"viking://resources/{name}"})
        told = answer.headers["Content-Disposition"]
        assert answer.content == b"x"
        assert told.isascii()
        assert told.isprintable()
        assert told.count('"') in {0, 2} or '\\"' in told, told


def test_an_address_that_is_not_utf_8(api: Any) -> None:
    for address in ("fs/ls?uri=viking://resources/%ff", "fs/ls?uri=viking://resources/%ED%A0%80", "sessions/%c0%af"):
        assert refusal(api.client.get(f"/api/v1/{address}")) == (400, "INVALID_ARGUMENT")
    assert refusal(api.client.get("/api/v1/fs/ls?uri=viking://resources/%EF%BF%BD")) == (404, "NOT_FOUND")
