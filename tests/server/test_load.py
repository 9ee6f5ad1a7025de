"""Nobody waits for somebody else's slow call, and too many are refused at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient
from tests.stubs.embedders import HashEmbedder

from openviking.config.settings import EmbeddingSettings, ServerSettings, Settings
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

PATIENCE_S = 30.0


class Held:
    """A call of a service that goes on until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()

    def __call__(self, *_: object, **__: object) -> str:
        self.begun.release()
        assert self.go_on.wait(PATIENCE_S)
        return "held"


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[TestClient, Services]]:
    """An application with two threads and room for one more call."""
    settings = Settings(path=tmp_path / "data", embedding=EmbeddingSettings(provider="none"))
    settings = replace(settings, server=ServerSettings(threads=2, queue=1))
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    with TestClient(create_app(services)) as client:
        yield client, services


def read(client: TestClient) -> Any:
    return client.get("/api/v1/content/read", params={"uri": "viking://resources/a.md"})


def test_what_does_not_fit_is_refused_at_once(busy: tuple[TestClient, Services]) -> None:
    client, services = busy
    held = Held()
    services.content.read = held  # type: ignore[method-assign]
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(read, client) for _ in range(3)]
        for _ in range(2):
            assert held.begun.acquire(timeout=PATIENCE_S)
        lanes = client.app.state.lanes  # type: ignore[attr-defined]
        _until(lambda: lanes.quick.running == 3)
        began = time.monotonic()
        refused = client.get("/api/v1/fs/ls", params={"uri": "viking://"})
        assert time.monotonic() - began < 1
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "UNAVAILABLE")
        assert refused.json()["error"]["details"]["retryable"] is True
        assert refused.headers["Retry-After"] == "1"
        assert client.get("/health").status_code == 200
        held.go_on.set()
        assert {answer.result().json()["result"] for answer in answers} == {"held"}
    assert client.get("/api/v1/fs/ls", params={"uri": "viking://"}).status_code == 200


def test_calls_that_wait_keep_nobody_from_reading(busy: tuple[TestClient, Services]) -> None:
    client, services = busy
    held = Held()
    services.observer.wait = held  # type: ignore[assignment, method-assign]
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(client.post, "/api/v1/system/wait", json={}) for _ in range(8)]
        for _ in range(8):
            assert held.begun.acquire(timeout=PATIENCE_S)
        assert client.get("/api/v1/fs/ls", params={"uri": "viking://"}).status_code == 200
        held.go_on.set()
        assert all(answer.result().status_code == 200 for answer in answers)


def test_a_model_that_hangs_keeps_only_those_who_ask_it(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    settings = Settings(path=tmp_path / "data", embedding=EmbeddingSettings(query_timeout=1.5))
    settings = replace(settings, server=ServerSettings(threads=2, queue=1))
    services = Services(settings, Rules.of(None, None, "127.0.0.1"), embedder=embedder)
    with TestClient(create_app(services)) as client:
        body = {"uri": "viking://resources/a.md", "content": "zebra", "mode": "create", "wait": True}
        assert client.post("/api/v1/content/write", json=body).status_code == 200
        embedder.hang = True

        def find(number: int) -> Any:
            return client.post("/api/v1/search/find", json={"query": f"zebra {number}"})

        with ThreadPoolExecutor(3) as pool:
            asking = [pool.submit(find, number) for number in range(3)]
            lanes = client.app.state.lanes  # type: ignore[attr-defined]
            _until(lambda: lanes.asking.running == 3)
            began = time.monotonic()
            assert read(client).json()["result"] == "zebra"
            refused = find(4)
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
            body = {"uri": "viking://resources/b.md", "content": "gnu", "mode": "create"}
            assert client.post("/api/v1/content/write", json=body).status_code == 200
            waited = client.post("/api/v1/system/wait", json={"timeout": 0.1})
            assert (waited.status_code, waited.json()["error"]["code"]) == (504, "DEADLINE_EXCEEDED")
            assert time.monotonic() - began < 1.2
            assert not any(one.done() for one in asking)
            for one in asking:
                found = one.result().json()["result"]
                assert found["resources"][0]["uri"] == "viking://resources/a.md"
                assert [gap["stage"] for gap in found["retrieval"]["degraded"]] == ["vectors"]
        embedder.hang = False


def test_who_still_waits_at_the_end_is_told(busy: tuple[TestClient, Services]) -> None:
    client, services = busy
    held = Held()
    services.content.read = held  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(read, client)
        assert held.begun.acquire(timeout=PATIENCE_S)
        assert client.portal is not None
        client.portal.call(client.app.state.lanes.give_up)  # type: ignore[attr-defined, call-arg]
        answer = waiting.result()
        held.go_on.set()
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "UNAVAILABLE")
    assert "not known" in answer.json()["error"]["message"]


@pytest.mark.slow
def test_a_huge_upload_delays_nobody_and_is_never_in_memory(serve: Callable[[], Any]) -> None:
    server = serve()
    server.caller.write("viking://resources/a.md", "zebra")
    server.caller.post("search/find", query="zebra")
    before = server.peak_bytes
    piece, count = bytes(1024 * 1024), 200
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="huge.bin"\r\n\r\n'
    sent, pause = threading.Event(), threading.Event()

    def body() -> Iterator[bytes]:
        yield head
        for number in range(count):
            yield piece
            if number % 10 == 0:
                pause.wait(0.02)
        yield b"\r\n--b--\r\n"
        sent.set()

    def upload() -> Any:
        with httpx2.Client(base_url=server.client.base_url, timeout=PATIENCE_S) as client:
            kind = {"Content-Type": "multipart/form-data; boundary=b"}
            return client.post("/api/v1/resources/temp_upload", content=body(), headers=kind)

    slowest, finds = 0.0, 0
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(upload)
        while not answer.done():
            began = time.monotonic()
            assert server.caller.post("search/find", query="zebra", level=2)["total"] == 1
            if not sent.is_set():
                slowest, finds = max(slowest, time.monotonic() - began), finds + 1
    assert answer.result().status_code == 200
    assert finds > 10
    assert slowest < 1
    assert server.peak_bytes - before < 32 * 1024 * 1024


def _until(condition: Callable[[], object]) -> None:
    look = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        if condition():
            return
        look.wait(0.01)
    pytest.fail("what was waited for did not come")
