"""Watches of pages that are really fetched: over HTTP with tasks, and from the embedded door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.stubs.web import WebServer, answer

from openviking import OpenViking
from openviking.config.settings import EmbeddingSettings, FetchSettings, Settings
from openviking.errors import ConflictError, FailedPreconditionError, InvalidArgumentError, ProcessingError
from openviking.model.watch import MINUTE_MS
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services
from openviking.service.watch_clock import WatchClock
from openviking.store.sqlite.watches import SqliteWatches

HOUR = 60 * MINUTE_MS
TARGET = "viking://resources/handbook"
GONE = answer(b"gone", "404 Not Found")


def text(body: str) -> bytes:
    return answer(body.encode(), content_type="text/plain; charset=utf-8")


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        server.pages["/guide.txt"] = text("zorblax first")
        yield server


class Door:
    """A server in this process without threads of its own, whose clock the test sets."""

    def __init__(self, services: Services, client: Any, clock: Any) -> None:
        self.services, self.client, self.clock = services, client, clock
        self.accounts, self.worker = services.tenancy.accounts, services.tenancy.worker

    def call(self, method: str, path: str, status: int = 200, /, **sent: Any) -> Any:
        given = self.client.request(method, f"/api/v1/{path}", **sent)
        assert given.status_code == status, given.text
        return given.json()["result"] if status == 200 else given.json()["error"]["code"]

    def add(self, url: str, status: int = 200, /, **fields: Any) -> Any:
        return self.call(
            "POST", "resources", status, json={"path": url, "to": TARGET, "watch_interval": 60.0, **fields}
        )

    def watch(self) -> Any:
        return self.call("GET", "watches", params={"to_uri": TARGET})

    def work(self) -> None:
        """Begin what is due, and do all that is queued."""
        for _, store in self.accounts.open_accounts():
            store._watches = SqliteWatches(store._connections, self.clock)  # type: ignore[attr-defined]
        look = self.services.watch_clock._look
        WatchClock(self.accounts.open_accounts, look, self.worker.wake, self.clock).tick()
        for store in self.accounts.open_stores():
            while self.worker.work(store):
                pass

    def read(self) -> str:
        name = self.call("GET", "fs/ls", params={"uri": TARGET, "simple": True})[0]
        return str(self.call("GET", "content/read", params={"uri": name}))


@pytest.fixture
def door(tmp_path: Path, clock: Any) -> Iterator[Door]:
    settings = Settings(
        path=tmp_path / "data", workers=0, embedding=EmbeddingSettings(provider="none"),
        fetch=FetchSettings(allow_private=True, max_retries=0),
    )  # fmt: skip
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    with TestClient(create_app(services)) as client:
        yield Door(services, client, clock)


def test_a_page_is_brought_up_to_date_again_and_again(door: Door, web: WebServer) -> None:
    url = web.url("/guide.txt")
    added = door.add(url, wait=True, timeout=60, tags=["a=b"], reason="r")
    assert added["root_uri"] == TARGET
    made = door.watch()
    assert (made["path"], made["watch_interval"], made["is_active"], made["last_status"]) == (
        url,
        60.0,
        True,
        "completed",
    )
    for body in ("zorblax second", "zorblax third"):
        web.pages["/guide.txt"] = text(body)
        door.work()
        assert door.read() != body
        door.clock.pass_by(2 * HOUR)
        door.work()
        assert door.read() == body
        assert door.watch()["last_status"] == "completed"
    task = door.call("GET", f"tasks/{door.watch()['run_task_id']}")
    assert (task["status"], task["meta"]["watch_id"], task["result"]["updated"]) == ("completed", made["task_id"], 1)
    assert "a=b" in str(door.call("GET", "fs/attrs", params={"uri": TARGET}))
    assert len(web.asked) == 3


def test_a_page_that_is_gone_is_tried_later_and_told(door: Door, web: WebServer) -> None:
    door.add(web.url("/guide.txt"), wait=True, timeout=60)
    web.pages["/guide.txt"] = GONE
    for failures in (1, 2):
        door.clock.pass_by(50 * HOUR)
        door.work()
        seen = door.watch()
        assert (seen["last_status"], seen["failures"], seen["is_active"]) == ("failed", failures, True)
        assert "404" in seen["last_error"]
    assert door.read() == "zorblax first"
    web.pages["/guide.txt"] = text("zorblax back")
    assert door.call("POST", "watches/trigger", params={"to_uri": TARGET})["scheduled"]
    door.work()
    assert (door.read(), door.watch()["failures"]) == ("zorblax back", 0)


def test_a_source_that_fails_at_first_is_watched_all_the_same(door: Door, web: WebServer) -> None:
    web.pages["/guide.txt"] = GONE
    assert door.add(web.url("/guide.txt"), 500, wait=True, timeout=60) == "PROCESSING_ERROR"
    assert (door.watch()["last_status"], door.watch()["is_active"]) == ("failed", True)
    web.pages["/guide.txt"] = text("zorblax late")
    door.clock.pass_by(50 * HOUR)
    door.work()
    assert door.read() == "zorblax late"


def test_what_is_watched_elsewhere_or_not_at_all(door: Door, web: WebServer) -> None:
    url, other = web.url("/guide.txt"), web.url("/other.txt")
    web.pages["/other.txt"] = text("other")
    door.add(url)
    made = door.watch()
    assert made["is_running"]
    assert door.add(other, 409) == "CONFLICT"
    assert door.add(url, watch_interval=5.0)["status"] == "success"
    assert (door.watch()["task_id"], door.watch()["watch_interval"]) == (made["task_id"], 5.0)
    assert "warnings" not in door.call("POST", "resources", json={"path": url, "to": TARGET})
    assert door.watch()["is_active"]
    told = door.add(url, watch_interval=0.0)
    assert (door.watch()["is_active"], "is paused" in told["warnings"][0]) == (False, True)
    door.add(other, is_active=False)
    assert (door.watch()["path"], door.watch()["is_active"]) == (other, False)
    assert door.call("DELETE", "watches", params={"to_uri": TARGET})["deleted"]
    assert door.call("GET", "watches") == {"tasks": [], "total": 0}
    upload = door.call("POST", "resources/temp_upload", files={"file": ("a.md", b"x")})["temp_file_id"]
    refused = {"temp_file_id": upload, "watch_interval": 5.0}
    assert door.call("POST", "resources", 400, json=refused) == "INVALID_ARGUMENT"
    assert door.call("POST", "resources", 403, json={"path": "/etc", "watch_interval": 5.0}) == "PERMISSION_DENIED"
    for minutes in (1e300, 10**12):
        assert door.add(url, 400, watch_interval=minutes) == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("body", "status"),
    [({}, 200), ({"reason": None, "is_active": None}, 200), ({"watch_interval": 0}, 400), ({"watch_interval": -1.5}, 400),
     ({"watch_interval": "5"}, 400), ({"is_active": "no"}, 400), ({"path": "x"}, 400), ({"is_active": False}, 200)],
)  # fmt: skip
def test_what_can_be_patched(door: Door, web: WebServer, body: Any, status: int) -> None:
    door.add(web.url("/guide.txt"), reason="r")
    made = door.watch()
    for path, params in ((f"watches/{made['task_id']}", {}), ("watches", {"to_uri": TARGET})):
        given = door.call("PATCH", path, status, json=body, params=params)
        assert given == "INVALID_ARGUMENT" or (given["reason"], given["is_active"]) == (
            "r",
            body.get("is_active") is not False,
        )
    assert door.call("PATCH", f"watches/{made['task_id']}", 400, json={}, params={"to_uri": "viking://resources/x"})
    assert door.call("PATCH", "watches/none", 404, json={}) == "NOT_FOUND"
    assert door.call("PATCH", "watches", 400, json={}) == "INVALID_ARGUMENT"


def test_a_server_that_looks_at_nothing_says_so(tmp_path: Path, clock: Any, web: WebServer) -> None:
    fetch = FetchSettings(allow_private=True, watches=False)
    services = Services(
        Settings(path=tmp_path / "data", embedding=EmbeddingSettings(provider="none"), fetch=fetch),
        Rules.of(None, None, "127.0.0.1"),
    )
    with TestClient(create_app(services)) as client:
        door = Door(services, client, clock)
        assert door.add(web.url("/guide.txt"), 412) == "FAILED_PRECONDITION"
        assert door.add(web.url("/guide.txt"), watch_interval=0.0)["status"] == "success"
        assert door.call("GET", "watches")["total"] == 0


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenViking]:
    """An embedded store that may fetch from loopback."""
    config = tmp_path / "ov.conf"
    config.write_text('{"fetch": {"allow_private": true, "max_retries": 0}}')
    with OpenViking(tmp_path / "store", config=config, embedder="none", workers=0) as store:
        yield store


def test_the_embedded_door_watches_too(opened: OpenViking, web: WebServer, tmp_path: Path) -> None:
    url = web.url("/guide.txt")
    report = opened.add_resource(url, to=TARGET, watch_interval=30)
    assert report.root_uri == TARGET
    (made,) = opened.list_watches()["tasks"]
    assert (made["path"], made["to_uri"], made["watch_interval"], made["user_id"]) == (url, TARGET, 30.0, "default")
    web.pages["/guide.txt"] = text("zorblax second")
    task = opened.trigger_watch(to_uri=TARGET)["run_task_id"]
    opened.wait_processed(60)
    (name,) = opened.ls(TARGET, simple=True)
    assert opened.read(name) == "zorblax second"
    told = opened.get_task(task)
    assert told is not None
    assert (told["status"], opened.get_watch(made["task_id"])["last_status"]) == ("completed", "completed")
    opened.mv(TARGET, "viking://resources/elsewhere")
    assert opened.get_watch(made["task_id"])["to_uri"] == "viking://resources/elsewhere"
    assert opened.update_watch(made["task_id"], watch_interval=5)["watch_interval"] == 5.0
    with pytest.raises(ConflictError):
        opened.add_resource(web.url("/other.txt"), to="viking://resources/elsewhere", watch_interval=5)
    assert opened.add_resource(url, to="viking://resources/elsewhere").warnings == ()
    assert opened.list_watches(active_only=True)["total"] == 1
    paused = opened.add_resource(url, to="viking://resources/elsewhere", watch_interval=0).warnings
    assert "is paused" in paused[0]
    assert opened.list_watches(active_only=True)["total"] == 0
    assert opened.delete_watch(made["task_id"])["deleted"]
    (tmp_path / "note.md").write_text("x")
    with pytest.raises(InvalidArgumentError):
        opened.add_resource(tmp_path / "note.md", watch_interval=5)
    with pytest.raises(ProcessingError):
        opened.add_resource(web.url("/none.txt"), to=TARGET, watch_interval=5)
    assert opened.list_watches()["total"] == 0


def test_an_embedded_store_that_looks_at_nothing(tmp_path: Path, web: WebServer) -> None:
    config = tmp_path / "ov.conf"
    config.write_text('{"enable_watch_scheduler": false, "allow_private_networks": true}')
    with OpenViking(tmp_path / "store", config=config, embedder="none") as store:
        with pytest.raises(FailedPreconditionError):
            store.add_resource(web.url("/guide.txt"), watch_interval=5)
        assert store.list_watches() == {"tasks": [], "total": 0}
