"""The OpenAPI document is complete and true, and what is absent says so."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openviking.server.app import create_app
from openviking.server.routes import ROUTERS
from openviking.server.routes import absent as absent_routes
from openviking.service.services import Services

ABSENT = list(absent_routes.absent())
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "compare_routes.py"
FUZZER = SCRIPT.with_name("fuzz_schema.py")


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
    assert "openapi.json" in api.client.get("/docs").text


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
def test_a_real_server_keeps_what_its_document_promises() -> None:
    pytest.importorskip("schemathesis")
    done = subprocess.run(
        [sys.executable, str(FUZZER), "--requests", "160", "--seed", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = re.search(r"^([\d,]+) requests in all", done.stdout, re.MULTILINE)
    assert made
    assert int(made[1].replace(",", "")) >= 160
