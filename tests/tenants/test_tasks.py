"""Tasks as their owners see them, and imports as tasks: stages, cancelling, a killed process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openviking.errors import (
    ConflictError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)
from openviking.ingest.background import Turn
from openviking.model.identity import Identity
from openviking.model.imports import ImportOptions
from openviking.model.task import STATUSES
from openviking.service.task_run import TaskRun, Unfinished, tracked
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore

ROOT = Identity("default", "default", "root")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    for number in range(6):
        (made / f"n{number}.md").write_text(f"# Note {number}\n\nzorblax{number} is here.\n", encoding="utf-8")
    return made


def an_import(folder: Path, key: str = "1", root: str = "resources/docs") -> NewJob:
    payload = {"location": str(folder), "root": root, "parent": None, "options": ImportOptions().to_dict()}
    return NewJob("import", key, payload)


def test_an_import_is_a_task(server: Any, folder: Path) -> None:
    who = server.who(server.account("acme"))
    tasks = server.tenancy.tasks
    record = tasks.submit(who, "add_resource", "viking://resources/docs", an_import(folder), source_name="docs")
    assert (record["status"], record["task_type"], record["meta"]) == (
        "pending",
        "add_resource",
        {"source_name": "docs"},
    )
    server.work("acme")
    done = tasks.get(who, record["task_id"])
    assert (done["status"], done["stage"], done["error"]) == ("completed", "done", None)
    assert done["progress"]["done"] == done["progress"]["total"] == 6
    assert (done["result"]["created"], done["result"]["root_uri"]) == (6, "viking://resources/docs")
    assert server.content.read(who, "viking://resources/docs/n3.md").startswith("# Note 3")
    with pytest.raises(FailedPreconditionError):
        tasks.cancel(who, record["task_id"])


def test_only_the_owner_sees_a_task(server: Any, folder: Path) -> None:
    boss = server.who(server.account("acme"))
    alice, eve = server.who(server.user("acme", "alice")), server.who(server.account("evil", "alice"))
    tasks = server.tenancy.tasks
    record = tasks.submit(alice, "add_resource", "viking://resources/docs", an_import(folder))
    for other in (boss, eve, ROOT):
        for ask in (tasks.get, tasks.cancel, tasks.wait):
            errors = []
            for task_id in (record["task_id"], "none", "../x", ""):
                with pytest.raises(NotFoundError) as caught:
                    ask(other, task_id)
                errors.append((caught.value.details["type"], "not found or expired" in caught.value.message))
            assert set(errors) == {("task", True)}
        assert list(tasks.find(other)) == []
    assert [one["task_id"] for one in tasks.find(alice)] == [record["task_id"]]


def test_tasks_are_listed_in_pages(server: Any, folder: Path) -> None:
    who = server.who(server.account("acme"))
    tasks = server.tenancy.tasks
    made = [
        tasks.submit(who, "add_resource", f"viking://resources/d{n}", an_import(folder, str(n), f"resources/d{n}"))
        for n in range(5)
    ]
    ids = [one["task_id"] for one in made][::-1]
    cursor, found = None, []
    for _ in range(3):
        page = tasks.find(who, limit=2, cursor=cursor)
        found += [one["task_id"] for one in page]
        cursor = page.next_cursor
    assert (found, cursor) == (ids, None)
    assert list(tasks.find(who, limit=0)) == []
    assert tasks.find(who, limit=5).next_cursor is None
    tasks.cancel(who, ids[0])
    assert [one["task_id"] for one in tasks.find(who, status="cancelled")] == ids[:1]
    assert [one["task_id"] for one in tasks.find(who, resource_id="viking://resources/d1")] == [ids[3]]
    assert [one["task_id"] for one in tasks.find(who, q="S/D2")] == [ids[2]]
    assert list(tasks.find(who, task_type="add_skill")) == []
    for status in STATUSES:
        assert all(one["status"] == status for one in tasks.find(who, status=status))
    for bad in ({"limit": 201}, {"limit": -1}, {"limit": "5"}, {"limit": True}, {"status": "done"}, {"cursor": "x"},
                {"cursor": "-1"}, {"cursor": "9" * 40}, {"cursor": 5}):  # fmt: skip
        with pytest.raises(InvalidArgumentError):
            tasks.find(who, **bad)


def test_the_same_work_conflicts(server: Any, folder: Path) -> None:
    who = server.who(server.account("acme"))
    first = server.tenancy.tasks.submit(who, "add_resource", "", an_import(folder))
    with pytest.raises(ConflictError) as caught:
        server.tenancy.tasks.submit(who, "add_resource", "", an_import(folder))
    assert caught.value.details["task_id"] == first["task_id"]


def test_an_import_that_can_not_succeed_fails_at_once(server: Any, tmp_path: Path) -> None:
    who = server.who(server.account("acme"))
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 is no zip")
    for number, source in enumerate((tmp_path / "nowhere", tmp_path / "broken.zip")):
        record = server.tenancy.tasks.submit(who, "add_resource", "", an_import(source, str(number)))
        server.work("acme")
        failed = server.tenancy.tasks.get(who, record["task_id"])
        assert failed["status"] == "failed"
        assert failed["error"]
    assert server.tenancy.accounts.of("acme").jobs.failed() == []


def test_a_root_that_is_removed_meanwhile_fails_the_import(serve: Callable[..., Any], folder: Path) -> None:
    """What was deleted does not come back."""
    server = serve(steps={"import": tracked(_removing)})
    who = server.who(server.account("acme"))
    record = server.tenancy.tasks.submit(who, "add_resource", "", an_import(folder))
    server.work("acme")
    failed = server.tenancy.tasks.get(who, record["task_id"])
    assert failed["status"] == "failed"
    assert "removed during the import" in failed["error"]
    with pytest.raises(NotFoundError):
        server.fs.ls(who, "viking://resources/docs")


def _removing(store: AccountStore, turn: Turn, run: TaskRun) -> Any:
    from openviking.service.import_step import carry_out_import
    from openviking.store.batch import Remove

    class Hindered(TaskRun):
        def cancelled(self) -> bool:
            with store.read() as view:
                there = view.get("resources/docs") is not None
            if there:
                store.apply([Remove("resources/docs", recursive=True)])
            return super().cancelled()

    hindered = Hindered(store.tasks, turn.payload["task"], turn.cancelled)
    assert run is not hindered
    return carry_out_import(store, turn, hindered)


class Slow:
    """Work that says when it has begun, and goes on until it is stopped."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.pieces = 0

    def __call__(self, _store: AccountStore, _turn: Turn, run: TaskRun) -> None:
        run.stage("working")
        self.begun.set()
        look = threading.Event()
        while not run.cancelled():
            self.pieces += 1
            look.wait(0.01)
        raise Unfinished


