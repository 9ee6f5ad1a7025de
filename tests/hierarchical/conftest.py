"""A tree of folders to walk through, with vectors, over the embedded door and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.stubs.embedders import HashEmbedder
from tests.stubs.scripted import Scripted

from openviking.config.settings import EmbeddingSettings, RerankSettings, Settings
from openviking.model.hit import FindResult
from openviking.model.identity import Identity
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services
from openviking.store.batch import SetTags

ROOT = Identity(account="default", user="default", role="root")
TOPICS = ("harbour", "orchard", "foundry")


@dataclass
class World:
    """The application, its services, and the service that reranks."""

    services: Services
    client: Any
    stub: Scripted

    def find(self, query: str, target_uri: str = "", **options: Any) -> FindResult:
        """A find as the embedded door makes it."""
        return self.services.search.find(ROOT, query, target_uri, **{"strategy": "hierarchical", **options})

    def posted(self, path: str, **body: Any) -> Any:
        """The result of a POST."""
        answer = self.client.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    def write(self, uri: str, text: str) -> None:
        self.services.content.write(ROOT, uri, text, "upsert")

    def settle(self) -> None:
        """Have all background work done."""
        self.services.tenancy.worker.drain(self.services.tenancy.accounts.of("default"), 30)


@pytest.fixture(scope="session")
def running() -> Iterator[Scripted]:
    with Scripted() as stub:
        yield stub


@pytest.fixture(scope="session")
def world(running: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Three topics of three parts with four notes each, memories and events."""
    settings = Settings(
        path=tmp_path_factory.mktemp("walked"), workers=0, embedding=EmbeddingSettings(),
        rerank=RerankSettings(api_base=running.rerank_url, api_key="k", timeout=0.5, threshold=0.0),
    )  # fmt: skip
    services = Services(settings, Rules.of(None, None, "127.0.0.1"), embedder=HashEmbedder())
    with TestClient(create_app(services)) as client:
        made = World(services, client, running)
        for topic in TOPICS:
            for part in ("north", "south", "west"):
                for number in range(4):
                    text = f"# The {topic} in the {part}\n\nNote {number}: the {part} {topic} has {number} workers" + (
                        " and a crane.\n" if number == 1 else ".\n"
                    )
                    made.write(f"viking://resources/{topic}/{part}/note{number}.md", text)
        made.write("viking://~/memories/likes.md", "The user likes the harbour in the north.\n")
        for name in ("old", "new"):
            made.write(f"viking://~/memories/events/{name}.md", f"A crane fell in the {name} dockyard.\n")
        events = [
            SetTags(f"user/default/memories/events/{name}.md", ("memory_type=events",)) for name in ("old", "new")
        ]
        services.tenancy.accounts.of("default").apply(events)
        made.settle()
        yield made
