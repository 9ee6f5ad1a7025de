"""Two servers on one data directory: both work, and neither disturbs the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

R = "viking://resources/both"


@pytest.mark.slow
def test_both_read_and_write(serve: Callable[[], Any], until: Callable[[Callable[[], object]], None]) -> None:
    first, second = serve(), serve()
    for number in range(20):
        writer = (first, second)[number % 2].caller
        writer.write(f"{R}/f{number}.md", f"zorblax{number}")
    for reader in (first.caller, second.caller):
        assert len(reader.get("fs/ls", uri=R)) == 20
        assert reader.post("search/find", query="zorblax13", target_uri=R)["resources"][0]["uri"] == f"{R}/f13.md"
    task = first.caller.post("resources", temp_file_id=first.caller.upload(b"# A\n"), to=f"{R}/a", wait=False)
    until(lambda: second.caller.get(f"tasks/{task['task_id']}")["status"] == "completed")
    first.kill()
    second.caller.write(f"{R}/after.md", "still here")
    second.caller.post("system/wait", timeout=60)
    audit = second.caller.post("system/consistency", uri="viking://")
    assert (audit["ok"], audit["problems"]) == (True, [])
    third = serve().caller
    third.write(f"{R}/third.md", "and a new one")
    assert len(third.get("fs/ls", uri=R)) == 23
