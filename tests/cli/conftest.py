"""Calling ``ov`` inside the test's process, on a data directory of the test's own."""

from __future__ import annotations

import io
import itertools
import json
import os
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from openviking.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from openviking.config.settings import EmbeddingSettings


@dataclass(frozen=True)
class Call:
    """What one call gave: its exit status and the two streams."""

    status: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        """The result in the JSON envelope of a successful call."""
        assert self.status == 0, self.err
        envelope = json.loads(self.out)
        assert envelope["ok"] is True
        assert self.out.count("\n") == 1
        return envelope["result"]

    @property
    def error(self) -> dict[str, Any]:
        """The error in the JSON envelope of a failed call."""
        assert self.out == ""
        envelope = json.loads(self.err)
        assert envelope["ok"] is False
        assert set(envelope["error"]) == {"code", "message", "details"}
        error: dict[str, Any] = envelope["error"]
        return error


@pytest.fixture(autouse=True)
def client_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of ``ovcli.conf``, where nothing is yet; no variable of the environment names a server or a directory."""
    for name in [name for name in os.environ if name.startswith("OPENVIKING_")]:
        monkeypatch.delenv(name)
    file = tmp_path / "client" / "ovcli.conf"
    monkeypatch.setenv("OPENVIKING_CLI_CONFIG_FILE", str(file))
    return file


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Call]:
    """Run ``ov`` with exactly these arguments; ``stdin`` are the bytes that it may read."""

    def run(*arguments: str, stdin: bytes = b"") -> Call:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        status = main(arguments)
        captured = capsys.readouterr()
        return Call(status, captured.out, captured.err)

    return run


@pytest.fixture
def ov(call: Callable[..., Call], data: Path) -> Callable[..., Call]:
    """Run ``ov`` on the test's own data directory."""

    def run(*arguments: str, stdin: bytes = b"") -> Call:
        return call(*arguments, "--path", str(data), stdin=stdin)

    return run


class Running:
    """A server with keys in a thread of this process; ``new_user`` gives the key of an account of its own."""

    ROOT_KEY = "the-root-key-of-the-tests"

    def __init__(self, place: Path, embedding: EmbeddingSettings | None = None) -> None:
        import uvicorn

        from openviking.config.settings import EmbeddingSettings, Settings
        from openviking.server.app import create_app
        from openviking.service.authentication import Rules
        from openviking.service.services import Services

        model = embedding or EmbeddingSettings(provider="none")
        settings = Settings(path=place, poll_interval=0.1, embedding=model)
        self.services = Services(settings, Rules.of(None, self.ROOT_KEY, "127.0.0.1"))
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(create_app(self.services), log_level="error", lifespan="on"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})
        self._accounts = itertools.count()
        self._thread.start()

    def new_user(self) -> tuple[str, str]:
        """The names of a new account and the key of its admin ``ann``."""
        from openviking.model.identity import Identity

        account = f"a{next(self._accounts)}"
        root = Identity(account="default", user="default", role="root")
        return account, str(self.services.admin.create_account(root, account, "ann")["user_key"])

    def close(self) -> None:
        """Stop it."""
        self._server.should_exit = True
        self._thread.join(timeout=30)
        self._socket.close()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server for all tests; each takes an account of its own."""
    server = Running(tmp_path_factory.mktemp("served"))
    yield server
    server.close()


@pytest.fixture
def remote(call: Callable[..., Call], running: Running, client_file: Path) -> Callable[..., Call]:
    """Run ``ov`` on the server, as the admin of a new account; it is named by ``ovcli.conf``."""
    _, key = running.new_user()
    client_file.parent.mkdir(exist_ok=True)
    client_file.write_text(json.dumps({"url": running.url, "api_key": key, "root_api_key": running.ROOT_KEY}))
    return call