def test_running_work_is_cancelled_soon_and_does_no_more(serve: Callable[..., Any], until: Any) -> None:
    slow = Slow()
    server = serve(workers=1, steps={"slow": tracked(slow)})
    who = server.who(server.account("acme"))
    tasks = server.tenancy.tasks
    record = tasks.submit(who, "add_resource", "", NewJob("slow", "1", {}))
    assert slow.begun.wait(30)
    assert tasks.get(who, record["task_id"])["status"] == "running"
    with pytest.raises(DeadlineExceededError) as caught:
        tasks.wait(who, record["task_id"], 0.05)
    assert caught.value.details["status"] == "running"
    assert tasks.cancel(who, record["task_id"])["status"] == "cancelling"
    assert tasks.wait(who, record["task_id"], 5)["status"] == "cancelled"
    pieces = slow.pieces
    again = tasks.submit(who, "add_resource", "", NewJob("slow", "1", {}))
    until(lambda: slow.pieces > pieces)
    assert tasks.cancel(who, again["task_id"])["status"] == "cancelling"
    assert tasks.wait(who, again["task_id"], 5)["status"] == "cancelled"


def test_work_that_is_stopped_with_its_process_goes_on_later(serve: Callable[..., Any]) -> None:
    slow = Slow()
    first = serve(workers=1, steps={"slow": tracked(slow)})
    who = first.who(first.account("acme"))
    record = first.tenancy.tasks.submit(who, "add_resource", "", NewJob("slow", "1", {}))
    assert slow.begun.wait(30)
    first.tenancy.worker.stop()
    with pytest.raises(FailedPreconditionError):
        first.tenancy.tasks.wait(who, record["task_id"])
    second = serve(steps={"slow": tracked(lambda _store, _turn, _run: "done")})
    assert second.tenancy.recovery.open_busy() == 1
    assert second.tenancy.tasks.get(who, record["task_id"])["status"] == "pending"
    second.work("acme")
    done = second.tenancy.tasks.get(who, record["task_id"])
    assert (done["status"], done["result"]) == ("completed", "done")


