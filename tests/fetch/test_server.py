"""Adding a URL over HTTP: tasks with stages, errors with their codes, cancelling, whose places are filled."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.fetch.conftest import Work
from tests.server.conftest import Caller
from tests.stubs.web import Asked, WebServer, answer, redirect

from openviking.config.settings import EmbeddingSettings, FetchSettings, Settings
from openviking.model.identity import Identity
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

ROOT_KEY = "root-key-of-the-tests"
ROOT = Identity(account="default", user="default", role="root")
Until = Callable[[Callable[[], object]], None]


def served(place: Path, key: str | None = None, **fetch: Any) -> Services:
    settings = Settings(
        path=place, poll_interval=0.2, embedding=EmbeddingSettings(provider="none"),
        fetch=FetchSettings(**{"allow_private": True, "max_retries": 0, "timeout": 5.0, **fetch}),
    )  # fmt: skip
    return Services(settings, Rules.of(None, key, "127.0.0.1"))


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return served(tmp_path / "data")


@pytest.fixture
def api(services: Services) -> Iterator[Caller]:
    with TestClient(create_app(services)) as client:
        yield Caller(client)


def markdown(text: str) -> bytes:
    return answer(text.encode(), content_type="text/markdown")


def refusal(api: Caller, path: str, **body: Any) -> tuple[int, str]:
    return api.refused("resources", path=path, wait=True, timeout=30, **body)


def test_waited_for_and_not(api: Caller, services: Services, web: WebServer, until: Until) -> None:
    web.pages["/a/guide.md"] = markdown("# Guide\n\nzorblax krill\n")
    url = web.url("/a/guide.md")
    done = api.post("resources", path=url, wait=True, timeout=30, tags=["team=bird"], reason="x")
    assert (done["status"], done["root_uri"], done["source_path"]) == ("success", "viking://resources/guide", url)
    assert (done["meta"]["created"], done["errors"]) == (1, [])
    assert api.post("search/find", query="zorblax", level=2)["resources"][0]["uri"].endswith("/guide.md")
    begun = api.post("resources", path=url)
    assert set(begun) == {"status", "task_id", "root_uri"}
    until(lambda: services.tasks.get(ROOT, begun["task_id"])["status"] == "completed")
    record = services.tasks.get(ROOT, begun["task_id"])
    assert (begun["root_uri"], record["result"]["unchanged"]) == (done["root_uri"], 1)
    assert (
        api.post(
            "resources",
            path=url,
            wait=True,
            source_name="Other name.md",
            parent="viking://resources/x",
            create_parent=True,
        )["root_uri"]
        == "viking://resources/x/Other_name"
    )


def test_failures_have_codes_and_leave_nothing(api: Caller, services: Services, web: WebServer, tmp_path: Path) -> None:
    def never(connected: socket.socket, asked: Asked) -> None:
        del connected, asked
        web.over.wait()

    web.pages |= {
        "/in": redirect("http://169.254.169.254/latest/"), "/half": answer(b"#", content_length="9"),
        "/bad.zip": answer(b"PK no zip", content_type="application/zip"), "/loop": redirect("/loop"),
    }  # fmt: skip
    for path, expected in (
        ("/none.md", (500, "PROCESSING_ERROR")), ("/half", (500, "PROCESSING_ERROR")), ("/loop", (500, "PROCESSING_ERROR")),
        ("/bad.zip", (500, "PROCESSING_ERROR")), ("/in", (403, "PERMISSION_DENIED")), ("/none.git", (400, "INVALID_ARGUMENT")),
    ):  # fmt: skip
        assert refusal(api, web.url(path)) == expected, path
    assert refusal(api, "https://u:p@example.org/") == (400, "INVALID_ARGUMENT")
    assert refusal(api, "http://169.254.169.254/") == (403, "PERMISSION_DENIED")
    assert api.refused("resources", path=web.url("/none.git")) == (400, "INVALID_ARGUMENT"), "known before it is queued"
    assert api.get("fs/ls", uri="viking://resources") == []
    assert str(tmp_path) not in str(services.tasks.find(ROOT, limit=50))
    assert {one["status"] for one in services.tasks.find(ROOT, limit=50)} == {"failed"}
    assert not list((tmp_path / "data").glob("fetch/*"))


def test_a_slow_source_is_504_and_the_callers_own_limit_lets_it_go_on(
    tmp_path: Path, web: WebServer, until: Until
) -> None:
    body = markdown("# Late krill")
    released = threading.Event()

    def slow(connected: socket.socket, asked: Asked) -> None:
        del asked
        connected.sendall(body[:50])
        released.wait()
        connected.sendall(body[50:])

    web.pages["/late.md"] = slow
    with TestClient(create_app(served(tmp_path / "a", timeout=0.4))) as client:
        assert refusal(Caller(client), web.url("/late.md")) == (504, "DEADLINE_EXCEEDED")
        assert Caller(client).get("fs/ls", uri="viking://resources") == []
    services = served(tmp_path / "b", timeout=60.0)
    with TestClient(create_app(services)) as client:
        api = Caller(client)
        told = api.call("POST", "resources", json={"path": web.url("/late.md"), "wait": True, "timeout": 0.3})
        assert told.status_code == 504, told.text
        task = told.json()["error"]["details"]["task_id"]
        released.set()
        until(lambda: services.tasks.get(ROOT, task)["status"] == "completed")
        assert api.get("content/read", uri="viking://resources/late/late.md") == "# Late krill"


def test_a_fetch_can_be_cancelled(tmp_path: Path, web: WebServer, until: Until) -> None:
    def drip(connected: socket.socket, asked: Asked) -> None:
        del asked
        connected.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
        while not web.over.wait(0.05):
            connected.sendall(b".")

    web.pages["/drip.md"] = drip
    services = served(tmp_path / "data", timeout=60.0)
    with TestClient(create_app(services)) as client:
        api = Caller(client)
        begun = api.post("resources", path=web.url("/drip.md"))
        until(lambda: services.tasks.get(ROOT, begun["task_id"])["stage"] == "fetching")
        api.call("POST", f"tasks/{begun['task_id']}/cancel")
        until(lambda: services.tasks.get(ROOT, begun["task_id"])["status"] == "cancelled")
        until(lambda: api.get("fs/ls", uri="viking://resources") == [])


def test_a_place_of_another_user_is_not_filled(tmp_path: Path, web: WebServer) -> None:
    web.pages["/a.md"] = markdown("# A")
    services = served(tmp_path / "data", ROOT_KEY)
    with TestClient(create_app(services)) as client:
        ane = Caller(client, {"X-API-Key": services.admin.create_account(ROOT, "acme", "ane")["user_key"]})
        bob = Caller(client, {"X-API-Key": services.admin.register_user(ROOT, "acme", "bob")["user_key"]})
        own = ane.post("resources", path=web.url("/a.md"), wait=True, to="viking://~/resources/a")["root_uri"]
        assert own == "viking://user/ane/resources/a"
        assert bob.post("resources", path=web.url("/a.md"), wait=True)["root_uri"] == "viking://resources/a"
        assert ane.post("resources", path=web.url("/a.md"), wait=True)["root_uri"] == own


def test_known_sources_are_fetched_again_with_what_they_were_asked_for(
    api: Caller, services: Services, web: WebServer, repo: Work, until: Until
) -> None:
    repo.commit({"a.md": "a", "b.txt": "b"})
    url = web.url("/smart/repo.git")
    root = api.post("resources", path=url, wait=True, include="*.md", args={"branch": "main"})["root_uri"]
    asked = len(web.asked)
    begun = services.imports.fetch_again(ROOT, root)
    until(lambda: services.tasks.get(ROOT, begun["task_id"])["status"] == "completed")
    assert services.tasks.get(ROOT, begun["task_id"])["result"]["unchanged"] == 1
    assert len(web.asked) - asked == 1


def test_fetching_can_be_turned_off(tmp_path: Path) -> None:
    with TestClient(create_app(served(tmp_path / "data", enabled=False))) as client:
        assert Caller(client).refused("resources", path="https://example.org/") == (412, "FAILED_PRECONDITION")
