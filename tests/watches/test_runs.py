"""Watches of users: begun when they are due, with the rights of that moment; changed and triggered by their owners."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from tests.watches.worlds import ROOT, SOURCE, Added, World

from openviking.errors import (
    ConflictError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    ProcessingError,
    UnavailableError,
)
from openviking.model.watch import MINUTE_MS, NewWatch
from openviking.service.watch_clock import BUSY_S, TICK_S, WatchClock
from openviking.service.watch_requests import CANCELLED, WatchRequest
from openviking.service.watch_runs import AT_ONCE
from openviking.service.watches import Watches
from openviking.store.jobs import Job, NewJob
from openviking.store.port import AccountStore

HOUR = 60 * MINUTE_MS
TARGET = "viking://resources/handbook"


@pytest.fixture
def world(tmp_path: Path, clock: Any) -> Iterator[World]:
    made = World(tmp_path / "data", clock)
    yield made
    made.tenancy.close()


def test_what_is_due_is_fetched_again(world: World) -> None:
    ane = world.user()
    made = world.add(ane)
    world.site.text = "second"
    assert 0 < world.tick() <= TICK_S
    assert world.text(ane) == "first"
    world.clock.pass_by(100 * HOUR)
    world.tick()
    assert world.text(ane) == "second"
    record = world.watches.get(ane, made)
    assert (record["last_status"], record["last_error"], record["failures"], record["is_running"]) == ("completed", None, 0, False)  # fmt: skip
    task = world.tenancy.tasks.get(ane, record["run_task_id"])
    assert (task["status"], task["resource_id"]) == ("completed", TARGET)
    assert list(world.tenancy.tasks.find(ane)) == []
    world.tick()
    assert [(who.user, who.role, uri, internal) for who, uri, internal in world.site.asked] == [
        ("ane", "admin", TARGET, True)
    ]


def test_the_sleep_ends_when_the_next_is_due(world: World) -> None:
    ane = world.user()
    assert world.tick() == TICK_S
    made = world.add(ane, watch_interval=1.0)
    due = world.accounts.of("acme").watches.next_due()
    assert due is not None
    world.clock.pass_by(due - world.clock() - 5_000)
    assert 4.0 < world.tick() <= 5.0
    world.watches.update(ane, made, is_active=False)
    assert world.tick() == TICK_S


def test_failures_are_seen_and_put_the_next_look_off(world: World) -> None:
    ane = world.user()
    made = world.add(ane)
    for number, (when, error) in enumerate(
        [("carried out", ProcessingError("the host does not answer")), ("queued", UnavailableError("no fetching", service="f", reason="x"))], 1
    ):  # fmt: skip
        world.site.error = error if when == "carried out" else None
        world.site.refusal = error if when == "queued" else None
        world.clock.pass_by(100 * HOUR)
        world.tick()
        record = world.watches.get(ane, made)
        assert (record["last_status"], record["last_error"], record["failures"]) == ("failed", error.message, number)
        assert record["is_active"]
        assert not record["is_running"]
    world.site.refusal = None
    world.clock.pass_by(100 * HOUR)
    world.tick()
    assert world.watches.get(ane, made)["last_error"] is None


def test_a_look_has_the_rights_that_its_owner_has_then(world: World) -> None:
    world.user()
    bo = world.user("bo")
    made = world.add(bo, "user/bo/resources/notes")
    world.tenancy.admin.set_role(ROOT, "acme", "bo", "admin")
    world.clock.pass_by(2 * HOUR)
    world.tick()
    assert [(who.role, who.registration) for who, _, _ in world.site.asked] == [("admin", bo.registration)]
    assert world.watches.get(bo, made)["original_role"] == "user"
    store = world.accounts.of("acme")
    stray = store.watches.put(NewWatch("user/zoe/resources/x", "bo", "root", SOURCE, HOUR))
    gone = store.watches.put(NewWatch("resources/y", "nobody", "root", SOURCE, HOUR))
    world.clock.pass_by(2 * HOUR)
    world.tick()
    for watch, why in ((stray, "Access denied"), (gone, "not registered")):
        seen = store.watches.get(watch.id, None)
        assert seen is not None
        assert (seen.active, seen.status) == (False, "failed")
        assert why in seen.error
    assert {who.user for who, _, _ in world.site.asked} == {"bo"}


def test_a_deleted_users_watches_end_with_the_user(world: World) -> None:
    ane, bo = world.user(), world.user("bo")
    world.add(bo)
    kept = world.add(ane, "resources/kept")
    begun = world.tenancy.admin.delete_user(ROOT, "acme", "bo")
    world.clock.pass_by(2 * HOUR)
    world.ticks.tick()
    assert {who.user for who, _, _ in world.site.asked} == {"ane"}
    world.tenancy.worker.drain(world.accounts.of("acme"), 30)
    assert world.tenancy.tasks.get(ROOT, begun["task_id"])["status"] == "completed"
    assert [one.id for one in world.accounts.of("acme").watches.find(None)] == [kept]
    assert world.watches.find(world.user("bo"))["total"] == 0
    assert world.text(ane) == "first"


def test_moves_and_removals_of_the_target(world: World) -> None:
    ane = world.user()
    made = world.add(ane)
    world.fs.mkdir(ane, "viking://resources/books")
    world.fs.mv(ane, TARGET, "viking://resources/books/hand")
    assert world.watches.get(ane, made)["to_uri"] == "viking://resources/books/hand"
    world.site.text = "second"
    world.clock.pass_by(2 * HOUR)
    world.tick()
    assert world.text(ane, "resources/books/hand") == "second"
    world.fs.rm(ane, "viking://resources/books", recursive=True)
    record = world.watches.get(ane, made)
    assert (record["is_active"], record["next_execution_time"]) == (False, None)
    assert "was removed" in record["last_error"]
    world.clock.pass_by(9 * HOUR)
    world.tick()
    assert len(world.site.asked) == 1
    assert world.watches.trigger(ane, made)["scheduled"]
    world.tick()
    assert world.text(ane, "resources/books/hand") == "second"


def test_a_trigger_looks_at_once_and_says_which_task_that_is(world: World) -> None:
    ane = world.user()
    made = world.add(ane)
    told = world.watches.trigger(ane, to_uri=TARGET)
    assert (told["task_id"], told["to_uri"], told["scheduled"]) == (made, TARGET, True)
    assert world.watches.trigger(ane, made) == told
    assert world.watches.get(ane, made)["is_running"]
    world.site.text = "second"
    world.tick()
    assert world.text(ane) == "second"
    assert [one["task_id"] for one in world.tenancy.tasks.find(ane)] == [told["run_task_id"]]
    world.watches.update(ane, made, is_active=False)
    assert world.watches.trigger(ane, made)["run_task_id"] != told["run_task_id"]
    world.tick()
    assert not world.watches.get(ane, made)["is_active"]
    world.site.refusal = PermissionDeniedError("no")
    with pytest.raises(PermissionDeniedError):
        world.watches.trigger(ane, made)
    off = Watches(world.accounts, world.tenancy.worker, world.runs, None, enabled=False)
    with pytest.raises(FailedPreconditionError):
        off.trigger(ane, made)
    assert off.get(ane, made)["task_id"] == made


def test_a_watch_is_found_by_id_uri_or_both(world: World) -> None:
    ane = world.user()
    first, other = world.add(ane), world.add(ane, "resources/other")
    for ask in (world.watches.get, world.watches.update, world.watches.trigger, world.watches.delete):
        for found in ((first, TARGET), (None, "viking:///resources/handbook/"), (first, None)):
            if ask != world.watches.delete:
                assert ask(ane, *found)["task_id"] == first
        refused: list[tuple[tuple[Any, Any], type[Exception]]] = [
            (("none", None), NotFoundError), ((None, "viking://resources/none"), NotFoundError), ((5, None), NotFoundError),
            ((None, None), InvalidArgumentError), ((other, TARGET), InvalidArgumentError), ((first, "x"), InvalidArgumentError),
            (("x" * 5000, None), NotFoundError),
        ]  # fmt: skip
        for asked, error in refused:
            with pytest.raises(error):
                ask(ane, *asked)
    assert world.watches.delete(ane, first) == {"task_id": first, "to_uri": TARGET, "deleted": True}
    assert world.text(ane) == "first"
    world.watches.update(ane, other, is_active=False)
    with pytest.raises(NotFoundError):
        world.watches.get(ane, other, active_only=True)
    assert [one["task_id"] for one in world.watches.find(ane)["tasks"]] == [other]
    assert world.watches.find(ane, active_only=True) == {"tasks": [], "total": 0}


def test_nobody_sees_or_changes_anothers_watch(world: World) -> None:
    ane, bo = world.user(), world.user("bo")
    made = world.add(bo)
    for who in (ane, dataclasses.replace(ane, role="root")):
        assert world.watches.find(who)["total"] == 0
        for ask in (world.watches.get, world.watches.update, world.watches.trigger, world.watches.delete):
            for asked in ((made,), (None, TARGET)):
                with pytest.raises(NotFoundError) as caught:
                    ask(who, *asked)
                assert "bo" not in str(caught.value.to_dict()).replace("handbook", "")
    assert world.watches.get(bo, made)["is_active"]


def test_what_is_changed_and_what_stays(world: World) -> None:
    ane = world.user()
    made = world.add(ane)
    before = world.watches.get(ane, made)
    assert world.watches.update(ane, made) == before
    after = world.watches.update(ane, made, watch_interval=0.5, reason="", is_active=False)
    assert (after["watch_interval"], after["reason"], after["instruction"]) == (0.5, "", "i")
    assert (after["is_active"], after["next_execution_time"]) == (False, None)
    for minutes in (0, -1, float("nan"), float("inf"), 1e300, True, "5"):
        with pytest.raises(InvalidArgumentError) as caught:
            world.watches.update(ane, made, watch_interval=minutes)  # type: ignore[arg-type]
        assert caught.value.details["field"] == "watch_interval"
    assert world.watches.get(ane, made) == after


def test_a_record_has_every_field_and_no_secret(world: World) -> None:
    ane = world.user()
    args = {"depth": 2, "auth_config": {"username": "u", "token": "geheim"}, "feishu_access_token": "geheim", "x": [{"password": "geheim"}]}  # fmt: skip
    made = world.add(ane, path="https://ane:geheim@example.org/a?b=c", args=args, tags=("a=b",))
    record = world.watches.get(ane, made)
    assert {
        "task_id", "path", "to_uri", "parent_uri", "reason", "instruction", "watch_interval", "build_index", "summarize",
        "processing_mode", "processor_kwargs", "created_at", "last_execution_time", "next_execution_time", "is_active",
        "account_id", "user_id", "original_role",
    } <= set(record)  # fmt: skip
    assert "geheim" not in str(record)
    assert (record["path"], record["processor_kwargs"]["depth"]) == ("https://***@example.org/a?b=c", 2)
    assert (record["account_id"], record["user_id"], record["original_role"]) == ("acme", "ane", "admin")
    assert record["created_at"] == record["last_execution_time"] < record["next_execution_time"]
    stored = world.accounts.of("acme").watches.get(made, None)
    assert stored is not None
    assert stored.request["args"] == args


def test_additions_keep_replace_and_cancel_watches(world: World) -> None:
    ane, bo = world.user(), world.user("bo")
    made = world.add(ane)
    assert world.add(ane, watch_interval=5) == made
    assert world.watches.get(ane, made)["watch_interval"] == 5.0
    for who, path in ((ane, SOURCE + "2"), (bo, SOURCE)):
        with pytest.raises(ConflictError):
            world.add(who, path=path)
    assert world.add(bo, path=None, watch_interval=0) == ""
    record = world.watches.get(ane, made)
    assert (record["is_active"], record["last_error"]) == (False, CANCELLED)
    replaced = world.add(bo, is_active=False)
    assert (world.watches.find(ane)["total"], world.watches.get(bo, replaced)["is_active"]) == (0, False)
    for minutes in (float("nan"), True, "5"):
        with pytest.raises(InvalidArgumentError):
            WatchRequest.of(Added(watch_interval=minutes))
    with pytest.raises(FailedPreconditionError):
        WatchRequest.of(Added(), enabled=False)
    assert WatchRequest.of(Added(watch_interval=0), enabled=False).interval is None


def test_an_account_with_a_watch_is_opened_at_the_start(world: World, tmp_path: Path, clock: Any) -> None:
    ane = world.user()
    world.add(ane)
    while world.tenancy.worker.work(world.accounts.of("acme"), due_only=False):
        pass
    world.accounts.close()
    assert world.tenancy.system.with_work() == ["acme"]
    other = World(tmp_path / "data", clock)
    assert other.accounts.open_accounts() == []
    assert other.tenancy.recovery.open_hinted() == 1
    other.site.text = "second"
    clock.pass_by(2 * HOUR)
    other.tick()
    assert other.text(ane) == "second"
    other.watches.delete(ane, to_uri=TARGET)
    while other.tenancy.worker.work(other.accounts.of("acme"), due_only=False):
        pass
    other.accounts.close()
    assert other.tenancy.system.with_work() == []
    other.tenancy.close()


def test_a_store_that_fails_keeps_no_other_waiting(world: World, clock: Any) -> None:
    ane = world.user()
    world.add(ane)
    looked: list[str] = []

    def look(account: str, store: AccountStore) -> int:
        looked.append(account)
        if account == "bad":
            raise UnavailableError("gone", service="store", reason="x")
        if account == "worse":
            raise RuntimeError("a fault")
        return world.runs.look(account, store)

    store = world.accounts.of("acme")
    others = [SqliteStoreAt(store), SqliteStoreAt(store)]
    clock.pass_by(2 * HOUR)
    ticks = WatchClock(lambda: [("bad", others[0]), ("worse", others[1]), ("acme", store)], look, lambda: None, clock)  # type: ignore[list-item]
    assert 0 < ticks.tick() <= 0.5
    assert looked == ["bad", "worse", "acme"]
    assert len(world.site.asked) == 1


class SqliteStoreAt:
    """Another store with the same watches."""

    def __init__(self, store: AccountStore) -> None:
        self.watches = store.watches


def test_the_thread_begins_what_is_due_and_stops(world: World) -> None:
    ane = world.user()
    world.add(ane)
    woken = threading.Event()
    ticks = WatchClock(world._stores, world.runs.look, woken.set, world.clock)
    ticks.start()
    world.clock.pass_by(2 * HOUR)
    ticks.wake()
    assert woken.wait(30)
    ticks.stop()
    assert world.accounts.of("acme").jobs.waiting()["look"] == 1
    WatchClock(world._stores, world.runs.look, woken.set).stop()


def test_two_processes_begin_one_look(world: World, tmp_path: Path, clock: Any) -> None:
    ane = world.user()
    world.add(ane)
    other = World(tmp_path / "data", clock)
    other.accounts.store(ane)
    clock.pass_by(2 * HOUR)
    start = threading.Barrier(2)

    def begin(one: World) -> None:
        start.wait()
        one.ticks.tick()

    threads = [threading.Thread(target=partial(begin, one)) for one in (world, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world.accounts.of("acme").jobs.waiting()["look"] == 1
    other.tenancy.close()


@pytest.mark.parametrize(
    ("added", "active"),
    [
        (Added(watch_interval=None), True),
        (Added(watch_interval=0), False),
        (Added(watch_interval=-1.0), False),
        (Added(path=SOURCE + "2", watch_interval=None), False),
        (Added(path=None, watch_interval=None), False),
    ],
)
def test_only_who_says_so_or_adds_something_else_ends_a_watch_and_is_told(
    world: World, added: Added, active: bool
) -> None:
    ane = world.user()
    made = world.add(ane)
    told = WatchRequest.of(added).keep(ane, world.accounts.store(ane), "resources/handbook", "")
    assert world.watches.get(ane, made)["is_active"] is active
    assert [line.startswith("the watch of viking://resources/handbook is paused: ") for line in told] == [True][active:]
    assert WatchRequest.of(added).keep(ane, world.accounts.store(ane), "resources/handbook", "") == []


def test_thousands_that_are_due_keep_nobody_else_waiting(world: World, clock: Any) -> None:
    ane = world.user()
    store = world.timed(world.accounts.store(ane))
    for number in range(3 * AT_ONCE):
        store.watches.put(NewWatch(f"resources/w{number}", "ane", "admin", SOURCE, HOUR))
    clock.pass_by(2 * HOUR)
    for _ in range(3):
        assert world.ticks.tick() >= BUSY_S, "what may not begin is no reason to look at the clock without a pause"
        assert store.jobs.waiting()["look"] == AT_ONCE
    asked_for = [one for one in store.watches.find("ane") if not one.running][:2]
    for one in asked_for:
        world.watches.trigger(ane, one.id)
    world.ticks.tick()
    assert store.jobs.waiting()["look"] == AT_ONCE + 2, "who asks for a look gets it, and nothing more begins"
    store.jobs.enqueue(NewJob("look", "somebody's", {"path": "resources/mine"}))
    assert len(list(takewhile(lambda job: job.key != "somebody's", claimed(store)))) == AT_ONCE + 2
    world.site.asked.clear()
    for _ in range(5):
        world.tick()
    assert len({uri for _, uri, _ in world.site.asked}) == 2 * AT_ONCE - 2, "others follow when some are done"


def claimed(store: AccountStore) -> Iterator[Job]:
    while (job := store.jobs.claim(["look"], 60_000)) is not None:
        yield job
        store.jobs.finish(job)


@pytest.mark.parametrize("looked_by", ["a look", "an addition", "a look that failed"])
def test_a_clock_that_was_ahead_stops_no_watch(world: World, clock: Any, looked_by: str) -> None:
    ane, year = world.user(), 365 * 24 * HOUR
    made = "" if looked_by == "an addition" else world.add(ane)
    clock.pass_by(year)
    if looked_by == "a look that failed":
        world.site.refusal = ProcessingError("no")
    made = made or world.add(ane)
    world.tick()
    world.site.refusal = None
    clock.pass_by(-year)
    world.site.text = "after"
    world.tick()
    assert world.text(ane) == "after"
    seen = store_of(world).watches.get(made, None)
    assert seen is not None
    assert seen.due is not None
    assert clock() < seen.due < clock() + 2 * HOUR
    asked = len(world.site.asked)
    assert world.tick() > BUSY_S
    assert len(world.site.asked) == asked, "once is enough"


def store_of(world: World) -> AccountStore:
    return world.accounts.of("acme")
