"""Nobody waits for somebody else's slow call, and too many are refused at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

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


def _until(condition: Callable[[], object]) -> None:
    look = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        if condition():
            return
        look.wait(0.01)
    pytest.fail("what was waited for did not come")
