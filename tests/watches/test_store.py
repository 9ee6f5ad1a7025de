"""A watch follows what it fills, and its looks are one at a time, whoever does them and however they end."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openviking.errors import AlreadyExistsError, ConflictError
from openviking.ingest.prepare import PathAnalyser
from openviking.model.watch import MINUTE_MS, Watch, WatchChange
from openviking.store.batch import MakeDirectory, Move, PutFile, Remove
from openviking.store.jobs import MAX_ATTEMPTS
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.schema import MIGRATIONS, migrate
from openviking.store.sqlite.watches import SqliteWatches
from openviking.store.sqlite.watches_schema import watches_tables
from openviking.store.tasks import TaskFilter
from openviking.store.watches import LONGEST_PAUSE_MS, SHORTEST_MS

HOUR = 60 * MINUTE_MS
SOURCE = "https://example.org/handbook"


def now_of(store: SqliteStore, watch: Watch) -> Watch:
    found = store.watches.get(watch.id, None)
    assert found is not None
    return found


def wait_of(store: SqliteStore, watch: Watch, clock: Any) -> int:
    """How long it is until the next look, in seconds."""
    due = now_of(store, watch).due
    assert due is not None
    now: int = clock()
    return round((due - now) / 1000)


def begun(store: SqliteStore, watch: Watch, job: Any, key: str = "1", **fields: Any) -> str:
    return store.watches.begin(now_of(store, watch), job(key), **fields)


def test_a_watch_is_due_after_each_interval(store: SqliteStore, watch: Any, clock: Any) -> None:
    made = watch()
    assert (made.active, made.running, made.failures, made.task) == (True, False, 0, "")
    assert 3599 <= wait_of(store, made, clock) <= 3600 * 1.05
    assert store.watches.next_due() == made.due
    assert store.watches.due(9) == []
    clock.pass_by(round(HOUR * 1.06))
    assert [one.id for one in store.watches.due(9)] == [made.id]


@pytest.mark.parametrize(("interval", "least"), [(1, SHORTEST_MS), (HOUR, HOUR), (7 * 24 * HOUR, 7 * 24 * HOUR)])
def test_the_interval_has_a_floor_and_a_jitter(watch: Any, clock: Any, interval: int, least: int) -> None:
    waits = {watch(f"resources/w{number}", interval=interval).due - clock() for number in range(30)}
    assert min(waits) > least - 1000
    assert max(waits) <= least + min(least // 20, 300_000)
    assert max(waits) - min(waits) > min(least // 20, 300_000) / 4


def test_one_of_many_begins_a_look(store: SqliteStore, watch: Any, clock: Any, job: Any, tmp_path: Path) -> None:
    made = watch()
    assert begun(store, made, job) == ""
    clock.pass_by(2 * HOUR)
    found = store.watches.due(9)[0]
    other = SqliteStore(tmp_path / "store", PathAnalyser())
    task = SqliteWatches(other._connections, clock).begin(found, job("2"))
    other.close()
    assert task
    assert store.watches.begin(found, job("1")) == ""
    assert (store.watches.due(9), store.watches.next_due()) == ([], None)
    looked = now_of(store, made)
    assert (looked.task, looked.running, looked.looked_at is not None) == (task, True, True)
    assert store.jobs.waiting()["look"] == 1
    assert store.watches.begin(looked, job("3"), asked=True) == task


def test_missed_periods_are_made_up_for_once(store: SqliteStore, watch: Any, clock: Any, job: Any) -> None:
    made = watch()
    clock.pass_by(100 * HOUR)
    task = begun(store, made, job)
    store.tasks.end(task, "completed")
    assert store.watches.due(9) == []
    assert 3598 <= wait_of(store, made, clock) <= 3600 * 1.05


def test_failures_make_the_pauses_longer_up_to_a_day(store: SqliteStore, watch: Any, clock: Any, job: Any) -> None:
    made = watch()
    waits = []
    for number in range(1, 8):
        clock.pass_by(2 * LONGEST_PAUSE_MS)
        store.tasks.end(begun(store, made, job, str(number)), "failed", error="the host is gone")
        seen = now_of(store, made)
        assert (seen.failures, seen.status, seen.error) == (number, "failed", "the host is gone")
        waits.append(wait_of(store, made, clock) / 3600)
    for wait, least in zip(waits, [1, 2, 4, 8, 16, 24, 24], strict=True):
        assert least - 0.01 <= wait <= least + 0.06, waits
    clock.pass_by(2 * LONGEST_PAUSE_MS)
    store.tasks.end(begun(store, made, job, "9"), "completed")
    seen = now_of(store, made)
    assert (seen.failures, seen.status, seen.error) == (0, "completed", "")
    assert wait_of(store, made, clock) <= 3600 * 1.05


def test_a_long_interval_is_no_shorter_after_a_failure(store: SqliteStore, watch: Any, clock: Any, job: Any) -> None:
    week = 7 * 24 * HOUR
    made = watch(interval=week)
    store.tasks.end(begun(store, made, job, asked=True), "failed", error="x")
    assert wait_of(store, made, clock) >= week / 1000 - 2


def test_a_look_that_died_too_often_is_a_failed_one(store: SqliteStore, watch: Any, job: Any, clock: Any) -> None:
    made = watch()
    task = begun(store, made, job, asked=True)
    for _ in range(MAX_ATTEMPTS):
        held = store.jobs.claim(("look",), -1000)
        assert held is not None
        assert now_of(store, made).running
    assert store.jobs.claim(("look",), 1000) is None
    seen = now_of(store, made)
    assert (seen.running, seen.status, seen.failures, seen.task) == (False, "failed", 1, task)
    assert "the process ended" in seen.error
    assert wait_of(store, made, clock) > 3500


def test_a_cancelled_look_is_neither_a_failure_nor_a_success(store: SqliteStore, watch: Any, job: Any) -> None:
    made = watch()
    store.tasks.end(begun(store, made, job, asked=True), "failed", error="x")
    store.tasks.cancel(begun(store, made, job, "2", asked=True))
    seen = now_of(store, made)
    assert (seen.running, seen.status, seen.failures) == (False, "cancelled", 1)


def test_what_a_look_leaves_behind_is_no_others_business(store: SqliteStore, watch: Any, job: Any) -> None:
    made, other = watch(), watch("resources/other")
    store.jobs.enqueue(job("3"))
    store.tasks.end(store.tasks.find("ane", TaskFilter(), 1)[0].id, "failed", error="x")
    assert {now_of(store, one).status for one in (made, other)} == {""}


def test_a_move_takes_watches_along(store: SqliteStore, watch: Any) -> None:
    made, deep, beside = watch(), watch("resources/handbook/part"), watch("resources/handbook2")
    store.apply([MakeDirectory("resources/handbook/part"), MakeDirectory("resources/new")])
    store.apply([Move("resources/handbook", "resources/new/home")])
    paths = [now_of(store, one).path for one in (made, deep, beside)]
    assert paths == ["resources/new/home", "resources/new/home/part", "resources/handbook2"]
    assert all(now_of(store, one).active for one in (made, deep, beside))


def test_a_move_that_fails_leaves_watches_where_they_are(store: SqliteStore, watch: Any) -> None:
    made = watch()
    with pytest.raises(AlreadyExistsError):
        store.apply([Move("resources/other", "resources/elsewhere"), Move("resources/handbook", "resources/elsewhere")])
    assert now_of(store, made).path == "resources/handbook"
    store.apply([Move("resources/handbook", "resources/other/deep/x"), Move("resources/handbook", "y")], tolerant=True)
    assert now_of(store, made).path == "resources/other/deep/x"


def test_a_move_onto_a_place_that_is_only_watched_takes_it(store: SqliteStore, watch: Any) -> None:
    gone, made = watch("resources/free"), watch()
    store.apply([Move("resources/handbook", "resources/free")])
    assert store.watches.get(gone.id, None) is None
    assert now_of(store, made).path == "resources/free"


def test_a_file_that_is_watched_is_followed_too(store: SqliteStore, watch: Any, put: Callable[..., PutFile]) -> None:
    store.apply([put("resources/page.md", "text")])
    made = watch("resources/page.md")
    store.apply([Move("resources/page.md", "resources/other/page.md")])
    assert now_of(store, made).path == "resources/other/page.md"
    store.apply([Remove("resources/other/page.md")])
    assert not now_of(store, made).active


@pytest.mark.parametrize("removed", ["resources/handbook", "resources"])
def test_a_removal_pauses_watches_and_says_so(store: SqliteStore, watch: Any, removed: str, clock: Any) -> None:
    made = watch()
    store.apply([Remove(removed, recursive=True)])
    seen = now_of(store, made)
    assert (seen.active, seen.due, store.watches.next_due()) == (False, None, None)
    assert "was removed" in seen.error
    again = store.watches.change(made.id, WatchChange(active=True))
    assert again is not None
    assert (again.active, again.error) == (True, "")
    assert wait_of(store, made, clock) > 3500


def test_what_a_removal_leaves_is_still_watched(store: SqliteStore, watch: Any) -> None:
    made = watch()
    store.apply([Remove("resources/other", recursive=True), Remove("resources/handbook", only_empty=True)])
    assert now_of(store, made).active


def test_a_target_has_one_watch(store: SqliteStore, watch: Any, job: Any) -> None:
    first = watch()
    store.watches.begin(first, job(), asked=True)
    same = watch(interval=5 * MINUTE_MS, reason="now for this", request={"args": {"depth": 2}}, role="admin")
    assert (same.id, same.interval, same.reason, same.role) == (first.id, 5 * MINUTE_MS, "now for this", "admin")
    assert (same.request, same.running) == ({"args": {"depth": 2}}, True)
    for other in ({"location": SOURCE + "2"}, {"owner": "bo"}):
        with pytest.raises(ConflictError) as caught:
            watch(**other)
        assert caught.value.details["resource"] == "viking://resources/handbook"
        with pytest.raises(ConflictError):
            store.watches.check("resources/handbook", other.get("owner", "ane"), other.get("location", SOURCE))
    store.watches.pause(first.id)
    other = watch(location=SOURCE + "2")
    assert other.id != first.id
    assert [one.id for one in store.watches.find(None)] == [other.id]


def test_changes_move_the_next_look(store: SqliteStore, watch: Any, clock: Any, job: Any) -> None:
    made = watch()
    store.tasks.end(begun(store, made, job, asked=True), "completed")
    clock.pass_by(HOUR // 2)
    change = store.watches.change
    assert change(made.id, WatchChange(reason="r", instruction="i")) is not None
    assert 1700 <= wait_of(store, made, clock) <= 1800 + 180
    change(made.id, WatchChange(interval=2 * HOUR))
    assert 5300 <= wait_of(store, made, clock) <= 5400 + 360
    change(made.id, WatchChange(interval=20 * MINUTE_MS))
    assert 0 <= wait_of(store, made, clock) <= 60
    change(made.id, WatchChange(active=False))
    assert now_of(store, made).due is None
    clock.pass_by(10 * HOUR)
    change(made.id, WatchChange(active=True, interval=HOUR))
    assert wait_of(store, made, clock) <= 180
    assert change("none", WatchChange(active=True)) is None


def test_a_paused_watch_stays_so_after_a_look(store: SqliteStore, watch: Any, job: Any) -> None:
    made = watch(active=False)
    assert made.due is None
    for ending in ("completed", "failed"):
        store.tasks.end(begun(store, made, job, ending, asked=True), ending)
        assert now_of(store, made).due is None
    store.watches.put_off(made.id, "no")
    assert (now_of(store, made).due, now_of(store, made).failures) == (None, 2)


def test_lists_are_of_one_owner(store: SqliteStore, watch: Any) -> None:
    mine, paused = watch(), watch("resources/other", active=False)
    theirs = watch("resources/deep", owner="bo")
    found = store.watches.find
    assert [one.id for one in found("ane")] == [mine.id, paused.id]
    assert [one.id for one in found("ane", active_only=True)] == [mine.id]
    assert (len(found(None)), found("nobody")) == (3, [])
    assert store.watches.get(theirs.id, "ane") is None
    assert store.watches.at("resources/deep", "ane") is None
    assert store.watches.forget("ane") == 2
    assert [one.id for one in found(None)] == [theirs.id]
    assert (store.watches.remove(theirs.id), store.watches.remove(theirs.id)) == (True, False)


def test_a_watch_that_was_moved_meanwhile_is_not_begun(store: SqliteStore, watch: Any, job: Any, clock: Any) -> None:
    watch()
    clock.pass_by(2 * HOUR)
    seen = store.watches.due(1)[0]
    store.apply([Move("resources/handbook", "resources/moved")])
    assert store.watches.begin(seen, job()) == ""
    assert "look" not in store.jobs.waiting()
    assert store.watches.due(1)[0].path == "resources/moved"


def test_stores_from_before_watches_get_them(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    connection = sqlite3.connect(tmp_path / "old" / "store.db", isolation_level=None)
    migrate(connection, MIGRATIONS[: MIGRATIONS.index(watches_tables)])
    connection.close()
    store = SqliteStore(tmp_path / "old", PathAnalyser())
    assert (store.watches.find(None), store.check()) == ([], [])
    store.close()
