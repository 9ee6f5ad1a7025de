"""What a caller sent is quoted in errors, and never given back whole: every text of every route, one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

LONG = "loris" * 11_000
MOST = 4_500
"""An address of the longest kind, which names what is meant, and some words."""


@pytest.mark.slow
@pytest.mark.cpu_budget(20)
def test_no_error_gives_a_long_value_back(api: Any) -> None:
    document = api.client.get("/openapi.json").json()
    talkative = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if operation.get("x-absent"):
                continue
            for sent in calls(document, path, operation):
                answer = api.client.request(method.upper(), **sent)
                if answer.status_code >= 400 and len(answer.text) > MOST:
                    talkative.append(
                        (method, path, [*sent.get("params", {}), *sent.get("json", {})], answer.text[:200])
                    )
    assert talkative == []


def calls(document: Any, path: str, operation: Any) -> Iterator[dict[str, Any]]:
    """Calls with a long value in one place each, and in the others what the schema asks for at least."""
    parameters = operation.get("parameters", [])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    body = document["components"]["schemas"].get(body.get("$ref", "").rpartition("/")[2], body)
    fields = body.get("properties", {})
    needed = {one["name"]: right(one["schema"]) for one in parameters if one["in"] == "query" and one.get("required")}
    filled = {name: right(fields[name]) for name in body.get("required", ())}
    plain = re.sub(r"\{\w+\}", "x", path)
    wanted = {"json": filled} if fields else {}
    for one in parameters:
        if one["in"] == "path":
            yield {"url": re.sub(r"\{\w+\}", LONG[:30_000], path), "params": needed, **wanted}
        elif one["in"] == "query":
            yield {"url": plain, "params": {**needed, one["name"]: LONG[:30_000]}, **wanted}
    for name in fields:
        for value in (LONG, [LONG], {"op": LONG, LONG: LONG}):
            yield {"url": plain, "params": needed, "json": {**filled, name: value}}
    if fields:
        yield {"url": plain, "params": needed, "json": {**filled, LONG: 1}}


def right(schema: Any) -> Any:
    kinds = {"string": "viking://resources/x", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return kinds.get(schema.get("type"), "x")


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b'{"quer": "x"}', "body.quer: this field is not known; did you mean 'query'?"),
        (b'{"query": "x", "zzz": 1}', "body.zzz: this field is not known; known are "),
        (b'{"query": "x", "telemetry": {"sumary": true}}', "did you mean 'summary'?"),
        (b'{"query": "x",', "the body is no JSON: "),
    ],
)
def test_what_is_wrong_with_a_body_is_said_with_its_place(api: Any, sent: bytes, told: str) -> None:
    answer = api.client.post("/api/v1/search/find", content=sent, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert told in answer.json()["error"]["message"]
    assert "not {}" not in answer.text
