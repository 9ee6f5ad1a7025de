"""Envelopes, headers, health, and what the observer tells (contract/core.md §1, §3.1, §3.11)."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from starlette.testclient import TestClient

from openviking.server.app import create_app
from openviking.service.services import Services


def test_the_envelope_has_its_nulls_and_lean_routes_have_none(api: Any) -> None:
    api.write("viking://resources/a.md", "zebra")
    full = api.call("GET", "fs/ls", params={"uri": "viking://resources"}).json()
    assert (full["status"], full["error"], full["telemetry"], full["profile"]) == ("ok", None, None, None)
    lean = api.call("POST", "search/find", json={"query": "zebra"}).json()
    assert set(lean) == {"status", "result"}


@pytest.mark.parametrize("asked", [True, {"summary": True}])
def test_telemetry_says_what_was_done_and_how_long_it_took(api: Any, asked: object) -> None:
    told = api.call("POST", "search/find", json={"query": "zebra", "telemetry": asked}).json()["telemetry"]
    assert re.fullmatch(r"tm_[0-9a-f]{32}", told["id"])
    assert told["summary"]["operation"] == "search.find"
    assert told["summary"]["status"] == "ok"
    assert 0 < told["summary"]["duration_ms"] < 10_000


def test_telemetry_without_its_summary_and_of_an_unknown_part(api: Any) -> None:
    told = api.call("POST", "search/find", json={"query": "zebra", "telemetry": {"summary": False}}).json()
    assert set(told["telemetry"]) == {"id"}
    assert api.refused("search/find", query="zebra", telemetry={"events": True}) == (400, "INVALID_ARGUMENT")


def test_the_request_id_is_echoed_or_made(api: Any) -> None:
    assert api.client.get("/health", headers={"X-Request-ID": "a.b:c-1"}).headers["X-Request-ID"] == "a.b:c-1"
    answer = api.client.get("/health")
    assert uuid.UUID(answer.headers["X-Request-ID"]).version == 4
    assert float(answer.headers["X-Process-Time"]) >= 0


@pytest.mark.parametrize("given", [["a", "b"], ["x" * 129], ["a b"], [""]])
def test_an_unsound_request_id_is_refused(api: Any, given: list[str]) -> None:
    answer = api.client.get("/health", headers=[("X-Request-ID", value) for value in given])
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "INVALID_ARGUMENT"


def test_health_and_ready_have_no_envelope(api: Any, until: Any) -> None:
    assert api.client.get("/health").json()["healthy"] is True
    until(lambda: api.client.get("/ready").status_code == 200)
    told = api.client.get("/ready").json()
    assert told["status"] == "ready"
    assert told["checks"]["vectordb"] == told["checks"]["agfs"]["status"] == "ok"
    assert told["checks"]["embedding"] == "not_configured"


def test_ready_says_that_the_data_directory_went_away(api: Any, services: Services, until: Any) -> None:
    until(lambda: api.client.get("/ready").status_code == 200)
    moved = services.settings.path.with_name("elsewhere")
    services.settings.path.rename(moved)
    answer = api.client.get("/ready")
    moved.rename(services.settings.path)
    assert answer.status_code == 503
    assert answer.json()["status"] == "not_ready"
    assert str(moved.parent) not in answer.text


def test_not_ready_before_it_has_begun(services: Services) -> None:
    assert services.readiness.checks() == {"status": "not_ready", "reason": "initializing"}
    with TestClient(create_app(services)):
        pass


def test_waiting_tells_of_both_queues(api: Any) -> None:
    api.write("viking://resources/n/a.md", "zebra")
    told = api.post("system/wait")
    assert set(told) == {"Semantic", "Embedding"}
    assert set(told["Semantic"]) == {"processed", "requeue_count", "error_count", "errors"}
    assert told["Semantic"]["error_count"] == 0
    assert api.get("system/status") == {"initialized": True, "user": "default"}


def test_waiting_in_vain_says_what_is_missing(api: Any, services: Services) -> None:
    services.tenancy.worker.stop()
    api.write("viking://resources/n/a.md", "zebra")
    answer = api.call("POST", "system/wait", json={"timeout": 0})
    assert answer.status_code == 503
    assert "stopping" in answer.json()["error"]["message"]


@pytest.mark.parametrize("timeout", [-1, "soon", True])
def test_a_timeout_that_is_none_is_refused(api: Any, timeout: object) -> None:
    assert api.refused("system/wait", timeout=timeout) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize("part", ["queue", "vikingdb", "models", "lock", "retrieval", "filesystem"])
def test_every_part_says_how_it_is(api: Any, part: str) -> None:
    told = api.get(f"observer/{part}")
    assert (told["name"], told["is_healthy"], told["has_errors"]) == (part, True, False)
    assert told["status"]


def test_the_whole_system(api: Any) -> None:
    told = api.get("observer/system")
    assert told["is_healthy"] is True
    assert told["errors"] == []
    assert set(told["components"]) == {"queue", "vikingdb", "models", "lock", "retrieval", "filesystem"}
    assert api.get("debug/health") == {"healthy": True}


def test_counting_records(api: Any) -> None:
    before = api.get("debug/vector/count", uri="viking://resources")["count"]
    api.write("viking://resources/n/a.md", "zebra")
    assert api.get("debug/vector/count", uri="viking://resources")["count"] > before
    assert api.call("GET", "debug/vector/count", params={"filter": "{}"}).status_code == 501
