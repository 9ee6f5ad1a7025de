"""Tasks follow their jobs, whatever becomes of those."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openviking.errors import ConflictError, FailedPreconditionError, NotFoundError
from openviking.ingest.prepare import PathAnalyser
from openviking.model.task import ACTIVE, NewTask, Task
from openviking.store.batch import PutFile
from openviking.store.jobs import MAX_ATTEMPTS, Job, NewJob
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.schema import MIGRATIONS, migrate
from openviking.store.sqlite.tasks import SqliteTasks
from openviking.store.sqlite.tasks_schema import tasks_tables
from openviking.store.tasks import FAILED_MS, FINISHED_MS, TaskFilter

LEASE = 60_000
OVER = -1


def queued(store: AccountStore, key: str = "k", **fields: Any) -> str:
    task = NewTask(**{"type": "add_resource", "owner": "alice", **fields})
    store.jobs.enqueue(NewJob("a", key, {"x": 1}, task=task))
    return task.id


def claimed(store: AccountStore, lease: int = LEASE) -> Job:
    job = store.jobs.claim(("a",), lease)
    assert job is not None
    return job


def seen(store: AccountStore, task_id: str) -> Task:
    task = store.tasks.get(task_id, None)
    assert task is not None
    return task


def test_a_task_goes_with_its_job(store: AccountStore) -> None:
    task = queued(store, resource_id="viking://resources/a", meta={"n": [1, "ü"]})
    assert (seen(store, task).status, seen(store, task).meta) == ("pending", {"n": [1, "ü"]})
    job = claimed(store)
    assert seen(store, task).status == "running"
    assert store.tasks.note(task, "importing", {"done": 3}) == "running"
    store.jobs.give_back(job)
    assert (seen(store, task).status, seen(store, task).stage) == ("pending", "importing")
    job = claimed(store)
    store.jobs.fail(job, "the network is down", retry_in=0)
    assert (seen(store, task).status, seen(store, task).error) == ("pending", "the network is down")
    job = claimed(store)
    assert (seen(store, task).status, seen(store, task).error) == ("running", "")
    store.jobs.finish(job)
    done = seen(store, task)
    assert (done.status, done.progress, done.over) == ("completed", {"done": 3}, True)
    assert done.updated_at >= done.created_at
    assert store.tasks.note(task, "later", None) == "completed"
    assert seen(store, task).stage == "importing"
    assert store.jobs.waiting() == {}


def test_a_task_ends_with_its_result_and_its_job(store: AccountStore) -> None:
    task = queued(store)
    job = claimed(store)
    assert store.tasks.end(task, "completed", result={"files": 3})
    assert store.jobs.waiting() == {}
    assert not store.jobs.renew(job, LEASE)
    store.jobs.finish(job)
    store.jobs.give_back(job)
    assert (seen(store, task).status, seen(store, task).result) == ("completed", {"files": 3})
    assert not store.tasks.end(task, "failed", error="too late")
    assert not store.tasks.end("none", "failed")
    assert seen(store, task).error == ""


def test_what_is_started_at_once_is_running(store: AccountStore) -> None:
    task = NewTask("add_resource", "alice")
    job = store.jobs.start(NewJob("a", "k", {}, task=task), LEASE)
    assert seen(store, task.id).status == "running"
    store.jobs.finish(job)
    assert seen(store, task.id).status == "completed"


def test_a_job_that_is_given_up_fails_its_task_and_leaves_the_queue(store: AccountStore) -> None:
    task = queued(store)
    for _ in range(MAX_ATTEMPTS):
        store.jobs.fail(claimed(store), "no such model", retry_in=0)
    assert (seen(store, task).status, seen(store, task).error) == ("failed", "no such model")
    assert store.jobs.failed() == []
    assert store.jobs.waiting() == {}


def test_a_task_whose_processes_died_each_time_fails(store: AccountStore) -> None:
    task = queued(store)
    for _ in range(MAX_ATTEMPTS):
        claimed(store, OVER)
        assert seen(store, task).status == "running"
    assert store.jobs.claim(("a",), LEASE) is None
    # Nobody claims it any more; the next claim that looks gives it up.
    queued(store, "another")
    claimed(store)
    assert seen(store, task).status == "failed"
    assert f"each of {MAX_ATTEMPTS} attempts" in seen(store, task).error


def test_jobs_without_a_task_are_left_alone(store: AccountStore) -> None:
    store.jobs.enqueue(NewJob("a", "k", {}))
    for _ in range(MAX_ATTEMPTS):
        store.jobs.fail(claimed(store), "oh", retry_in=0)
    assert len(store.jobs.failed()) == 1
    store.jobs.enqueue(NewJob("a", "k", {}))
    store.jobs.give_back(claimed(store))
    assert store.jobs.waiting() == {"a": 1}


def test_a_batch_and_its_task_are_one_transaction(store: AccountStore, put: Callable[..., PutFile]) -> None:
    task = NewTask("add_resource", "alice")
    with pytest.raises(NotFoundError):
        store.apply([put("resources/a.md", "x", mode="replace")], jobs=[NewJob("a", "k", {}, task=task)])
    assert store.tasks.get(task.id, None) is None
    store.apply([put("resources/a.md", "x")], jobs=[NewJob("a", "k", {}, task=task)])
    assert seen(store, task.id).status == "pending"


def test_the_same_work_is_no_second_task(store: AccountStore) -> None:
    task = queued(store)
    with pytest.raises(ConflictError) as caught:
        queued(store)
    assert caught.value.details["task_id"] == task
    assert store.jobs.waiting() == {"a": 1}
    claimed(store)
    assert seen(store, queued(store)).status == "pending"


def test_cancelling_what_waits_ends_it_at_once(store: AccountStore) -> None:
    task = queued(store)
    assert store.tasks.cancel(task).status == "cancelled"
    assert store.jobs.claim(("a",), LEASE) is None
    assert store.jobs.waiting() == {}
    with pytest.raises(FailedPreconditionError):
        store.tasks.cancel(task)
    with pytest.raises(NotFoundError):
        store.tasks.cancel("none")


@pytest.mark.parametrize("how", ["give_back", "finish", "fail"])
def test_cancelling_what_is_worked_on_waits_for_the_worker(store: AccountStore, how: str) -> None:
    task = queued(store)
    job = claimed(store)
    assert store.tasks.cancel(task).status == "cancelling"
    assert store.tasks.cancel(task).status == "cancelling"
    assert store.tasks.note(task, "importing", None) == "cancelling"
    if how == "fail":
        store.jobs.fail(job, "stopped", retry_in=0)
    else:
        getattr(store.jobs, how)(job)
    assert (seen(store, task).status, seen(store, task).error) == ("cancelled", "")
    assert store.jobs.waiting() == {}
    assert store.jobs.claim(("a",), LEASE, due_only=False) is None


def test_cancelling_what_a_dead_process_left_ends_it_at_once(store: AccountStore) -> None:
    task = queued(store)
    claimed(store, OVER)
    assert store.tasks.cancel(task).status == "cancelled"
    assert store.jobs.claim(("a",), LEASE) is None


def test_work_that_was_done_before_it_heard_of_the_wish_is_done(store: AccountStore) -> None:
    task = queued(store)
    claimed(store)
    store.tasks.cancel(task)
    assert store.tasks.end(task, "completed", result=1)
    assert seen(store, task).status == "completed"


def test_all_tasks_of_an_owner_are_cancelled_and_forgotten(store: AccountStore) -> None:
    running = queued(store, "1")
    claimed(store)
    waiting, other, own = queued(store, "2"), queued(store, "3", owner="bob"), queued(store, "4")
    assert store.tasks.cancel_all("alice", but=own) == 1
    assert [seen(store, one).status for one in (running, waiting, other, own)] == [
        "cancelling", "cancelled", "pending", "pending",
    ]  # fmt: skip
    store.tasks.forget("alice", but=own)
    assert store.tasks.get(waiting, None) is None
    assert seen(store, running).status == "cancelling"
    assert seen(store, other).owner == "bob"


def test_tasks_are_found_by_their_owner_newest_first(store: AccountStore) -> None:
    made = [queued(store, str(n), resource_id=f"viking://resources/Doc{n}") for n in range(5)]
    queued(store, "b", owner="bob")
    hidden = queued(store, "hidden", internal=True)
    store.tasks.cancel(made[1])

    def ids(limit: int = 10, before: int | None = None, **fields: Any) -> list[str]:
        return [task.id for task in store.tasks.find("alice", TaskFilter(**fields), limit, before)]

    assert ids() == made[::-1]
    assert ids(internal=True) == [hidden, *made[::-1]]
    assert ids(2) == [made[4], made[3]]
    assert ids(2, before=seen(store, made[3]).number) == [made[2], made[1]]
    assert ids(0) == []
    assert ids(status="cancelled") == [made[1]]
    assert ids(type="add_skill") == []
    assert ids(resource_id="viking://resources/Doc2") == [made[2]]
    assert ids(text="DOC3") == [made[3]]
    assert ids(text="%") == []
    assert ids(text=made[0][:20]) == [made[0]]
    assert store.tasks.get(made[0], "bob") is None
    assert store.tasks.get(made[0], "alice") == store.tasks.get(made[0], None)
    assert store.tasks.status("none") is None


def test_tasks_that_are_over_are_kept_for_their_time(tmp_path: Path) -> None:
    shift = [0]
    with_clock = SqliteStore(tmp_path / "store", PathAnalyser())
    from openviking.clock import now_ms

    tasks = SqliteTasks(with_clock._connections, lambda: now_ms() + shift[0])
    done, failed, waiting = (queued(with_clock, str(n)) for n in range(3))
    tasks.end(done, "completed")
    tasks.end(failed, "failed", error="x")
    minute = 60_000
    for moment, kept in (
        (FINISHED_MS - minute, {done, failed, waiting}),
        (FINISHED_MS + minute, {failed, waiting}),
        (FAILED_MS - minute, {failed, waiting}),
        (FAILED_MS + minute, {waiting}),
    ):
        shift[0] = moment
        assert {task.id for task in tasks.find("alice", TaskFilter(), 10)} == kept
        assert {one for one in (done, failed, waiting) if tasks.get(one, "alice")} == kept
    with_clock.close()


def test_old_tasks_are_removed_when_new_ones_are_made(store: SqliteStore) -> None:
    done = queued(store)
    store.tasks.end(done, "completed")
    with store._connections.writing() as connection:
        connection.execute("UPDATE tasks SET updated_at = updated_at - ?", (FINISHED_MS + 1000,))
    queued(store, "2")
    with store._connections.reading() as connection:
        assert connection.execute("SELECT count(*) FROM tasks").fetchone() == (1,)


def test_stores_from_before_tasks_get_them(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    before = tuple(one for one in MIGRATIONS if one is not tasks_tables)
    migrate(connection, before[:1])
    connection.execute("INSERT INTO jobs (kind, key, payload, state, due) VALUES ('a', 'k', '{}', 'queued', 0)")
    connection.close()
    store = SqliteStore(tmp_path, PathAnalyser())
    task = queued(store, "new")
    assert claimed(store).key == "k"
    assert seen(store, task).status in ACTIVE
    store.close()


def test_a_record_has_every_field_of_the_contract(store: AccountStore) -> None:
    record = seen(store, queued(store)).to_dict()
    assert set(record) >= {
        "task_id", "task_type", "status", "created_at", "updated_at", "created_at_iso", "updated_at_iso",
        "resource_id", "meta", "stage", "result", "error",
    }  # fmt: skip
    assert isinstance(record["created_at"], float)
    assert record["created_at_iso"].endswith("Z")
    assert (record["resource_id"], record["stage"], record["error"], record["result"]) == (None, None, None, None)
