"""The `openviking-server` command as a process."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from openviking import __version__

SOURCES = Path(__file__).resolve().parents[2] / "src"
COMMAND = [sys.executable, "-c", "from openviking.cli.server_command import run; run()"]
PATIENCE_S = 60.0


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCES), "HOME": str(tmp_path)}


def called(env: dict[str, str], *args: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *args], env=env, input=said, text=True, capture_output=True, timeout=PATIENCE_S, check=False
    )


@pytest.fixture
def started(env: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """A server on a free port, and its address."""
    running: list[subprocess.Popen[str]] = []

    def start(dense: dict[str, Any] | None = None, **server: Any) -> tuple[subprocess.Popen[str], str]:
        conf = tmp_path / "ov.conf"
        told = {"embedding": {"dense": dense or {"provider": "none"}}, "storage": {"workspace": str(tmp_path / "data")}}
        conf.write_text(json.dumps({**told, "server": server}))
        process = subprocess.Popen(
            [*COMMAND, "--config", str(conf), "--port", "0"], env=env, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        running.append(process)
        assert process.stdout
        readable, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
        assert readable
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        return process, found[0]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_versions_and_wrong_calls(env: dict[str, str]) -> None:
    assert called(env, "--version").stdout == f"openviking-server {__version__}\n"
    many = called(env, "--workers", "4")
    assert many.returncode == 2
    assert "server.threads" in many.stderr
    assert called(env, "--port", "70000").returncode == 2


@pytest.mark.parametrize(
    ("conf", "flags", "told"),
    [
        ({}, ["--host", "0.0.0.0"], "root_api_key"),
        ({}, ["--host", "all"], "root_api_key"),
        ({"server": {"root_api_key": ""}}, [], "empty"),
        ({"server": {"root_api_key": "$OPENVIKING_NO_SUCH_KEY"}}, [], "not set"),
        ({"server": {"prot": 1}}, [], "server.port"),
        ({"server": {"workers": 4}}, [], "server.workers"),
        ({"server": {"auth_mode": "oidc"}}, [], "auth_mode"),
        ({"encryption": {"enabled": True}}, [], "encryption.enabled"),
        ({"embedding": {"dense": {"provider": "opena"}}}, [], "did you mean 'openai'?"),
    ],
)
def test_what_must_not_be_started(
    env: dict[str, str], tmp_path: Path, conf: dict[str, Any], flags: list[str], told: str
) -> None:
    file = tmp_path / "ov.conf"
    file.write_text(json.dumps(conf))
    ended = called(env, "--config", str(file), *flags)
    assert ended.returncode == 1
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / ".openviking").exists()


def test_a_port_that_is_taken(env: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ended = called(env, "--port", port)
    assert ended.returncode == 1
    assert f"Port {port} of 127.0.0.1 is taken" in ended.stderr


def test_it_serves_and_stops(started: Any) -> None:
    process, address = started()
    assert httpx2.get(f"{address}/health", timeout=PATIENCE_S).json()["auth_mode"] == "dev"
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    assert time.monotonic() - began < 10


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_while_calls_wait(started: Any, number: int) -> None:
    answers: list[Any] = []
    answered = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as mute:
        # It takes connections, as far as its queue goes, and never answers.
        dense = {"provider": "openai", "model": "m", "api_key": "k", "dimension": 8, "timeout": 600}
        dense["api_base"] = f"http://127.0.0.1:{mute.getsockname()[1]}/v1"
        process, address = started(dense, threads=2)
        body = {"uri": "viking://resources/a.md", "content": "zebra", "mode": "create"}
        assert httpx2.post(f"{address}/api/v1/content/write", json=body, timeout=PATIENCE_S).status_code == 200
        late = httpx2.post(f"{address}/api/v1/system/wait", json={"timeout": 0.2}, timeout=PATIENCE_S)
        assert (late.status_code, late.json()["error"]["code"]) == (504, "DEADLINE_EXCEEDED")

        def waits() -> None:
            answers.append(httpx2.post(f"{address}/api/v1/system/wait", json={}, timeout=PATIENCE_S))
            answered.set()

        # A connection that sends half of its request keeps nobody from stopping either.
        half = socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])))
        half.sendall(head_of(address) + b"Content-Length: 100\r\n\r\n{")
        threads = [threading.Thread(target=waits) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert not answered.wait(1), answers[0].text
        began = time.monotonic()
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 0
        assert time.monotonic() - began < 12
        for thread in threads:
            thread.join()
        half.settimeout(PATIENCE_S)
        told = half.recv(65536)
        half.close()
    assert told.startswith(b"HTTP/1.1 503")
    assert b"The server is stopping" in told
    assert "Traceback" not in process.stderr.read()
    for answer in answers:
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "UNAVAILABLE")
        assert "stopping" in answer.json()["error"]["message"]


def head_of(address: str) -> bytes:
    host = address.removeprefix("http://")
    return f"POST /api/v1/content/write HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n".encode()


def raw(address: str, request: bytes) -> bytes:
    """All that a server answers to a request after which it closes."""
    told = b""
    with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        while piece := connection.recv(65536):
            told += piece
    return told


def test_what_is_no_request_is_the_callers_fault(started: Any) -> None:
    process, address = started()
    for length in (b"-1", b"x", b"1, 2", b"99999999999999999999999"):
        told = raw(address, head_of(address) + b"Content-Length: " + length + b"\r\nConnection: close\r\n\r\n{}")
        assert told.split()[1].startswith(b"4"), length
    for line in (
        b"GET http://[::1 HTTP/1.1", b"GET /\xff HTTP/1.1", b"GET /a\x00b HTTP/1.1", b"GET / HTTP/9.9", b"\x16\x03\x01\x00",
        b"CONNECT a:80 HTTP/1.1", b"PRI * HTTP/2.0", b"GET / HTTP/1.1\r\nX : y", b"GET / HTTP/1.1\r\nno header",
    ):  # fmt: skip
        told = raw(address, line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert told.split()[1] in {b"400", b"405"}, line
        assert b'"INVALID_ARGUMENT"' in told, line

    # Clients that offer HTTP/2 offer it with every request, also with one that has a body.
    body = json.dumps({"uri": "viking://resources/a.md", "content": "zebra", "mode": "create"}).encode()
    offer = b"Connection: Upgrade, close\r\nUpgrade: h2c\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert raw(address, head_of(address) + offer + body).startswith(b"HTTP/1.1 200")
    with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), timeout=PATIENCE_S) as slowly:
        offer = b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: %d\r\n\r\n" % len(body)
        whole = head_of(address) + offer + body.replace(b"a.md", b"b.md")
        slowly.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(whole), 7):
            slowly.sendall(whole[start : start + 7])
        assert slowly.recv(65536).startswith(b"HTTP/1.1 200")
    for name in ("a", "b"):
        read = httpx2.get(f"{address}/api/v1/content/read", params={"uri": f"viking://resources/{name}.md"})
        assert read.json()["result"] == "zebra"
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    assert process.stderr.read() == ""


def test_init_writes_what_the_server_takes_and_never_overwrites(env: dict[str, str], tmp_path: Path) -> None:
    said = f"{tmp_path / 'notes'}\nall\nnone\n"
    made = called(env, "init", said=said)
    assert made.returncode == 0, made.stderr
    file = tmp_path / ".openviking" / "ov.conf"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    told = json.loads(file.read_text())
    assert told["storage"]["workspace"] == str(tmp_path / "notes")
    assert told["server"]["host"] == "all"
    assert len(told["server"]["root_api_key"]) == 64
    again = called(env, "init", said=said)
    assert again.returncode == 1
    assert json.loads(file.read_text()) == told
    well = called(env, "doctor", "--config", str(file))
    assert "api_key mode" in well.stdout or "is taken" in well.stdout


def test_init_without_anybody_to_answer(env: dict[str, str], tmp_path: Path) -> None:
    assert called(env, "init").returncode == 0
    assert "server" not in json.loads((tmp_path / ".openviking" / "ov.conf").read_text())


def test_doctor_says_what_is_wrong_and_what_to_do(env: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "ov.conf"
    file.write_text('{"embeding": {}}')
    ended = called(env, "doctor", "--config", str(file))
    assert ended.returncode == 1
    assert "did you mean" in ended.stdout
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        dense = {"provider": "openai", "model": "m", "api_key": "k", "timeout": 0.5}
        dense["api_base"] = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        conf = {"embedding": {"dense": dense, "max_retries": 0}, "storage": {"workspace": str(tmp_path / "data")}}
        file.write_text(json.dumps(conf))
        ended = called(env, "doctor", "--config", str(file), "--port", "0")
    assert ended.returncode == 1
    assert "✗ embedding model m" in ended.stdout
    assert "embedding.dense" in ended.stdout
    assert "✓ disk" in ended.stdout


def test_doctor_finds_that_all_is_well(env: dict[str, str], started: Any, tmp_path: Path) -> None:
    process, address = started()
    body = {"uri": "viking://resources/a.md", "content": "zebra", "mode": "create"}
    assert httpx2.post(f"{address}/api/v1/content/write", json=body, timeout=PATIENCE_S).status_code == 200
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE_S)
    ended = called(env, "doctor", "--config", str(tmp_path / "ov.conf"), "--port", "0")
    assert ended.returncode == 0, ended.stdout
    assert "✓ index of default: 1 files" in ended.stdout
