"""Without keys only pages and names of this machine reach the server; with keys the keys decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from openviking.config.settings import EmbeddingSettings, ServerSettings, Settings
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

OWN = (
    "127.0.0.1",
    "127.0.0.1:1933",
    "localhost",
    "LOCALHOST:1933",
    "localhost.:1",
    "[::1]:1933",
    "127.8.9.1",
    "app.localhost",
)
FOREIGN = (
    "evil.example", "evil.example:1933", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:80@localhost",
    "0.0.0.0", "10.0.0.1", "[::ffff:10.0.0.1]", "[::1", "", " ", "127.1", "0x7f000001",
)  # fmt: skip
SETTINGS = Settings(workers=0, embedding=EmbeddingSettings(provider="none"))


@pytest.fixture(scope="module")
def open_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server without keys, reached as on loopback; one foreign origin is named."""
    place = tmp_path_factory.mktemp("own") / "data"
    server = ServerSettings(cors_origins=("*", "https://console.example:8443", "chrome-extension://abc"))
    services = Services(replace(SETTINGS, path=place, server=server), Rules.of(None, None, "127.0.0.1"))
    with TestClient(create_app(services), base_url="http://127.0.0.1:1933") as client:
        yield client


def status(client: TestClient, method: str = "GET", path: str = "/api/v1/fs/ls?uri=viking://", **headers: str) -> int:
    answer = client.request(method, path, headers=headers)
    if answer.status_code == 403:
        told = answer.json()
        assert (told["status"], told["error"]["code"]) == ("error", "PERMISSION_DENIED")
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["X-Request-ID"]
    return answer.status_code


def test_the_names_of_this_machine(open_client: TestClient) -> None:
    assert {host: status(open_client, Host=host) for host in OWN} == dict.fromkeys(OWN, 200)
    assert {host: status(open_client, Host=host) for host in FOREIGN} == dict.fromkeys(FOREIGN, 403)
    assert status(open_client, Host="console.example") == 200


def test_a_page_of_elsewhere_reaches_no_route(open_client: TestClient) -> None:
    page = {"Origin": "https://evil.example"}
    preflight = {**page, "Access-Control-Request-Method": "POST"}
    assert status(open_client, "OPTIONS", "/api/v1/search/find", **preflight) == 403
    for method, path in (("GET", "/health"), ("POST", "/api/v1/search/find"), ("DELETE", "/api/v1/fs?uri=viking://x")):
        assert status(open_client, method, path, **page) == 403
    for origin in ("null", "file://", "http://localhost.evil.example", "https://console.example", "http://", "x"):
        assert status(open_client, Origin=origin) == 403


def test_pages_of_this_machine_and_those_that_are_named(open_client: TestClient) -> None:
    for origin in (
        "http://localhost:5173", "http://127.0.0.1:8080", "https://[::1]", "http://app.localhost",
        "https://console.example:8443", "chrome-extension://abc",
    ):  # fmt: skip
        answer = open_client.get("/health", headers={"Origin": origin})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "*")


def test_of_several_headers_each_counts(open_client: TestClient) -> None:
    twice = [("Origin", "http://localhost"), ("Origin", "https://evil.example")]
    assert open_client.get("/health", headers=twice).status_code == 403


@pytest.mark.parametrize(("mode", "expected"), [(None, 200), ("trusted", 200)])
def test_with_keys_the_keys_decide(tmp_path: Path, mode: str | None, expected: int) -> None:
    services = Services(replace(SETTINGS, path=tmp_path / "data"), Rules.of(mode, "secret", "127.0.0.1"))
    with TestClient(create_app(services), base_url="http://127.0.0.1:1933") as client:
        assert status(client, path="/health", Host="ov.example", Origin="https://app.example") == expected


def test_headers_that_are_believed_are_not_believed_from_a_page(tmp_path: Path) -> None:
    services = Services(replace(SETTINGS, path=tmp_path / "data"), Rules.of("trusted", None, "127.0.0.1"))
    who: dict[str, Any] = {"X-OpenViking-Account": "acme", "X-OpenViking-User": "ann"}
    with TestClient(create_app(services), base_url="http://127.0.0.1:1933") as client:
        assert status(client, **who) == 200
        assert status(client, **who, Origin="https://evil.example") == 403
