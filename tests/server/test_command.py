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

    def start(**server: Any) -> tuple[subprocess.Popen[str], str]:
        conf = tmp_path / "ov.conf"
        words = {"embedding": {"dense": {"provider": "none"}}, "storage": {"workspace": str(tmp_path / "data")}}
        conf.write_text(json.dumps({**words, "server": server}))
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_while_calls_wait(started: Any, until: Any, number: int) -> None:
    process, address = started(threads=2)
    answers: list[Any] = []

    def waits() -> None:
        # A connection that sends half of its request keeps nobody from stopping either.
        answers.append(httpx2.post(f"{address}/api/v1/system/wait", json={}, timeout=PATIENCE_S))

    half = socket.create_connection((address.split(":")[1].strip("/"), int(address.rsplit(":", 1)[1])))
    half.sendall(b"POST /api/v1/content/write HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    thread = threading.Thread(target=waits)
    thread.start()
    until(lambda: bool(answers))
    began = time.monotonic()
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 0
    assert time.monotonic() - began < 12
    thread.join()
    half.close()


def test_a_bad_request_line_and_length_are_the_callers_fault(started: Any) -> None:
    _, address = started()
    port = int(address.rsplit(":", 1)[1])
    for length in (b"-1", b"x", b"1, 2", b"99999999999999999999999"):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as raw:
            head = b"POST /api/v1/search/find HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
            raw.sendall(head + length + b"\r\nConnection: close\r\n\r\n{}")
            assert raw.recv(4096).split()[1].startswith(b"4"), length


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
