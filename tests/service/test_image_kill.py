"""A process that is killed while a model looks at its picture leaves that to the next one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.stubs.scripted import Script, Scripted

from openviking import OpenViking

HERON = b"\x89PNG\r\n\x1a\nheron standing between reeds"
PROGRAM = """
import sys, threading
from openviking import OpenViking
with OpenViking(sys.argv[1], config=sys.argv[2], workers=1) as ov:
    ov.add_resource(sys.argv[3], to="viking://resources/birds")
    threading.Event().wait()
"""


@pytest.mark.slow
def test_a_killed_process_leaves_its_picture_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "birds").mkdir()
    (tmp_path / "birds" / "heron.png").write_bytes(HERON)
    config = tmp_path / "ov.conf"
    with Scripted() as stub:
        vlm = {"model": "eyes", "api_base": stub.chat_url, "timeout": 1.0, "max_retries": 0}
        config.write_text(json.dumps({"embedding": {"dense": {"provider": "none"}}, "vlm": vlm}))
        stub.behave(Script(mood="never"))
        argv = [sys.executable, "-c", PROGRAM, *map(str, (tmp_path / "data", config, tmp_path / "birds"))]
        with subprocess.Popen(argv) as process:
            stub.wait(lambda calls: any(call.shown for call in calls))
            process.kill()
        stub.behave()
        with OpenViking(tmp_path / "data", config=config, workers=0) as ov:
            assert ov.status()["waiting"]["pictures"] == 1
            ov.wait_processed(timeout=30)
            assert [hit.uri for hit in ov.find("reeds", level=2)] == ["viking://resources/birds/heron.png"]
            assert ov.check() == []
        assert len([call for call in stub.calls if call.shown]) == 1
