"""Imports behind a slow model: cancelled, deleted under way, killed; what is accepted is whole, once, and nothing comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.stubs.models import StubModels

R = "viking://resources/r"
FILES = 120


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubModels]:
    with StubModels(dimension=64) as running:
        monkeypatch.setenv("MODEL_URL", running.url)
        yield running


@pytest.fixture
def archive(zipped: Callable[[Mapping[str, str | bytes]], bytes]) -> bytes:
    return zipped({f"f{n}.md": f"# File {n}\n\nzorblax{n} {'lorem ipsum ' * 60}\n" for n in range(FILES)})


@pytest.mark.slow
def test_what_is_cancelled_or_removed_does_not_come_back(
    serve: Callable[[], Any], stub: StubModels, archive: bytes, until: Callable[[Callable[[], object]], None]
) -> None:
    stub.behave(delay=0.3)
    api = serve().caller
    added = api.post("resources", temp_file_id=api.upload(archive, "a.zip"), to=R, wait=False)
    began = time.monotonic()
    cancelled = api.call("POST", f"tasks/{added['task_id']}/cancel")
    assert cancelled.status_code in {200, 412}
    until(lambda: api.get(f"tasks/{added['task_id']}")["status"] in {"cancelled", "completed"})
    assert time.monotonic() - began < 5
    api.delete(R, recursive=True)
    assert api.post("search/find", query="zorblax7", target_uri="viking://resources", level=2)["resources"] == []
    # A new import to the same place starts at once, whatever the model is still busy with.
    again = api.post("resources", temp_file_id=api.upload(b"# New\n\nquokka\n", "new.md"), to=R, wait=False)
    until(lambda: api.get(f"tasks/{again['task_id']}")["status"] == "completed")
    stub.behave()
    assert api.post("system/wait", timeout=60)
    assert [one["uri"] for one in api.get("fs/ls", uri=R)] == [f"{R}/new.md"]
    # Its words are nowhere any more; what its vectors alone find is of the new file.
    found = api.post("search/find", query="zorblax7", target_uri=R, level=2)["resources"]
    assert all(hit["uri"] == f"{R}/new.md" for hit in found)
    assert api.post("search/grep", uri=R, pattern="zorblax")["count"] == 0
    audit = api.post("system/consistency", uri="viking://")
    assert (audit["ok"], audit["problems"]) == (True, [])
    assert any(task["task_id"] == added["task_id"] for task in api.get("tasks"))


@pytest.mark.slow
def test_a_kill_behind_a_slow_model(
    serve: Callable[[], Any], stub: StubModels, archive: bytes, place: Path,
    until: Callable[[Callable[[], object]], None],
) -> None:  # fmt: skip
    stub.behave(delay=0.05)
    first = serve()
    added = first.caller.post("resources", temp_file_id=first.caller.upload(archive, "a.zip"), to=R, wait=False)
    threading.Event().wait(0.3)
    first.kill()
    began = time.monotonic()
    second = serve()
    api = second.caller
    until(lambda: second.client.get("/ready").status_code == 200)
    assert time.monotonic() - began < 10
    until(lambda: api.get(f"tasks/{added['task_id']}")["status"] not in {"pending", "running"})
    assert api.get(f"tasks/{added['task_id']}")["status"] == "completed"
    api.post("system/wait", timeout=60)
    assert len(api.get("fs/ls", uri=R)) == FILES
    for number in (0, FILES // 2, FILES - 1):
        found = api.post("search/find", query=f"zorblax{number}", target_uri=R, level=2, limit=1)
        assert found["resources"][0]["uri"] == f"{R}/f{number}.md"
        assert found["retrieval"]["vectors"]["have"] == found["retrieval"]["vectors"]["of"]
    audit = api.post("system/consistency", uri="viking://")
    assert (audit["ok"], audit["problems"], audit["pending"]["vectors"]) == (True, [], 0)
    # A call that was under way when the process ended is made again, no more.
    made = [text for text in stub.inputs if text.startswith("File 5\n")]
    assert 1 <= len(made) <= 2
    assert not list(place.glob("accounts/*/uploads/*.*" + "[0-9a-f]" * 31))
