"""Memories over HTTP: the routes, and a server whose chat model does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.stubs.scripted import Script, Scripted

from openviking.config.settings import ChatSettings, EmbeddingSettings, MemorySettings, Settings
from openviking.errors import InvalidArgumentError
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services


@pytest.fixture
def services(stub: Scripted, tmp_path: Any) -> Iterator[Services]:
    """Of a server with a model that has a minute for an answer."""
    settings = Settings(
        path=tmp_path / "data", workers=1, embedding=EmbeddingSettings(provider="none"),
        memory=MemorySettings(extraction_timeout=60.0), vlm=ChatSettings(model="m", api_base=stub.chat_url),
    )  # fmt: skip
    made = Services(settings, Rules.of(None, None, "127.0.0.1"))
    yield made
    made.close()


def result(answer: Any, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()["result"] if status == 200 else answer.json()["error"]


def test_a_model_that_never_answers_blocks_nobody(services: Services, stub: Scripted) -> None:
    stub.behave(Script(mood="never"))
    with TestClient(create_app(services)) as client:
        talk = "/api/v1/sessions/talk"
        for number in range(3):
            result(client.post(f"{talk}/messages", json={"role": "user", "content": f"I prefer tea number {number}."}))
            task = result(client.post(f"{talk}/commit"))["task_id"]
        stub.wait(lambda calls: len(calls) == 2)
        # Its jobs have threads of their own: what other jobs do goes on.
        sent = {
            "uri": "viking://resources/a.md",
            "content": "# Ferries\n",
            "mode": "create",
            "wait": True,
            "timeout": 20,
        }
        result(client.post("/api/v1/content/write", json=sent))
        assert result(client.get(f"/api/v1/tasks/{task}"))["status"] in {"pending", "running"}
        assert len(result(client.get(f"{talk}/context"))["messages"]) == 3
        services.begin_to_stop()
        # Nothing is lost, and no attempt counts.
        assert services.tenancy.accounts.of("default").jobs.waiting()["session_commit"] == 3


def test_the_routes(services: Services, stub: Scripted) -> None:
    stub.behave(Script(reply='{"memories": []}'))
    with TestClient(create_app(services)) as client:
        talk = "/api/v1/sessions/talk"
        for missing in (f"{talk}/extract", f"{talk}/archives/archive_001/rollback"):
            assert result(client.post(missing), 404)["code"] == "NOT_FOUND"
        assert result(client.get("/api/v1/stats/sessions/talk"), 404)["code"] == "NOT_FOUND"
        result(client.post(f"{talk}/messages", json={"role": "user", "content": "I prefer tea."}))
        (made,) = result(client.post(f"{talk}/extract"))
        assert made["uri"].startswith("viking://user/default/memories/preferences/")
        result(client.post(f"{talk}/messages", json={"role": "user", "content": "I prefer dark bread."}))
        result(client.post(f"{talk}/commit"))
        services.tenancy.worker.drain(services.tenancy.accounts.of("default"), 30)
        stats = result(client.get("/api/v1/stats/memories"))
        assert (stats["total"], stats["by_category"]["preferences"], stats["by_category"]["events"]) == (3, 2, 1)
        assert result(client.get("/api/v1/stats/memories?category=events"))["total"] == 1
        assert result(client.get("/api/v1/stats/memories?category=gossip"), 400)["details"]["field"] == "category"
        session = result(client.get("/api/v1/stats/sessions/talk"))
        assert (session["commit_count"], session["archives"]["done"]) == (1, 1)
        assert session["memories_extracted"] == {"events": 1, "preferences": 1, "total": 2}
        done = result(client.post(f"{talk}/archives/archive_001/rollback"))
        assert (len(done["reverted"]), done["kept"]) == (2, [])
        assert result(client.get("/api/v1/stats/memories"))["total"] == 1


def test_a_policy_that_cannot_be_stops_every_door(tmp_path: Any) -> None:
    from openviking import OpenViking

    file = tmp_path / "ov.conf"
    file.write_text('{"server": {"user_config_defaults": {"memory_policy": {"memory_types": ["gossip"]}}}}')
    with pytest.raises(InvalidArgumentError, match=r"ov\.conf server\.user_config_defaults\.memory_policy.*'gossip'"):
        OpenViking(tmp_path / "data", config=file, workers=0)
