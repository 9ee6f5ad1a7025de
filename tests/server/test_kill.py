"""A server that is killed while it imports: what was accepted is there afterwards, once and whole."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

FILES = 300
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.0, 0.15])
def test_an_import_is_carried_on_after_a_kill(
    serve: Callable[[], Any], place: Path, moment: float,
    zipped: Callable[[Mapping[str, str | bytes]], bytes], until: Callable[[Callable[[], object]], None],
) -> None:  # fmt: skip
    first = serve()
    data = zipped({f"f{n}.md": f"# File {n}\n\nword{n} and text {'lorem ipsum ' * 200}\n" for n in range(FILES)})
    unused = first.caller.upload(b"not used yet", "later.md")
    done = first.caller.post("resources", temp_file_id=first.caller.upload(data, "big.zip"))
    threading.Event().wait(moment)
    first.kill()

    api = serve().caller
    root = done["root_uri"]
    until(lambda: len(api.get("fs/ls", uri=root)) == FILES)
    until(lambda: not list(place.glob("accounts/*/uploads/*.*" + "[0-9a-f]" * 31)))
    for number in (0, FILES // 2, FILES - 1):
        assert api.get("content/read", uri=f"{root}/f{number}.md").startswith(f"# File {number}\n")
        [hit] = api.post("search/find", query=f"word{number}", target_uri=root, level=2, limit=1)["resources"]
        assert hit["uri"] == f"{root}/f{number}.md"
    audit = api.post("system/consistency", uri="viking://")
    assert (audit["ok"], audit["problems"]) == (True, [])
    assert api.post("resources", temp_file_id=unused, wait=True)["root_uri"] == "viking://resources/later"


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_mixed_load() -> None:
    argv = [sys.executable, str(BENCHMARKS / "endurance.py"), "--minutes", "0.1", "--every", "3"]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "**wrong or lost** | **0**" in ended.stdout
    assert "kills and restarts | 2 |" in ended.stdout
