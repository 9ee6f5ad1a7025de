"""The OpenAPI document is complete and true, and what is absent says so."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from openviking.server.app import create_app
from openviking.server.routes import ROUTERS
from openviking.server.routes import absent as absent_routes
from openviking.service.services import Services

ABSENT = list(absent_routes.absent())
UPLOAD = "/api/v1/resources/temp_upload"
"""Its forms are made by the client, and generated ones it refuses to make."""
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "compare_routes.py"


@pytest.fixture
def document(services: Services) -> Any:
    yield create_app(services).openapi()
    services.close()


def test_every_route_is_in_it_with_its_errors(document: Any) -> None:
    for router in ROUTERS:
        for route in router.routes:
            for method in route.methods:  # type: ignore[attr-defined]
                operation = document["paths"][route.path][method.lower()]  # type: ignore[attr-defined]
                assert "422" not in operation["responses"]
                assert route.path in {"/health", "/ready", "/metrics"} or "4XX" in operation["responses"]  # type: ignore[attr-defined]


def test_names_of_operations_are_distinct(document: Any) -> None:
    names = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len(names) == len(set(names))


def test_no_route_is_both_there_and_absent() -> None:
    there = {
        (method, route.path)  # type: ignore[attr-defined]
        for router in ROUTERS
        if router is not absent_routes.router
        for route in router.routes
        for method in route.methods  # type: ignore[attr-defined]
    }
    assert not there & {(one.method, one.path) for one in ABSENT}


@pytest.mark.parametrize("one", ABSENT, ids=lambda one: f"{one.method} {one.path}")
def test_what_is_absent_says_so_whatever_is_sent(api: Any, one: Any) -> None:
    path = one.path.replace("{", "").replace("}", "")
    answer = api.client.request(one.method, path, content=b"{", headers={"Content-Type": "application/json"})
    assert answer.status_code == 501
    if one.method != "HEAD":
        error = answer.json()["error"]
        assert (error["code"], error["message"]) == ("UNIMPLEMENTED", one.told)
        assert error["message"].endswith(" not part of this version")


def test_the_pages(api: Any) -> None:
    assert api.client.get("/openapi.json").json()["info"]["title"] == "OpenViking"
    assert "swagger" in api.client.get("/docs").text


def test_the_comparison_tells_have_from_501_and_missing(document: Any) -> None:
    spec = importlib.util.spec_from_file_location("compare_routes", SCRIPT)
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    sys.modules["compare_routes"] = script
    try:
        spec.loader.exec_module(script)
    finally:
        del sys.modules["compare_routes"]
    table = """| method | path | query | body |
| POST | /api/v1/search/find | - | query, nonsense* |
| GET | /api/v1/acl | uri* | - |
| GET | /api/v1/nowhere | - | - |"""
    told = [(state, lacking) for state, _, lacking in script.compared(script.documented(table), document)]
    assert told == [("have", ["nonsense"]), ("501", []), ("missing", [])]


@pytest.mark.slow
def test_generated_calls_meet_no_fault_and_no_untrue_schema(tenants: Any) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    caller = tenants("acme", "boss")
    schema = schemathesis.openapi.from_dict(caller.client.get("/openapi.json").json())
    operations = [one.ok() for one in schema.get_all_operations()]
    called = sum(
        generated_calls(caller, operation)
        for operation in operations
        if not operation.definition.raw.get("x-absent")
        and operation.path not in {"/metrics", "/api/v1/system/wait", UPLOAD}
    )
    assert called > 500


def generated_calls(caller: Any, operation: Any) -> int:
    """How many calls of one operation were made; none may be the server's fault, or answered by what is not described."""
    import hypothesis

    called = 0

    @hypothesis.settings(max_examples=25, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(case=operation.as_strategy())
    def holds(case: Any) -> None:
        nonlocal called
        sent = case.as_transport_kwargs(base_url="http://testserver")
        sent["headers"] = {**dict(sent.get("headers") or {}), **caller.headers}
        sent.pop("cookies", None)
        if isinstance(sent.get("data"), str | bytes):
            sent["content"] = sent.pop("data")
        answer = caller.client.request(**sent)
        assert answer.status_code < 500 or answer.status_code == 501, (operation.label, sent, answer.text)
        described = operation.definition.raw["responses"]
        assert {str(answer.status_code), f"{answer.status_code // 100}XX"} & set(described), (operation.label, sent)
        if answer.headers.get("content-type") == "application/json" and operation.path not in {"/health", "/ready"}:
            told = answer.json()
            assert told["status"] == ("ok" if answer.status_code < 400 else "error"), answer.text
        called += 1

    holds()
    return called
