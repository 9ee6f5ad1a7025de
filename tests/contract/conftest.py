"""Both doors on one small account: in this process, and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pytest
from starlette.testclient import TestClient

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.errors import OpenVikingError
from openviking.model.identity import Identity
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

ME = Identity(account="default", user="default", role="root")
PEER = "visitor"

RESOURCES = {
    "docs/auth/oauth.md": "# OAuth\n\nThe oauth login flow issues a token.\n\n## Refresh\n\nA refresh token lasts long.\n",
    "docs/auth/basic.md": "# Basic\n\nBasic login sends a password, no oauth.\n",
    "docs/yaml.md": "---\ntitle: heron\n---\n\nThe heron wades.\n",
    "docs/deep/er/lagoon.md": "# Lagoon\n\nThe heron of the lagoon.\n",
    "a/b.md": "quetzal\n",
    "a/b/c.md": "quetzal\n\nin a directory\n",
    "a/bc.md": "quetzal of another name\n",
}
MEMORIES = {
    "memories/events/launch.md": '# Summary\nThe zeppelin launch.\n\n<!-- MEMORY_FIELDS\n{"hidden_word": "vesuvius"}\n-->',
    "memories/entities/zeppelin.md": "# Zeppelin\n\nThe zeppelin is an airship.\n",
    "resources/own.md": "The zeppelin of my own notes.\n",
    f"peers/{PEER}/memories/liked.md": "The visitor likes the zeppelin.\n",
    f"peers/{PEER}/resources/sent.md": "The visitor sent a zeppelin plan.\n",
    "peers/other/memories/liked.md": "The other one likes the zeppelin.\n",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a door gave: a result, or how it refused."""

    status: int
    result: Any = None
    code: str = ""
    message: str = ""

    @property
    def hits(self) -> list[dict[str, Any]]:
        return [hit for name in ("memories", "resources", "skills") for hit in self.result[name]]

    @property
    def uris(self) -> list[str]:
        return [hit["uri"] for hit in self.hits]


class Door(Protocol):
    """The calls of retrieval, whatever way they go."""

    def find(self, query: str = "", target: str | Sequence[str] = "", **options: Any) -> Answer: ...
    def search(self, query: str = "", target: str | Sequence[str] = "", **options: Any) -> Answer: ...
    def grep(self, uri: str, pattern: str, **options: Any) -> Answer: ...
    def glob(self, pattern: str, uri: str = "viking://", **options: Any) -> Answer: ...
    def read(self, uri: str, way: str = "read", **options: Any) -> Answer: ...
    def acting_as(self, peer: str) -> Door: ...


@dataclass(frozen=True, slots=True)
class Inside:
    """The use cases, called as the embedded API calls them."""

    services: Services
    me: Identity = ME

    def _call(self, method: Any, *arguments: Any, **options: Any) -> Answer:
        try:
            found = method(self.me, *arguments, **options)
        except OpenVikingError as error:
            return Answer(error.status, None, error.code, error.message)
        return Answer(200, found.to_dict() if hasattr(found, "to_dict") else found)

    def find(self, query: str = "", target: str | Sequence[str] = "", **options: Any) -> Answer:
        return self._call(self.services.search.find, query, target, **options)

    def search(self, query: str = "", target: str | Sequence[str] = "", **options: Any) -> Answer:
        return self._call(self.services.search.search, query, target, **options)

    def grep(self, uri: str, pattern: str, **options: Any) -> Answer:
        return self._call(self.services.search.grep, uri, pattern, **options)

    def glob(self, pattern: str, uri: str = "viking://", **options: Any) -> Answer:
        return self._call(self.services.search.glob, pattern, uri, **options)

    def read(self, uri: str, way: str = "read", **options: Any) -> Answer:
        return self._call(getattr(self.services.content, way), uri, **options)

    def acting_as(self, peer: str) -> Inside:
        return replace(self, me=replace(self.me, actor_peer=peer))


@dataclass(frozen=True, slots=True)
class Wire:
    """The same over HTTP."""

    client: Any
    headers: Mapping[str, str]

    def _call(self, method: str, path: str, **sent: Any) -> Answer:
        answer = self.client.request(method, f"/api/v1/{path}", headers=self.headers, **sent)
        told = answer.json()
        if answer.status_code != 200:
            assert told["status"] == "error", told
            return Answer(answer.status_code, told["error"]["details"], told["error"]["code"], told["error"]["message"])
        return Answer(200, told["result"])

    def find(self, query: str = "", target: str | Sequence[str] = "", **options: Any) -> Answer:
        return self._call("POST", "search/find", json={"query": query, "target_uri": target, **options})

    def search(self, query: str = "", target: str | Sequence[str] = "", **options: Any) -> Answer:
        return self._call("POST", "search/search", json={"query": query, "target_uri": target, **options})

    def grep(self, uri: str, pattern: str, **options: Any) -> Answer:
        return self._call("POST", "search/grep", json={"uri": uri, "pattern": pattern, **options})

    def glob(self, pattern: str, uri: str = "viking://", **options: Any) -> Answer:
        return self._call("POST", "search/glob", json={"pattern": pattern, "uri": uri, **options})

    def read(self, uri: str, way: str = "read", **options: Any) -> Answer:
        return self._call("GET", f"content/{way}", params={"uri": uri, **options})

    def acting_as(self, peer: str) -> Wire:
        return replace(self, headers={**self.headers, "X-OpenViking-Actor-Peer": peer})


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    """An account with a few files of each kind, words only; the tests that share it leave it as it is."""
    place = tmp_path_factory.mktemp("account") / "data"
    settings = Settings(path=place, workers=0, embedding=EmbeddingSettings(provider="none"))
    return Services(settings, Rules.of(None, None, "127.0.0.1"))


@pytest.fixture(scope="session")
def client(services: Services) -> Iterator[Any]:
    with TestClient(create_app(services)) as client:
        fill(services)
        yield client


def fill(services: Services) -> None:
    for path, text in RESOURCES.items():
        services.content.write(ME, f"viking://resources/{path}", text, "create")
    for path, text in MEMORIES.items():
        services.content.write(ME, f"viking://~/{path}", text, "create")
    for name, tags in {"oauth": ["env=prod", "team=infra"], "basic": ["env=prod"]}.items():
        services.fs.set_tags(ME, f"viking://resources/docs/auth/{name}.md", tags)
    services.system.wait_processed(ME)


@pytest.fixture(params=["embedded", "http"])
def door(request: pytest.FixtureRequest, services: Services, client: Any) -> Door:
    return Inside(services) if request.param == "embedded" else Wire(client, {})


@dataclass(frozen=True, slots=True)
class Opened:
    """An account of a test's own, without background work but what waits for it."""

    services: Services
    door: Door


@pytest.fixture(params=["embedded", "http"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    settings = Settings(path=tmp_path / "data", workers=0, embedding=EmbeddingSettings(provider="none"))
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    with TestClient(create_app(services)) as client:
        yield Opened(services, Inside(services) if request.param == "embedded" else Wire(client, {}))
