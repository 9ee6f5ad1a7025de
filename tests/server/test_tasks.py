"""Tasks over HTTP (contract/core.md §3.8)."""

from __future__ import annotations

from typing import Any


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
