"""A process that is killed while it fetches: nothing half is stored, nothing is left lying about, another carries on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fetch.conftest import Work
from tests.stubs.web import Asked, WebServer, answer

from openviking import OpenViking

PROGRAM = """
import sys
from openviking import OpenViking
with OpenViking(sys.argv[1], config=sys.argv[2], workers=0) as ov:
    ov.add_resource(sys.argv[3])
"""
SOURCES = Path(__file__).resolve().parents[2] / "src"


@pytest.mark.slow
def test_a_killed_fetch(
    tmp_path: Path, web: WebServer, repo: Work, until: Callable[[Callable[[], object]], None]
) -> None:
    repo.commit({"a.md": "# Alpha krill"})
    begun, gone = threading.Event(), threading.Event()
    path = "/smart/repo.git/git-upload-pack"

    def held(connected: socket.socket, asked: Asked) -> None:
        del asked
        connected.sendall(answer(b"# Alp", content_length="13", content_type="text/markdown"))
        begun.set()
        gone.wait()

    web.pages[path] = held
    conf, data = tmp_path / "ov.conf", tmp_path / "data"
    conf.write_text('{"fetch": {"allow_private": true}, "embedding": {"dense": {"provider": "none"}}}')
    url = web.url("/smart/repo.git")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(data), str(conf), url], env={**os.environ, "PYTHONPATH": str(SOURCES)}
    )
    begun.wait(60)
    assert list(data.glob("fetch/*"))
    process.kill()
    process.wait()

    del web.pages[path]
    with OpenViking(data, config=conf, workers=0) as ov:
        assert ov.status()["files"] == 0
        root = "viking://resources/smart/repo"
        ov.wait_processed(60)
        assert ov.read(f"{root}/a.md") == "# Alpha krill"
        assert ov.check() == []
        # The git of the killed process holds its directory until its own limits end it: here its connection ends.
        gone.set()

        def swept() -> bool:
            repo.commit({"b.md": os.urandom(4).hex()})
            ov.add_resource(url)
            return not list(data.glob("fetch/*"))

        until(swept)
