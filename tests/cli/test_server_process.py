"""``ov`` on a server as a process: interrupts, closed pipes, locales, a terminal, and what it costs."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SOURCES = os.pathsep.join([str(ROOT / "src"), str(ROOT / "sdk/src")])
PROGRAM = "import sys; sys.argv[0] = 'ov'; from openviking.cli.main import run; run()"
ENTRY = {"uri": "viking://resources/文档.md", "isDir": False, "size": 5, "modTime": "2026-01-31T09:30:00.000Z"}

pytestmark = pytest.mark.slow


class _Scripted(BaseHTTPRequestHandler):
    """A server whose only task never ends."""

    looked: threading.Event

    def do_GET(self) -> None:
        if "/tasks/" in self.path:
            type(self).looked.set()
            self._answer(
                {"task_id": "t1", "status": "running", "stage": "parsing", "progress": {"done": 1, "total": 9}}
            )
        elif "/fs/ls" in self.path:
            entries = [ENTRY["uri"]] if "simple=true" in self.path else [ENTRY]
            self._answer(entries * 300, has_more=True, total=400)
        else:
            self._answer("x" * 2_000_000 + "\n")

    def do_POST(self) -> None:
        left = int(self.headers["Content-Length"])
        while left:
            left -= len(self.rfile.read(min(left, 65536)))
        self._answer({"temp_file_id": "u1", "task_id": "t1", "status": "success", "root_uri": "viking://resources/x"})

    def _answer(self, result: Any, **beside: Any) -> None:
        if "profile=1" in self.path:
            beside["profile"] = ["scan 3 ms"]
        body = json.dumps({"status": "ok", "result": result, **beside}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: the test's output is for failures."""


@pytest.fixture
def url() -> Iterator[str]:
    _Scripted.looked = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Scripted)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of the processes: this source, compiled once for all of them, and nothing that names a server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENVIKING_", "PYTHON"))}
    place = tmp_path_factory.mktemp("process")
    return {
        **kept, "PYTHONPATH": SOURCES, "PYTHONPYCACHEPREFIX": str(place / "compiled"), "TERM": "xterm-256color",
        "HOME": str(place),
    }  # fmt: skip


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *arguments]


def started(environment: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(*arguments), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # A background job of a shell ignores interrupts, and so do its children.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip


def test_an_interrupted_upload_says_that_nothing_was_added(environment: dict[str, str], tmp_path: Path) -> None:
    big = tmp_path / "big.bin"
    with big.open("wb") as file:
        file.truncate(200_000_000)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        process = started(
            environment, "--url", f"http://127.0.0.1:{listening.getsockname()[1]}", "add-resource", str(big), "--wait"
        )
        connection, _ = listening.accept()
        with connection:
            assert connection.recv(1)  # it sends, and more than the buffers hold
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.decode() == "interrupted\nthe upload was not complete: nothing was added\n"


def test_an_interrupted_wait_says_how_it_goes_on(environment: dict[str, str], tmp_path: Path, url: str) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    process = started(environment, "--url", url, "add-resource", str(tmp_path / "a.md"), "--wait", "--progress")
    assert _Scripted.looked.wait(30)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().splitlines()[-2:] == [
        "interrupted",
        f"the server goes on; to see how far it is: ov --url {url} task status t1; to stop it: ov --url {url} task cancel t1",
    ]


def test_a_pipe_that_closes_early_ends_the_command_quietly(environment: dict[str, str], url: str) -> None:
    process = started(environment, "--url", url, "read", "viking://resources/long.txt")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # before the first byte: every write fails
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0
    process.stderr.close()


def test_a_locale_without_unicode(environment: dict[str, str], url: str) -> None:
    gave = subprocess.run(
        command("--url", url, "ls", "-s", "viking://resources"), env={**environment, "PYTHONIOENCODING": "ascii"},
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert gave.stdout.startswith(b"viking://resources/\\u6587\\u6863.md\n")
    assert gave.stderr == b"... 300 of 400 shown; use -n or --offset\n"


def test_a_profile_stands_beside_the_result(environment: dict[str, str], url: str) -> None:
    gave = subprocess.run(
        command("-o", "json", "--url", url, "--profile", "read", "viking://resources/x"), env=environment,
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    told = json.loads(gave.stdout)
    assert (told["status"], told["profile"]) == ("ok", ["GET /api/v1/content/read: scan 3 ms"])
    assert len(told["result"]) == 2_000_001


def test_a_terminal_sees_how_much_is_sent(environment: dict[str, str], tmp_path: Path, url: str) -> None:
    (tmp_path / "big.bin").write_bytes(os.urandom(3_000_000))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("--url", url, "add-resource", str(tmp_path / "big.bin")), env=environment, stdin=theirs, stdout=theirs,
        stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error when it is read
        while block := os.read(ours, 65536):
            shown += block
    os.close(ours)
    assert process.wait(timeout=60) == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert "━" in plain
    assert "root_uri" in plain


def test_what_a_call_costs(environment: dict[str, str], url: str) -> None:
    """A list takes 230 ms of CPU on the reference machine; the bound allows for one half as fast."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command("--url", url, "-o", "json", "ls"), env=environment, capture_output=True, check=True, timeout=60
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)

    once()
    assert min(once() for _ in range(3)) < 0.5
