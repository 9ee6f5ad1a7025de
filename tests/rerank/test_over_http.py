"""Reranked searches over HTTP: others are served meanwhile, scores of events, what telemetry tells (§3.14, §4.6, §9.3, §9.4)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.stubs.scripted import Script, Scripted

from openviking.config.settings import EmbeddingSettings, RerankSettings, Settings
from openviking.model.identity import Identity
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services
from openviking.store.batch import SetTags

ROOT = Identity(account="default", user="default", role="root")
SEARCH = "/api/v1/search/search"


@pytest.fixture(scope="module")
def client(running: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    place: Path = tmp_path_factory.mktemp("reranked")
    settings = Settings(
        path=place, workers=0, embedding=EmbeddingSettings(provider="none"),
        rerank=RerankSettings(api_base=running.rerank_url, api_key="k", timeout=20.0),
    )  # fmt: skip
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    event = "viking://user/default/memories/events/crossing.md"
    services.content.write(ROOT, event, "The ferry crossing to the island.", "create")
    services.content.write(ROOT, "viking://resources/ferry.md", "A ferry sails to the island.", "create")
    store = services.tenancy.accounts.store(ROOT)
    store.apply([SetTags("user/default/memories/events/crossing.md", ("memory_type=events",))])
    with TestClient(create_app(services)) as client:
        yield client


def test_others_are_served_while_a_model_is_asked(client: Any, stub: Scripted) -> None:
    """Case 50."""
    stub.behave(Script(mood="never"))
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(client.post(SEARCH, json={"query": "ferry island"})))
    asking.start()
    try:
        stub.wait(lambda calls: len(calls) == 1)
        assert client.get("/health").status_code == 200
        assert client.post("/api/v1/search/find", json={"query": "ferry"}).json()["result"]["total"] > 0
        assert not answers, "both were answered only after the search that waits for its model"
    finally:
        stub.behave()
        asking.join(20)
    assert answers[0].json()["result"]["total"] > 0


def test_a_score_of_an_event_is_the_models(client: Any, stub: Scripted) -> None:
    """Case 60: what time made of the score is still told."""
    stub.behave(Script(scores=[0.75] + [0.25] * 9))
    asked = {
        "query": "ferry crossing island",
        "context_type": "memory",
        "level": 2,
        "events_time_decay_protection": "0",
    }
    (hit,) = client.post(SEARCH, json=asked).json()["result"]["memories"]
    assert hit["score"] == 0.75
    assert hit["time_score"] == pytest.approx(1.0, abs=1e-3)
    assert hit["origin_score"] not in (0.75, None)


def test_telemetry_tells_of_the_model(client: Any, stub: Scripted) -> None:
    asked = {"query": "ferry island", "telemetry": True, "target_uri": "viking://resources"}
    summary = client.post(SEARCH, json=asked).json()["telemetry"]["summary"]
    assert summary["tokens"]["rerank"]["total"] > 0
    assert summary["tokens"]["total"] >= summary["tokens"]["rerank"]["total"]
    assert summary["tokens"]["stages"]["rerank"]["rerank"]["total"] == summary["tokens"]["rerank"]["total"]
    assert summary["vector"]["scan_reason"] == "words"
    assert "errors" not in summary
    stub.behave(Script(status=400))
    summary = client.post(SEARCH, json=asked).json()["telemetry"]["summary"]
    assert (summary["errors"]["stage"], summary["errors"]["error_code"]) == ("rerank", "DEGRADED")
    assert "told to fail" in summary["errors"]["message"]
    assert "tokens" not in summary