def test_an_outage_is_tried_again_and_told(serve: Callable[..., Any]) -> None:
    tries: list[int] = []

    def failing(_store: AccountStore, _turn: Turn, _run: TaskRun) -> str:
        tries.append(1)
        if len(tries) == 1:
            raise UnavailableError("The model does not answer", service="model", reason="down")
        return "there"

    server = serve(steps={"flaky": tracked(failing)})
    who = server.who(server.account("acme"))
    record = server.tenancy.tasks.submit(who, "session_commit", "", NewJob("flaky", "1", {}))
    store = server.tenancy.accounts.of("acme")
    assert server.tenancy.worker.work(store)
    waiting = server.tenancy.tasks.get(who, record["task_id"])
    assert (waiting["status"], waiting["error"]) == ("pending", "The model does not answer")
    with store._connections.writing() as connection:
        connection.execute("UPDATE jobs SET due = 0")
    server.work("acme")
    assert server.tenancy.tasks.get(who, record["task_id"])["result"] == "there"


def test_a_wish_to_cancel_outlives_the_process_that_did_not_hear_it(serve: Callable[..., Any]) -> None:
    done: list[int] = []
    server = serve(steps={"slow": tracked(lambda _store, _turn, _run: done.append(1))})
    who = server.who(server.account("acme"))
    record = server.tenancy.tasks.submit(who, "add_resource", "", NewJob("slow", "1", {}))
    store = server.tenancy.accounts.of("acme")
    assert store.jobs.claim(("slow",), 60_000)
    assert server.tenancy.tasks.cancel(who, record["task_id"])["status"] == "cancelling"
    with store._connections.writing() as connection:
        # Its holder is dead, which shows when the lease is over.
        connection.execute("UPDATE jobs SET lease_until = 0")
    server.work("acme")
    assert server.tenancy.tasks.get(who, record["task_id"])["status"] == "cancelled"
    assert done == []


def test_what_can_not_be_cancelled_says_so(server: Any) -> None:
    boss = server.who(server.account("acme"))
    server.user("acme", "alice")
    begun = server.tenancy.admin.delete_user(boss, "acme", "alice")
    with pytest.raises(FailedPreconditionError) as caught:
        server.tenancy.tasks.cancel(boss, begun["task_id"])
    assert caught.value.details["task_type"] == "user_delete"


def test_progress_is_written_now_and_then(store_with_task: tuple[AccountStore, str]) -> None:
    store, task = store_with_task
    now = [100.0]
    run = TaskRun(store.tasks, task, lambda: False, lambda: now[0])

    def written() -> Any:
        found = store.tasks.get(task, None)
        assert found is not None
        return found.stage, found.progress

    run.stage("importing", {"done": 1})
    run.stage("importing", {"done": 2})
    assert written() == ("importing", {"done": 1})
    now[0] += 1
    run.stage("importing", {"done": 3})
    assert written() == ("importing", {"done": 3})
    run.stage("removing", {"done": 4})
    assert written() == ("removing", {"done": 4})
    store.tasks.cancel(task)
    assert not run.wanted()
    now[0] += 1
    assert run.wanted()


@pytest.fixture
def store_with_task(server: Any) -> tuple[AccountStore, str]:
    who = server.who(server.account("acme"))
    record = server.tenancy.tasks.submit(who, "add_resource", "", NewJob("a", "k", {}))
    store = server.tenancy.accounts.of("acme")
    assert store.jobs.claim(("a",), 60_000)
    return store, record["task_id"]


@pytest.mark.cpu_budget(8)
def test_a_killed_import_is_carried_on_by_the_next_process(
    server: Any, start: Callable[..., Any], tmp_path: Path, until: Any
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(400):
        (folder / f"n{number}.md").write_text(f"# Note {number}\n\n{'zorblax ' * 200}\n", encoding="utf-8")
    who = server.who(server.account("acme"))
    record = server.tenancy.tasks.submit(who, "add_resource", "", an_import(folder))
    other = start(workers=1)
    until(lambda: (server.tenancy.tasks.get(who, record["task_id"])["progress"] or {}).get("done", 0) > 0)
    other.kill()
    killed = server.tenancy.tasks.get(who, record["task_id"])
    assert killed["status"] in {"running", "completed"}
    store = server.tenancy.accounts.of("acme")
    with store._connections.writing() as connection:
        # The lease of the dead is over at once instead of after seconds.
        connection.execute("UPDATE jobs SET lease_until = 0 WHERE state = 'running'")
    start(workers=1)
    until(lambda: server.tenancy.tasks.get(who, record["task_id"])["status"] == "completed")
    result = server.tenancy.tasks.get(who, record["task_id"])["result"]
    assert result["created"] + result["unchanged"] == 400
    assert store.check() == []
