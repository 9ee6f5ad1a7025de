"""Sessions in which nobody speaks any more are committed by their policy, each in its time, whoever has them open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openviking.clock import now_ms
from openviking.config.settings import EmbeddingSettings, SessionSettings, Settings
from openviking.errors import InternalError, UnavailableError
from openviking.model.identity import Identity
from openviking.service import idle_sessions
from openviking.service.authentication import Rules
from openviking.service.idle_sessions import IdleSessions
from openviking.service.recovery import Recovery
from openviking.service.services import Services
from openviking.session.commit import commit

from .conftest import ALICE, Desk

HOUR = 3_600_000
COMMIT = "openviking.service.idle_sessions.commit"
BOB = Identity("acme", "bob", "user")
OTHER = Identity("other", "carol", "user")


class Clock:
    """The time, which a test turns on."""

    def __init__(self) -> None:
        self.on = 0

    def __call__(self) -> int:
        return now_ms() + self.on


def idle(desk: Desk, clock: Clock, **settings: Any) -> IdleSessions:
    return IdleSessions(desk.accounts.open_accounts, desk.worker.wake, SessionSettings(**settings), clock)


def begin(desk: Desk, session: str, identity: Identity = ALICE, **policy: int) -> None:
    desk.sessions.create(identity, session, auto_commit_policy={"idle_timeout_seconds": 3600, **policy})
    desk.sessions.add(identity, session, [{"role": "user", "content": "hello"}] * 2)


def commits(desk: Desk, session: str, identity: Identity = ALICE) -> int:
    return int(desk.sessions.get(identity, session)["commit_count"])


def test_it_is_done_when_the_time_is_over_and_once(desk: Desk) -> None:
    clock = Clock()
    looking = idle(desk, clock).clock
    begin(desk, "s")
    wait = looking.tick()
    assert (commits(desk, "s"), wait) == (0, 60.0)
    clock.on = HOUR + 1
    looking.tick()
    looking.tick()
    state = desk.sessions.get(ALICE, "s")
    assert (state["commit_count"], state["message_count"], state["last_auto_commit_at"]) == (
        1,
        0,
        state["last_commit_at"],
    )
    assert desk.store.sessions.next_idle() is None
    clock.on = 0
    desk.say("s", "another")
    looking.tick()
    assert (commits(desk, "s"), desk.store.sessions.next_idle() is not None) == (1, True)


def test_who_speaks_is_not_idle_and_what_changes_is_noted(desk: Desk) -> None:
    begin(desk, "s", keep_recent_count=2)
    assert desk.store.sessions.next_idle() is None, "all of it would stay"
    desk.say("s", "third")
    first = desk.store.sessions.next_idle()
    assert first is not None
    desk.sessions.configure(ALICE, "s", auto_commit_policy={"idle_timeout_seconds": 7200})
    assert desk.store.sessions.next_idle() == first + HOUR
    desk.sessions.configure(ALICE, "s", auto_commit_policy={"idle_timeout_seconds": 0})
    assert desk.store.sessions.next_idle() is None, "0 means never"
    desk.sessions.configure(
        ALICE, "s", auto_commit_policy={"idle_timeout_seconds": 3600, "min_commit_interval_seconds": 7200}
    )
    assert desk.store.sessions.next_idle() == first, "it was never committed"
    desk.sessions.commit(ALICE, "s")
    desk.say("s", "4", "5", "6")
    committed = desk.store.sessions.get("user/alice/sessions/s")
    assert committed is not None
    assert committed.last_commit_at is not None
    assert desk.store.sessions.next_idle() == committed.last_commit_at + 2 * HOUR
    desk.sessions.configure(ALICE, "s", auto_commit_policy=None)
    assert desk.store.sessions.next_idle() is None
    desk.sessions.configure(ALICE, "s", auto_commit_policy={})
    desk.sessions.delete(ALICE, "s")
    assert desk.store.sessions.next_idle() is None


def test_many_of_one_account_keep_no_other_waiting_for_more_than_a_batch(desk: Desk) -> None:
    clock = Clock()
    for number in range(7):
        begin(desk, f"s{number}", ALICE if number % 2 else BOB)
    begin(desk, "t", OTHER)
    looking = idle(desk, clock, idle_batch=3)
    clock.on = HOUR + 1
    wait = looking.clock.tick()
    done = sum(commits(desk, f"s{number}", ALICE if number % 2 else BOB) for number in range(7))
    assert (done, commits(desk, "t", OTHER), wait) == (3, 1, idle_sessions.BUSY_S)
    assert commits(desk, "s0", BOB) == 1, "who is due for longest comes first"
    looking.clock.tick()
    looking.clock.tick()
    assert sum(commits(desk, f"s{number}", ALICE if number % 2 else BOB) for number in range(7)) == 7
    paused = idle(desk, clock, idle_batch=1, idle_pause=5.0)
    desk.say("s1", "x")
    desk.say("s3", "x")
    clock.on += HOUR
    assert paused.clock.tick() == 5.0


def test_one_that_fails_keeps_no_other_waiting(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    for name in ("bad", "good"):
        begin(desk, name)

    def failing(store: Any, session: Any, *arguments: Any, **named: Any) -> Any:
        if session.name == "bad":
            raise InternalError("a fault of its own")
        return commit(store, session, *arguments, **named)

    monkeypatch.setattr(COMMIT, failing)
    looking = idle(desk, clock, idle_batch=1)
    clock.on = HOUR + 1
    for _ in range(2):
        looking.clock.tick()
    assert (commits(desk, "bad"), commits(desk, "good")) == (0, 1)
    monkeypatch.setattr(COMMIT, commit)
    looking.clock.tick()
    assert commits(desk, "bad") == 0, "it is put off"
    clock.on += idle_sessions.PUT_OFF_MS
    looking.clock.tick()
    assert commits(desk, "bad") == 1


def test_an_outage_is_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    begin(desk, "s")
    looking = idle(desk, clock)
    clock.on = HOUR + 1

    def out(*_: Any, **__: Any) -> Any:
        raise UnavailableError("out", service="store", reason="out")

    monkeypatch.setattr(COMMIT, out)
    assert 0 < looking.clock.tick() <= 60
    monkeypatch.setattr(COMMIT, commit)
    due = desk.store.sessions.next_idle()
    assert due is not None
    assert due <= clock(), "it is not put off"


def test_a_clock_that_was_set_back_keeps_nobody_waiting(desk: Desk) -> None:
    begin(desk, "s", message_count_threshold=3)
    with desk.store._connections.writing() as connection:  # type: ignore[attr-defined]
        connection.execute("UPDATE sessions SET last_commit_at = last_message_at + 100 * ?", (HOUR,))
    desk.say("s", "third")
    due = desk.store.sessions.next_idle()
    assert due is not None
    assert due <= now_ms() + HOUR
    desk.say("s", "fourth")
    assert commits(desk, "s") == 1


def test_who_keeps_more_than_the_threshold_has_no_archive_for_each_message(desk: Desk) -> None:
    begin(desk, "s", message_count_threshold=2, keep_recent_count=3)
    desk.say("s", "3", "4")
    desk.say("s", "5")
    assert commits(desk, "s") == 0
    desk.say("s", "6")
    assert (commits(desk, "s"), len(desk.archived("s", 1))) == (1, 3)


def test_looking_is_one_step_in_an_index(desk: Desk) -> None:
    begin(desk, "s")
    plans = {
        "SELECT min(idle_at) FROM sessions WHERE idle_at IS NOT NULL": 0,
        "SELECT path FROM sessions WHERE idle_at <= 5 ORDER BY idle_at LIMIT 16": 0,
    }
    with desk.store._connections.reading() as connection:  # type: ignore[attr-defined]
        for statement in plans:
            told = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}"))
            assert "INDEX sessions_idle" in told
            assert "TEMP B-TREE" not in told


def test_after_a_restart_the_accounts_that_nobody_opens_are_looked_at(
    tmp_path: Path, until: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(path=tmp_path / "data", poll_interval=0.1, embedding=EmbeddingSettings(provider="none"))
    rules = Rules.of(None, None, "127.0.0.1")
    first = Services(settings, rules)
    first.sessions.create(ALICE, "s", auto_commit_policy={"idle_timeout_seconds": 1})
    first.sessions.add(ALICE, "s", [{"role": "user", "content": "hello"}])
    first.close()
    second = Services(settings, rules)
    ticked, recover = threading.Event(), Recovery.run
    tick = second.idle_sessions.clock.tick

    def ticking() -> float:
        wait = tick()
        ticked.set()
        return wait

    def late(recovery: Recovery) -> None:
        ticked.wait(30)
        recover(recovery)

    monkeypatch.setattr(second.idle_sessions.clock, "tick", ticking)
    monkeypatch.setattr(Recovery, "run", late)
    second.start()
    try:
        until(second.tenancy.recovered)
        assert second.tenancy.accounts.is_open("acme"), "somebody waits there"
        until(lambda: second.sessions.get(ALICE, "s")["commit_count"] == 1)
        second.sessions.add(ALICE, "s", [{"role": "user", "content": "in time, though the clock sleeps"}])
        until(lambda: second.sessions.get(ALICE, "s")["commit_count"] == 2)
    finally:
        second.close()


@pytest.mark.parametrize("wanted", [True, False])
def test_it_can_be_switched_off(desk: Desk, wanted: bool) -> None:
    looking = idle(desk, Clock(), idle_commit=wanted)
    before = set(threading.enumerate())
    looking.start()
    started = [one.name for one in threading.enumerate() if one not in before and "idle sessions" in one.name]
    looking.stop()
    assert started == (["openviking-idle sessions"] if wanted else [])


def test_sessions_have_the_configured_policy_where_nobody_says_one(open_desk: Callable[[], Desk]) -> None:
    desk = open_desk()
    desk.sessions._settings = SessionSettings(auto_commit=True)
    desk.say("said", "x")
    assert desk.sessions.create(ALICE, "made")["auto_commit_policy"]["message_count_threshold"] == 100
    assert desk.sessions.create(ALICE, "off", auto_commit_policy=None)["auto_commit_policy"] is None
    for name in ("said", "got"):
        assert desk.sessions.get(ALICE, name, auto_create=True)["auto_commit_policy"] is not None
