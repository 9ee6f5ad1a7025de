"""A model that fails is left alone for longer and longer, tried by one call at a time, and heals by itself."""

from __future__ import annotations

import threading

import pytest

from openviking.errors import UnavailableError
from openviking.service.breaker import LONGEST_RETRY_AFTER_S, LOST_S, PERMANENT_S, Breaker, Ticket


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def error(reason: str = "down", **details: object) -> UnavailableError:
    made = UnavailableError(reason, service="embedding", reason=reason)
    made.details.update(details)
    return made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(clock=clock)


def admitted(breaker: Breaker) -> Ticket:
    ticket = breaker.admit()
    assert ticket is not None
    return ticket


def test_pauses_double_from_a_second_to_a_minute(breaker: Breaker, clock: Clock) -> None:
    pauses = []
    for _ in range(9):
        breaker.failed(admitted(breaker), error())
        assert breaker.admit() is None
        pauses.append(breaker.left())
        clock.now += breaker.left()
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert breaker.lasts() == sum(pauses)
    breaker.succeeded(admitted(breaker))
    assert (breaker.outage, breaker.left(), breaker.lasts()) == (None, 0, 0)
    breaker.failed(admitted(breaker), error())
    assert breaker.left() == 1


def test_only_one_call_tries_whether_it_is_over(breaker: Breaker, clock: Clock) -> None:
    breaker.failed(admitted(breaker), error())
    clock.now += 1
    probe = admitted(breaker)
    assert probe.probe
    assert [breaker.admit() for _ in range(5)] == [None] * 5
    breaker.withdrawn(probe)
    again = admitted(breaker)
    breaker.succeeded(again)
    assert [admitted(breaker).probe for _ in range(3)] == [False] * 3


def test_a_probe_that_never_ends_keeps_nobody_out_for_ever(breaker: Breaker, clock: Clock) -> None:
    breaker.failed(admitted(breaker), error())
    clock.now += 1
    admitted(breaker)
    clock.now += LOST_S - 1
    assert breaker.admit() is None
    clock.now += 1
    assert admitted(breaker).probe


def test_calls_that_began_together_fail_once(breaker: Breaker, clock: Clock) -> None:
    together = [admitted(breaker) for _ in range(4)]
    assert [breaker.failed(one, error()) for one in together] == [True, False, False, False]
    assert breaker.left() == 1
    # One that began before the outage says nothing about its end.
    late = Ticket(together[0].outage, probe=False)
    breaker.succeeded(late)
    assert breaker.outage is not None
    clock.now += 1
    breaker.failed(admitted(breaker), error())
    assert breaker.left() == 2


def test_the_service_says_how_long(breaker: Breaker, clock: Clock) -> None:
    breaker.failed(admitted(breaker), error(retry_after=7.5))
    assert breaker.left() == 7.5
    clock.now += 7.5
    for wrong in ("soon", True, -3, float("nan"), None):
        breaker.failed(admitted(breaker), error(retry_after=wrong))
        assert breaker.left() <= 60
        clock.now += breaker.left()
    breaker.failed(admitted(breaker), error(retry_after=1e9))
    assert breaker.left() == LONGEST_RETRY_AFTER_S


def test_an_error_for_good_is_tried_slowly_unless_somebody_waits(breaker: Breaker, clock: Clock) -> None:
    began = clock.now
    breaker.failed(admitted(breaker), error(permanent=True))
    assert breaker.left() == PERMANENT_S
    assert breaker.hopeless_since(began)
    clock.now += 5
    assert not breaker.hopeless_since(clock.now)
    breaker.hasten()
    assert breaker.left() == 0
    breaker.failed(admitted(breaker), error(permanent=True))
    breaker.hasten()
    assert breaker.left() == 2
    breaker.failed(Ticket(1, probe=True), error(retry_after=50))
    breaker.hasten()
    assert breaker.left() == 50


def test_what_is_news(breaker: Breaker, clock: Clock) -> None:
    assert breaker.failed(admitted(breaker), error("a"))
    clock.now += 1
    assert not breaker.failed(admitted(breaker), error("a"))
    clock.now += 2
    assert breaker.failed(admitted(breaker), error("b"))


def test_failures_below_the_threshold_are_no_outage(clock: Clock) -> None:
    breaker = Breaker(3, 10.0, 25.0, clock)
    for _ in range(2):
        breaker.failed(admitted(breaker), error())
    assert breaker.outage is None
    breaker.succeeded(admitted(breaker))
    for _ in range(2):
        breaker.failed(admitted(breaker), error())
    assert breaker.outage is None
    pauses = []
    for _ in range(3):
        breaker.failed(admitted(breaker), error())
        pauses.append(breaker.left())
        clock.now += breaker.left()
    assert pauses == [10, 20, 25]
    breaker.succeeded(admitted(breaker))
    assert breaker.outage is None


def test_a_call_from_before_an_outage_that_is_over_begins_no_other(breaker: Breaker, clock: Clock) -> None:
    early, slow = admitted(breaker), admitted(breaker)
    breaker.failed(early, error("refused"))
    clock.now += 2
    breaker.succeeded(admitted(breaker))
    assert not breaker.failed(slow, error("refused"))
    assert breaker.outage is None


def test_many_threads_let_one_through() -> None:
    clock = Clock()
    breaker = Breaker(clock=clock)
    breaker.failed(admitted(breaker), error())
    clock.now += 1
    got: list[Ticket | None] = []
    ready = threading.Barrier(8)

    def ask() -> None:
        ready.wait(20)
        got.append(breaker.admit())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sum(one is not None for one in got) == 1
