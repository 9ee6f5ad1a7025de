"""A deleted user's data are gone for good, whatever happens to the process that removes them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openviking.errors import ConflictError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.model.task import NewTask
from openviking.service.task_run import TaskRun, Unfinished, tracked
from openviking.service.user_deletion import KIND
from openviking.store.batch import PutFile
from openviking.store.jobs import MAX_ATTEMPTS, NewJob

ROOT = Identity("default", "default", "root")
NOTE = "viking://~/memories/note.md"
SHARED = "viking://resources/shared.md"


def nothing_left(server: Any, account: str, user: str) -> None:
    store = server.tenancy.accounts.of(account)
    with store.read() as view:
        assert view.get(f"user/{user}") is None
        assert not [one for one in view.walk("") if f"user/{user}" in one.node.path]
    assert store.check() == []


def test_a_deleted_user_leaves_nothing_to_the_next_of_that_name(server: Any) -> None:
    boss = server.who(server.account("acme"))
    alice = server.who(server.user("acme", "alice"))
    server.content.write(alice, NOTE, "zorblax", "create")
    server.content.write(alice, SHARED, "for all", "create")
    own = server.tenancy.tasks.submit(alice, "add_resource", "", NewJob("of another kind", "1", {}))
    begun = server.tenancy.admin.delete_user(boss, "acme", "alice")
    assert server.tenancy.tasks.get(boss, begun["task_id"])["status"] == "pending"
    server.work("acme")
    done = server.tenancy.tasks.get(boss, begun["task_id"])
    assert (done["status"], done["stage"], done["resource_id"]) == ("completed", "purging", "viking://user/alice")
    assert done["result"]["removed"] > 1
    nothing_left(server, "acme", "alice")
    assert server.tenancy.accounts.of("acme").tasks.get(own["task_id"], None) is None
    again = server.who(server.user("acme", "alice"))
    with pytest.raises(NotFoundError):
        server.content.read(again, NOTE)
    assert list(server.tenancy.tasks.find(again)) == []
    with pytest.raises(NotFoundError):
        server.tenancy.tasks.get(again, own["task_id"])
    assert server.content.read(again, SHARED) == "for all"
    with pytest.raises(UnauthenticatedError):
        server.content.read(alice, SHARED)


def test_what_was_written_after_the_deletion_is_not_inherited_either(server: Any) -> None:
    server.account("acme")
    alice = server.who(server.user("acme", "alice"))
    store = server.tenancy.accounts.store(alice)
    server.tenancy.admin.delete_user(ROOT, "acme", "alice")
    server.work("acme")
    # A call that was let in before the deletion comes to its end.
    store.apply([PutFile("user/alice/memories/late.md", prepare("late.md", b"zorblax"))])
    again = server.who(server.user("acme", "alice"))
    assert server.fs.ls(again, "viking://~/memories", simple=True) == []


def test_the_root_key_follows_what_it_caused(server: Any) -> None:
    server.account("acme")
    server.account("evil")
    begun = []
    for account in ("acme", "evil"):
        server.user(account, "alice")
        begun.append(server.tenancy.admin.delete_user(ROOT, account, "alice")["task_id"])
    tasks = server.tenancy.tasks
    assert [one["task_id"] for one in tasks.find(ROOT)] == begun[::-1]
    page = tasks.find(ROOT, limit=1)
    assert [one["task_id"] for one in tasks.find(ROOT, limit=1, cursor=page.next_cursor)] == begun[:1]
    server.work("acme")
    assert tasks.get(ROOT, begun[0])["status"] == "completed"
    assert [one["task_id"] for one in tasks.find(ROOT, status="pending")] == begun[1:]
    server.tenancy.admin.delete_account(ROOT, "evil")
    assert [one["task_id"] for one in tasks.find(ROOT)] == begun[:1]
    assert list(tasks.find(ROOT, task_type="add_resource")) == []
    assert list(tasks.find(ROOT, q="viking://user/bob")) == []


def test_an_admin_may_leave(server: Any) -> None:
    boss = server.who(server.account("acme"))
    server.tenancy.admin.delete_user(boss, "acme", "boss")
    with pytest.raises(PermissionDeniedError):
        server.tenancy.admin.account(server.who(server.account("other")), "acme")
    server.work("acme")
    again = server.who(server.user("acme", "boss"))
    # The task is not that of the next user of the name.
    assert list(server.tenancy.tasks.find(again)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_running_work_of_the_user_is_stopped_first(serve: Callable[..., Any], workers: int) -> None:
    begun, order = threading.Event(), []

    def slow(_store: Any, _turn: Any, run: TaskRun) -> None:
        begun.set()
        look = threading.Event()
        while not run.cancelled():
            look.wait(0.01)
        order.append("stopped")
        raise Unfinished

    server = serve(workers=workers, steps={"slow": tracked(slow)})
    boss = server.who(server.account("acme"))
    alice = server.who(server.user("acme", "alice"))
    server.content.write(alice, NOTE, "zorblax", "create")
    server.tenancy.tasks.submit(alice, "admin_reindex", "", NewJob("slow", "1", {}))
    assert begun.wait(30)
    task = server.tenancy.admin.delete_user(boss, "acme", "alice")["task_id"]
    assert server.tenancy.tasks.wait(boss, task, 30)["status"] == "completed"
    assert order == ["stopped"]
    nothing_left(server, "acme", "alice")


def test_a_deletion_that_was_given_up_begins_anew(server: Any) -> None:
    boss = server.who(server.account("acme"))
    server.user("acme", "alice")
    first = server.tenancy.admin.delete_user(boss, "acme", "alice")["task_id"]
    store = server.tenancy.accounts.of("acme")
    for _ in range(MAX_ATTEMPTS):
        job = store.jobs.claim((KIND,), 60_000, due_only=False)
        store.jobs.fail(job, "no luck", retry_in=0)
    assert server.tenancy.tasks.get(boss, first)["status"] == "failed"
    second = server.tenancy.admin.delete_user(boss, "acme", "alice")["task_id"]
    assert second != first
    server.work("acme")
    assert server.tenancy.tasks.get(boss, second)["status"] == "completed"
    server.user("acme", "alice")


def test_a_deletion_that_was_only_noted_is_done_at_the_next_start(server: Any, serve: Callable[..., Any]) -> None:
    """The process ended between the two databases."""
    server.account("acme")
    alice = server.who(server.user("acme", "alice"))
    server.content.write(alice, NOTE, "zorblax", "create")
    server.tenancy.system.begin_deletion("acme", "alice", "abc", watched=True)
    assert server.tenancy.accounts.of("acme").jobs.waiting().get(KIND) is None
    later = serve(workers=1)
    later.tenancy.recovery.run()
    assert later.tenancy.tasks.wait(ROOT, "abc", 30)["status"] == "completed"
    nothing_left(later, "acme", "alice")
    assert later.tenancy.deletions.resume() == 0


def test_processes_that_start_at_once_remove_once(server: Any) -> None:
    server.account("acme")
    server.user("acme", "alice")
    noted = server.tenancy.system.begin_deletion("acme", "alice", "abc", watched=True)
    server.tenancy.deletions.resume()
    store = server.tenancy.accounts.of("acme")
    again = NewTask(KIND, "", id="abc")
    for _ in range(2):
        with pytest.raises(ConflictError):
            store.jobs.enqueue(NewJob(KIND, f"alice\n{noted.number}", {}, task=again))
        assert store.jobs.waiting()[KIND] == 1
        store.jobs.claim((KIND,), 60_000, due_only=False)


def test_a_deletion_that_is_repeated_spares_the_next_user(server: Any) -> None:
    """The process ended after the id was free and before the job was."""
    server.account("acme")
    old = server.who(server.user("acme", "alice"))
    payload = {"account": "acme", "user": "alice", "number": old.registration, "task": "gone"}
    server.tenancy.admin.delete_user(ROOT, "acme", "alice")
    server.work("acme")
    alice = server.who(server.user("acme", "alice"))
    server.content.write(alice, NOTE, "of the second", "create")
    server.tenancy.accounts.of("acme").jobs.enqueue(NewJob(KIND, "again", payload))
    server.work("acme")
    assert server.content.read(alice, NOTE) == "of the second"


@pytest.mark.slow
@pytest.mark.cpu_budget(10)
def test_a_killed_deletion_is_finished_by_the_next_process(server: Any, start: Callable[..., Any], until: Any) -> None:
    server.account("acme")
    alice = server.who(server.user("acme", "alice"))
    store = server.tenancy.accounts.store(alice)
    for part in range(4):
        store.apply(
            [
                PutFile(f"user/alice/memories/{part}/n{n}.md", prepare("n.md", f"# N{n}\n\nzorblax {part}\n".encode()))
                for n in range(300)
            ]
        )
    task = server.tenancy.admin.delete_user(ROOT, "acme", "alice")["task_id"]
    seen = set()
    for _ in range(3):
        other = start(workers=1)
        until(lambda: server.tenancy.tasks.get(ROOT, task)["status"] in {"running", "completed"})
        other.kill()
        seen.add(server.tenancy.tasks.get(ROOT, task)["status"])
        with store._connections.writing() as connection:
            connection.execute("UPDATE jobs SET lease_until = 0, attempt = 0 WHERE state = 'running'")
    start(workers=1)
    until(lambda: server.tenancy.tasks.get(ROOT, task)["status"] == "completed")
    assert seen
    nothing_left(server, "acme", "alice")
    assert server.fs.ls(server.who(server.user("acme", "alice")), "viking://~/memories", simple=True) == []


@pytest.mark.slow
@pytest.mark.cpu_budget(8)
def test_a_killed_removal_of_an_account_is_finished_at_the_next_start(
    server: Any, start: Callable[..., Any], serve: Callable[..., Any], place: Path
) -> None:
    boss = server.who(server.account("acme"))
    first = place / "accounts" / server.tenancy.system.standing("acme", "boss").place
    server.tenancy.accounts.store(boss).apply(
        [PutFile(f"resources/{n}.bin", prepare("n.bin", bytes([n, 0, 255]) * 100_000)) for n in range(30)]
    )
    assert len(list((first / "contents").rglob("*"))) > 30
    other = start()
    other.send("root", "admin.delete_account", "acme")
    while server.tenancy.system.account("acme") is not None:
        pass
    other.kill()
    # The id is free at once, whatever is left of the old account.
    again = server.who(server.account("acme"))
    assert server.fs.ls(again, "viking://resources", simple=True) == []
    assert server.content.write(again, NOTE, "mine", "create")["written_bytes"] == 4
    later = serve()
    later.tenancy.recovery.run()
    assert not first.exists()
    assert later.content.read(again, NOTE) == "mine"
    assert later.tenancy.accounts.of("acme").check() == []
    later.tenancy.admin.delete_account(ROOT, "acme")
    assert list((place / "accounts").iterdir()) == []


def test_what_a_straggler_writes_at_a_removed_place_goes_at_the_next_start(server: Any, place: Path) -> None:
    server.account("acme")
    first = server.tenancy.system.standing("acme", "boss").place
    server.tenancy.admin.delete_account(ROOT, "acme")
    (place / "accounts" / first / "contents").mkdir(parents=True)
    (place / "accounts" / first / "contents" / "late").write_bytes(b"x")
    assert server.tenancy.recovery.remove_places() == 1
    assert server.tenancy.recovery.remove_places() == 0
    assert not (place / "accounts" / first).exists()


def test_jobs_of_an_account_that_nobody_opens_are_found(server: Any, serve: Callable[..., Any]) -> None:
    who = server.who(server.account("acme"))
    server.account("idle")
    server.content.write(who, SHARED, "zorblax", "create")
    assert server.tenancy.accounts.of("acme").jobs.waiting() == {"sidecars": 1}
    later = serve()
    assert later.tenancy.recovery.open_hinted() == 1
    assert len(later.tenancy.accounts.open_stores()) == 1
    server.tenancy.system.forget_work("acme")
    another = serve()
    assert another.tenancy.recovery.open_hinted() == 0
    assert another.tenancy.recovery.open_busy() == 1


def test_closing_says_that_nothing_is_left(serve: Callable[..., Any]) -> None:
    first = serve()
    who = first.who(first.account("acme"))
    first.content.write(who, SHARED, "zorblax", "create")
    assert first.tenancy.system.with_work() == ["acme"]
    first.work("acme")
    first.tenancy.accounts.close()
    assert first.tenancy.system.with_work() == []


def test_stores_of_accounts_that_another_process_removed_are_closed(server: Any, serve: Callable[..., Any]) -> None:
    who = server.who(server.account("acme"))
    other = serve()
    other.content.write(who, SHARED, "zorblax", "create")
    server.tenancy.admin.delete_account(ROOT, "acme")
    assert len(other.tenancy.accounts.open_stores()) == 1
    other.tenancy.accounts.release_removed()
    assert other.tenancy.accounts.open_stores() == []
