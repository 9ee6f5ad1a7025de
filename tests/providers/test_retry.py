"""The pace of calls to a service that fails."""

from __future__ import annotations

import threading

import pytest
from tests.providers.conftest import QuickTime

from openviking.providers.failures import CallFailed
from openviking.providers.retry import Pace, Timekeeper

DOWN = CallFailed("HTTP 503", "outage", status=503)


@pytest.fixture
def pace(quick: QuickTime) -> Pace:
    return Pace(quick, jitter=lambda: 0.0)


def test_all_pass_while_it_answers(pace: Pace, quick: QuickTime) -> None:
    for _ in range(3):
        pace.succeeded(pace.enter(quick.now()))
    assert not quick.waits


def test_calls_that_began_together_count_as_one_failure(pace: Pace, quick: QuickTime) -> None:
    together = [pace.enter(quick.now()) for _ in range(4)]
    for turn in together:
        pace.failed(turn, DOWN)
    pace.enter(quick.now() + 60)
    assert quick.waits == [0.5]


def test_pauses_double_to_their_longest_and_begin_anew(pace: Pace, quick: QuickTime) -> None:
    for _ in range(6):
        pace.failed(pace.enter(quick.now() + 60), DOWN)
    assert quick.waits == [0.5, 1, 2, 4, 4]
    pace.succeeded(pace.enter(quick.now() + 60))
    pace.failed(pace.enter(quick.now()), DOWN)
    pace.enter(quick.now() + 60)
    assert quick.waits == [0.5, 1, 2, 4, 4, 4, 0.5]


@pytest.mark.parametrize(("jitter", "pause"), [(0.0, 0.5), (0.999, 0.9995)])
def test_the_first_pause_is_half_a_second_to_one(quick: QuickTime, jitter: float, pause: float) -> None:
    pace = Pace(quick, jitter=lambda: jitter)
    pace.failed(pace.enter(quick.now()), DOWN)
    pace.enter(quick.now() + 60)
    assert quick.waits == [pytest.approx(pause)]


def test_one_tries_and_the_others_wait_for_the_outcome(pace: Pace, quick: QuickTime) -> None:
    pace.failed(pace.enter(quick.now()), DOWN)
    trying = pace.enter(quick.now() + 60)
    with pytest.raises(CallFailed, match="503") as caught:
        pace.enter(quick.now() + 1)
    assert caught.value.retry_after is not None
    pace.succeeded(trying)
    pace.enter(quick.now())


def test_a_success_that_began_before_the_failure_proves_nothing(pace: Pace, quick: QuickTime) -> None:
    early, failing = pace.enter(quick.now()), pace.enter(quick.now())
    pace.failed(failing, DOWN)
    pace.succeeded(early)
    with pytest.raises(CallFailed):
        pace.enter(quick.now() + 0.4)


def test_whoever_fails_late_may_still_ask_for_a_pause(pace: Pace, quick: QuickTime) -> None:
    first, second = pace.enter(quick.now()), pace.enter(quick.now())
    pace.failed(first, DOWN)
    pace.failed(second, CallFailed("HTTP 429", "outage", status=429, retry_after=30))
    pace.enter(quick.now() + 60)
    assert quick.waits == [30]


def test_an_outage_that_ended_for_others_is_over(pace: Pace, quick: QuickTime) -> None:
    pace.failed(pace.enter(quick.now()), DOWN)
    pace.recovered()
    pace.enter(quick.now())
    pace.recovered()
    pace.enter(quick.now())


@pytest.mark.parametrize("asked", [None, 30.0])
def test_a_pause_that_the_service_wants_holds_whatever_others_see(
    pace: Pace, quick: QuickTime, asked: float | None
) -> None:
    pace.failed(pace.enter(quick.now()), CallFailed("HTTP 429", "outage", status=429, retry_after=asked))
    pace.recovered()
    with pytest.raises(CallFailed, match="429"):
        pace.enter(quick.now() + 0.4)


def test_stopping_ends_waits() -> None:
    timekeeper = Timekeeper()
    pace = Pace(timekeeper)
    pace.failed(pace.enter(timekeeper.now()), CallFailed("HTTP 429", "outage", retry_after=60))
    raised: list[str] = []

    def waiting() -> None:
        try:
            pace.enter(timekeeper.now() + 100)
        except CallFailed as failure:
            raised.append(failure.message)

    thread = threading.Thread(target=waiting)
    thread.start()
    timekeeper.stop()
    thread.join(10)
    assert raised == ["closed"]
