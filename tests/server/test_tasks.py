"""Tasks over HTTP (contract/core.md §3.8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openviking.model.identity import Identity

ROOT = Identity(account="default", user="default", role="root")


def test_an_import_is_a_task(api: Any, until: Any) -> None:
    added = api.post("resources", temp_file_id=api.upload(b"# Zebra\n\nstripes\n"), wait=False)
    task = added["task_id"]
    until(lambda: api.get(f"tasks/{task}")["status"] == "completed")
    record = api.get(f"tasks/{task}", include_events=True)
    assert record["task_type"] == "add_resource"
    assert isinstance(record["created_at"], float)
    assert record["events"] == []
    assert [one["task_id"] for one in api.get("tasks", task_type="add_resource")] == [task]
    assert api.get("tasks", status="failed") == []
    cancelled = api.call("POST", f"tasks/{task}/cancel")
    assert (cancelled.status_code, cancelled.json()["error"]["code"]) == (412, "FAILED_PRECONDITION")


def test_pages(api: Any) -> None:
    tasks = [api.post("resources", temp_file_id=api.upload(b"# A\n"), wait=False)["task_id"] for _ in range(3)]
    first = api.get("tasks", limit=2, pagination=True)
    rest = api.get("tasks", limit=2, cursor=first["next_cursor"])
    assert [one["task_id"] for one in first["tasks"] + rest["tasks"]] == tasks[::-1]
    assert (first["has_more"], rest["next_cursor"]) == (True, None)
    assert len(api.get("tasks", limit=1)) == 1
    assert api.get("tasks", limit=0) == []


def test_limits_and_unknown_tasks(api: Any) -> None:
    assert api.call("GET", "tasks", params={"limit": 10_000}).status_code == 400
    assert api.call("GET", "tasks", params={"cursor": "x"}).status_code == 400
    for method, path in (("GET", "tasks/none"), ("POST", "tasks/none/cancel")):
        error = api.call(method, path).json()["error"]
        assert (error["code"], error["details"]["type"]) == ("NOT_FOUND", "task")


def test_nobody_sees_the_tasks_of_another(tenants: Any) -> None:
    ann, bob, eve = tenants("acme", "ann"), tenants("acme", "bob"), tenants("globex", "eve")
    task = ann.post("resources", temp_file_id=ann.upload(b"# A\n"), wait=False)["task_id"]
    for other in (bob, eve):
        assert other.get("tasks") == []
        assert other.call("GET", f"tasks/{task}").status_code == 404
        assert other.call("POST", f"tasks/{task}/cancel").status_code == 404


def test_an_import_that_is_cancelled_while_it_waits_leaves_nothing(idle: Any, place: Path) -> None:
    api, services = idle
    added = api.post("resources", temp_file_id=api.upload(b"# Zebra\n", "zebra.md"), wait=False)
    assert api.get("fs/stat", uri=added["root_uri"])["isDir"]
    assert api.post(f"tasks/{added['task_id']}/cancel")["status"] == "cancelled"
    api.post("system/wait", timeout=30)
    assert api.call("GET", "fs/stat", params={"uri": added["root_uri"]}).status_code == 404
    assert [path for path in place.glob("accounts/*/uploads/*") if path.is_file()] == []
    assert services.tasks.get(ROOT, added["task_id"])["status"] == "cancelled"


def test_what_was_there_before_stays_when_its_update_is_cancelled(idle: Any) -> None:
    api, _ = idle
    target = "viking://resources/zebra"
    api.add(b"# Zebra\n", "zebra.md", to=target)
    added = api.post("resources", temp_file_id=api.upload(b"# New\n", "zebra.md"), to=target, wait=False)
    api.post(f"tasks/{added['task_id']}/cancel")
    api.post("system/wait", timeout=30)
    assert "Zebra" in api.get("content/read", uri=f"{target}/zebra.md")
