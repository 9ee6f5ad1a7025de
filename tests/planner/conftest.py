"""A scripted chat service, and an application whose planner it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.stubs.scripted import Script, Scripted

from openviking.config.settings import ChatSettings, EmbeddingSettings, RetrievalSettings, Settings
from openviking.model.identity import Identity
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.breaker import Breaker
from openviking.service.services import Services

ROOT = Identity(account="default", user="default", role="root")
SESSION = "talk-1"


@pytest.fixture(scope="session")
def running() -> Iterator[Scripted]:
    with Scripted() as stub:
        yield stub


@pytest.fixture
def stub(running: Scripted) -> Scripted:
    running.behave()
    return running


@dataclass
class World:
    """The application, its services, and the service that plans."""

    services: Services
    client: Any
    stub: Scripted

    def search(self, query: str, **body: Any) -> dict[str, Any]:
        """The result of a search over HTTP, in the session unless told."""
        sent = {"query": query, "session_id": SESSION, **body}
        answer = self.client.post("/api/v1/search/search", json=sent)
        assert answer.status_code == 200, answer.text
        return dict(answer.json()["result"])

    def plans(self, *queries: tuple[str, str], reasoning: Any = "scripted") -> None:
        """From now on answer with these queries, as text and type."""
        told = [{"query": text, "context_type": kind, "priority": 1} for text, kind in queries]
        self.stub.behave(Script(reply=json.dumps({"reasoning": reasoning, "queries": told})))


def post(client: Any, path: str, **body: Any) -> None:
    answer = client.post(f"/api/v1/{path}", json=body)
    assert answer.status_code == 200, answer.text


@pytest.fixture(scope="session")
def application(running: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Notes about boats in all three types, and a session with six messages and an archive."""
    settings = Settings(
        path=tmp_path_factory.mktemp("planned"), workers=0, embedding=EmbeddingSettings(provider="none"),
        retrieval=RetrievalSettings(recall_intent_timeout_s=0.5),
        vlm=ChatSettings(model="talker", api_base=running.chat_url),
    )  # fmt: skip
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    with TestClient(create_app(services)) as client:
        write = services.content.write
        for number in range(12):
            text = f"Boats {number}: harbour, sails and moorings for {number} boats.\n"
            write(ROOT, f"viking://resources/boats/{number:02}.md", text, "create")
        for name in ("copy-a", "copy-b", "copy-c"):
            write(
                ROOT, f"viking://resources/boats/{name}.md", "A harbour with sails and boats, thrice told.\n", "create"
            )
        for number in range(6):
            write(
                ROOT, f"viking://~/memories/boat-{number}.md", f"User's boat {number} lies in the harbour.\n", "create"
            )
        post(client, "skills", data="---\nname: moor\ndescription: Moor a boat\n---\n\nMoor a boat in the harbour.\n")
        post(client, "sessions", session_id=SESSION)
        post(client, f"sessions/{SESSION}/messages", role="user", content="We bought the Albatross.")
        post(client, f"sessions/{SESSION}/commit")
        services.tenancy.worker.drain(services.tenancy.accounts.of("default"), 30)
        for number in range(6):
            role = "user" if number % 2 == 0 else "assistant"
            post(client, f"sessions/{SESSION}/messages", role=role, content=f"turn {number} about it")
        post(client, "sessions", session_id="empty-1")
        yield World(services, client, running)


@pytest.fixture
def world(application: World) -> Iterator[World]:
    application.stub.behave()
    application.services._cases.planning.calls = Breaker(2, 10.0, 600.0)
    yield application
    application.stub.behave()
