"""A process that is killed while it looks at a source: the look is carried on by another, and the watch goes on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.stubs.web import Asked, WebServer, answer

from openviking import OpenViking

SOURCES = Path(__file__).resolve().parents[2] / "src"
TARGET = "viking://resources/handbook"
PROGRAM = """
import sys
from openviking import OpenViking
with OpenViking(sys.argv[1], config=sys.argv[2], embedder="none", workers=1) as store:
    print(store.trigger_watch(to_uri=sys.argv[3])["run_task_id"], flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_killed_look_is_carried_on(tmp_path: Path) -> None:
    config = tmp_path / "ov.conf"
    config.write_text('{"fetch": {"allow_private": true, "max_retries": 0}}')
    place = tmp_path / "store"
    held = threading.Event()

    def hold(_: socket.socket, __: Asked) -> None:
        held.set()
        web.over.wait(60)

    with WebServer() as web:
        web.pages["/guide.txt"] = answer(b"zorblax first", content_type="text/plain")
        with OpenViking(place, config=config, embedder="none", workers=0) as store:
            store.add_resource(web.url("/guide.txt"), to=TARGET, watch_interval=30)
        web.pages["/guide.txt"] = hold
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(place), str(config), TARGET],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SOURCES)},
        ) as process:  # fmt: skip
            assert process.stdout
            task = process.stdout.readline().decode().strip()
            assert held.wait(60)
            process.send_signal(signal.SIGKILL)
        web.pages["/guide.txt"] = answer(b"zorblax second", content_type="text/plain")
        with OpenViking(place, config=config, embedder="none", workers=0) as store:
            seen = store.get_watch(to_uri=TARGET)
            assert (seen["is_running"], seen["run_task_id"]) == (True, task)
            assert store.trigger_watch(to_uri=TARGET)["run_task_id"] == task
            store.wait_processed(60)
            seen = store.get_watch(to_uri=TARGET)
            assert (seen["is_running"], seen["last_status"], seen["is_active"]) == (False, "completed", True)
            (name,) = store.ls(TARGET, simple=True)
            assert store.read(name) == "zorblax second"
            assert store.check() == []
