"""Every operation with hostile values in each place that takes a text: never a fault of the server, always the envelope."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

SECRET = "/etc/passwd"
REFUSED = (
    "viking://resources/../user/other", "viking://resources/a/./x", "viking://resources/%2e%2e/x", "viking://resources/%252e%252e/x",
    "viking://resources/..\\x", "viking://resources/a\0b", "viking://resources/../../_system/users.json", "viking://temp/x",
    "viking://queue/x", "viking://user/../other", "file:///etc/passwd", SECRET, "viking://resources/\uff0e\uff0e/x",
    "viking://resources/\u2025/x", "viking://resources/" + "x" * 10_000, "viking://resources/{calendar:x}", "C:\\x", "\\\\host\\x",
    "viking://resources/a\r\nX-Evil: 1", "viking://resources/\ud800", "viking://_system/x", "viking://resources/C:/x", "", " ",
    "http://127.0.0.1/x", "viking:/resources/x", "VIKING://resources/x", "viking://resources/a%00b",
)  # fmt: skip
"""What no address may be, whatever is asked of it."""

PATHS = (
    *REFUSED, "viking://resources//a", "viking://user/other/memories", "viking://resources/a/ ", "viking://resources/\u202ea",
    "viking://resources/" + "a/" * 500, "viking://resources/#L9-L1", "~", "viking://", "viking:///", "viking://resources/..%c0%af..",
)  # fmt: skip
TEXTS = (
    "", " ", "\0", "\ud800", "\U0010ffff", "x" * 15_000, "../../x", "a\r\nX-Evil: 1", "\ufeff", "%00", "%s%n{0}", "'; drop table nodes; --",
    "(" * 5_000, "(a*)*" * 50, "-1", "1e400", "NaN", "nul", "*" * 5_000, "[" * 1_000, "\\",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, -(10**30), 1e308, 2**63, 0.1, [], {}, [[]] * 3, {"a": {"b": []}}, ["\0"], ["x"] * 5_000,
    json.loads("[" * 200 + "]" * 200),
)  # fmt: skip
RAW = (
    b"NaN",
    b"Infinity",
    b"1e400",
    b"-" + b"9" * 5_000,
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'"\\ud800"',
    b'"\xff"',
    b"",
)
"""JSON as no library would write it."""

GOOD: dict[str, Any] = {
    "uri": "viking://resources/docs/a.md", "from_uri": "viking://resources/docs/a.md", "to_uri": "viking://resources/docs/b.md",
    "root_uri": "viking://resources/docs", "query": "words", "pattern": "words", "content": "words", "mode": "replace", "user_id": "ann",
    "account_id": "acme", "operations": [], "role": "user", "data": "x", "session_id": "s1", "tags": [],
}  # fmt: skip
"""So that a call comes as far as the value that is hostile."""

STILL = {"/api/v1/system/wait"}


def operations(document: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            if not one.get("x-absent") and path not in STILL:
                yield method.upper(), path, one


def properties(document: Any, operation: dict[str, Any]) -> dict[str, Any]:
    """The members of the body of an operation, {} if it takes none."""
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    found: dict[str, Any] = schema.get("properties", {})
    return found


def checked(answer: Any, path: str, sent: Any) -> None:
    """The answer is no fault, and in the envelope where there is one."""
    shown = f"{sent!r:.300}: {answer.status_code} {answer.text:.500}"
    assert answer.status_code < 500 or answer.status_code in {501, 503, 504}, shown
    assert "X-Evil" not in answer.headers, shown
    assert "root:" not in answer.text, shown
    if answer.status_code >= 400 and path not in {"/ready", "/metrics"}:
        told = answer.json()
        assert told["status"] == "error", shown
        assert set(told["error"]) == {"code", "message", "details"}, shown
        assert told["error"]["code"] != "INTERNAL", shown
        assert len(told["error"]["message"]) < 30_000, shown


def call(api: Any, method: str, path: str, places: dict[str, str], query: dict[str, Any], body: Any) -> Any:
    for name, value in places.items():
        path = path.replace(f"{{{name}}}", quote(value.encode("utf-8", "surrogatepass"), safe=""))
    asked = "&".join(f"{name}={quote(str(value).encode('utf-8', 'surrogatepass'))}" for name, value in query.items())
    sent = {} if body is None else {"content": body, "headers": {"Content-Type": "application/json"}}
    return api.client.request(method, f"{path}?{asked}" if asked else path, **sent)


def hostile_calls(api: Any, document: Any, values: tuple[Any, ...], raw: tuple[bytes, ...], step: int) -> int:
    """How many calls were made: each operation, each of its parameters, every ``step``-th value.

    Which values these are is another thing for each parameter, so that each value comes to many places.
    """
    made = place = 0
    for method, path, operation in operations(document):
        parameters = operation.get("parameters", ())
        places = {one["name"]: str(GOOD.get(one["name"], "x")) for one in parameters if one["in"] == "path"}
        query = {
            one["name"]: GOOD.get(one["name"], "x") for one in parameters if one["in"] == "query" and one["required"]
        }
        members = properties(document, operation)
        body = {name: GOOD[name] for name in members if name in GOOD}
        whole = json.dumps(body) if members else None
        for one in parameters:
            place += 1
            for value in values[place % step :: step]:
                if not isinstance(value, str) or one["in"] not in {"path", "query"}:
                    continue
                told = (
                    ({**places, one["name"]: value}, query)
                    if one["in"] == "path"
                    else (places, {**query, one["name"]: value})
                )
                checked(call(api, method, path, *told, whole), path, (method, path, one["name"], value))
                made += 1
        for name in members:
            place += 1
            others = {key: value for key, value in body.items() if key != name}
            rest = json.dumps(others)[:-1].encode() + (b", " if others else b"") + json.dumps(name).encode() + b": "
            literals = [json.dumps(value).encode() for value in values[place % step :: step]] + [
                *raw[place % step :: step]
            ]
            for literal in literals:
                answer = call(api, method, path, places, query, rest + literal + b"}")
                checked(answer, path, (method, path, name, literal))
                made += 1
    return made


@pytest.fixture
def furnished(idle: Any) -> Any:
    """An application with a few files, and nothing at work behind it."""
    api, _ = idle
    api.write("viking://resources/docs/a.md", "# Words\n\nSome words.\n")
    return api


@pytest.mark.slow
def test_a_few_in_each_place(furnished: Any) -> None:
    document = furnished.client.get("/openapi.json").json()
    assert hostile_calls(furnished, document, ("viking://resources/..\\\ud800\0",), (), 1) > 200


@pytest.mark.slow
def test_all_of_them_in_many_places(furnished: Any) -> None:
    document = furnished.client.get("/openapi.json").json()
    assert hostile_calls(furnished, document, (*PATHS, *TEXTS, *OTHERS), RAW, 12) > 1_500


def test_what_no_address_may_be_is_refused_by_every_verb(furnished: Any, place: Path) -> None:
    good = "viking://resources/docs/a.md"
    verbs: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
        ("GET", "content/read", "uri", {}), ("GET", "content/download", "uri", {}), ("GET", "content/abstract", "uri", {}),
        ("GET", "fs/ls", "uri", {}), ("GET", "fs/tree", "uri", {}), ("GET", "fs/stat", "uri", {}), ("DELETE", "fs", "uri", {}),
        ("POST", "content/write", "uri", {"content": "x"}), ("POST", "fs/mkdir", "uri", {}), ("POST", "fs/mv", "from_uri", {"to_uri": good}),
        ("POST", "fs/mv", "to_uri", {"from_uri": good}), ("POST", "search/grep", "uri", {"pattern": "x"}),
        ("POST", "search/glob", "uri", {"pattern": "*"}), ("POST", "search/find", "target_uri", {"query": "x"}),
        ("POST", "content/set_tags", "uri", {"tags": ["a=b"]}), ("POST", "content/reindex", "uri", {}),
        ("POST", "content/batch-write", "root_uri", {"operations": [{"uri": good, "content": "x"}]}),
    )  # fmt: skip
    for method, path, name, others in verbs:
        for uri in REFUSED:
            if not uri.strip() and name in {"uri", "target_uri"} and path.startswith("search/"):
                continue  # An empty target is everything that one may see.
            if method == "POST":
                content = json.dumps({**others, name: uri}).encode()
                answer = furnished.call(method, path, content=content, headers={"Content-Type": "application/json"})
            else:
                answer = furnished.client.request(
                    method, f"/api/v1/{path}?{name}={quote(uri.encode('utf-8', 'surrogatepass'))}"
                )
            shown = (method, path, name, uri[:50], answer.status_code, answer.text[:300])
            assert answer.status_code in {400, 403, 404}, shown
            assert str(place) not in answer.text, shown
            checked(answer, path, shown)
    assert furnished.get("content/read", uri=good) == "# Words\n\nSome words.\n"
    assert [one["uri"] for one in furnished.get("fs/ls", uri="viking://resources")] == ["viking://resources/docs"]
