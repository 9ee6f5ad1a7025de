"""The application at hand in this process, and a server in a process of its own."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.model.identity import Identity
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

PROGRAM = Path(__file__).with_name("served.py")
SOURCES = Path(__file__).resolve().parents[2] / "src"
ROOT_KEY = "root-key-of-the-tests"
PATIENCE_S = 60.0
ROOT = Identity(account="default", user="default", role="root")


class Caller:
    """Calls as one user; paths are below ``/api/v1``."""

    def __init__(self, client: Any, headers: Mapping[str, str] | None = None) -> None:
        self.client = client
        self.headers = dict(headers or {})

    def call(self, method: str, path: str, /, **sent: Any) -> Any:
        headers = {**self.headers, **sent.pop("headers", {})}
        return self.client.request(method, f"/api/v1/{path}", headers=headers, **sent)

    def get(self, path: str, /, **params: Any) -> Any:
        """The result of a GET."""
        return self.result(self.call("GET", path, params=params))

    def post(self, path: str, /, **body: Any) -> Any:
        """The result of a POST."""
        return self.result(self.call("POST", path, json=body))

    def refused(self, path: str, /, **body: Any) -> tuple[int, str]:
        """The status and code of a POST that is refused."""
        answer = self.call("POST", path, json=body)
        return answer.status_code, answer.json()["error"]["code"]

    def upload(self, data: bytes, name: str = "a.md", **fields: Any) -> str:
        answer = self.call("POST", "resources/temp_upload", files={"file": (name, data)}, data=fields)
        return str(self.result(answer)["temp_file_id"])

    def write(self, uri: str, text: str, mode: str = "create", /, **body: Any) -> Any:
        return self.post("content/write", uri=uri, content=text, mode=mode, **body)

    def add(self, data: bytes, name: str = "a.md", /, **body: Any) -> Any:
        """The result of adding what is uploaded, waited for."""
        return self.post("resources", temp_file_id=self.upload(data, name), **{"wait": True, "timeout": 60, **body})

    def delete(self, uri: str, **params: Any) -> Any:
        return self.result(self.call("DELETE", "fs", params={"uri": uri, **params}))

    @staticmethod
    def result(answer: Any) -> Any:
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]


class Served:
    """A server in a process of its own on a data directory."""

    def __init__(self, place: Path, root_key: str | None) -> None:
        argv = [sys.executable, str(PROGRAM), str(place), *([root_key] if root_key else [])]
        self._process = subprocess.Popen(argv, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SOURCES)})
        assert self._process.stdout
        port = int(self._process.stdout.readline())
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S)
        self.caller = Caller(self.client)

    @property
    def peak_bytes(self) -> int:
        """The most memory that the process has held so far."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))

    def kill(self) -> None:
        """End it at once, with no chance to clean up."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Kill it and release what it held here."""
        self.client.close()
        with contextlib.suppress(ProcessLookupError):
            self.kill()
        if self._process.stdout:
            self._process.stdout.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def services(place: Path) -> Services:
    """Dev mode; started and closed by the application."""
    settings = Settings(path=place, poll_interval=0.2, embedding=EmbeddingSettings(provider="none"))
    return Services(settings, Rules.of(None, None, "127.0.0.1"))


@pytest.fixture
def api(services: Services) -> Iterator[Caller]:
    """The user default of dev mode."""
    with TestClient(create_app(services)) as client:
        yield Caller(client)


@pytest.fixture
def idle(place: Path) -> Iterator[tuple[Caller, Services]]:
    """As ``api``, without background work but that of who waits."""
    settings = Settings(path=place, workers=0, embedding=EmbeddingSettings(provider="none"))
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    with TestClient(create_app(services)) as client:
        yield Caller(client), services


@pytest.fixture
def tenants(place: Path) -> Iterator[Callable[[str, str], Caller]]:
    """``tenants(account, user)``: an application with keys, and who calls it; the first user of an account is its admin."""
    settings = Settings(path=place, poll_interval=0.2, embedding=EmbeddingSettings(provider="none"))
    services = Services(settings, Rules.of(None, ROOT_KEY, "127.0.0.1"))
    accounts: set[str] = set()
    with TestClient(create_app(services)) as client:

        def caller(account: str, user: str) -> Caller:
            if account in accounts:
                made = services.admin.register_user(ROOT, account, user)
            else:
                made = services.admin.create_account(ROOT, account, user)
                accounts.add(account)
            return Caller(client, {"X-API-Key": made["user_key"]})

        yield caller


@pytest.fixture
def serve(place: Path) -> Iterator[Callable[[], Served]]:
    """Starts a server on the same data directory."""
    started: list[Served] = []

    def starting() -> Served:
        started.append(Served(place, None))
        return started[-1]

    yield starting
    for one in started:
        one.close()


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Waits for a condition."""

    def waiting(condition: Callable[[], object]) -> None:
        look = threading.Event()
        for _ in range(int(PATIENCE_S / 0.02)):
            if condition():
                return
            look.wait(0.02)
        pytest.fail("what was waited for did not come")

    return waiting


@pytest.fixture
def zipped() -> Callable[[Mapping[str, str | bytes]], bytes]:
    """The bytes of a zip with these files."""

    def zipping(files: Mapping[str, str | bytes]) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return out.getvalue()

    return zipping
