"""Turns at the interpreter: how many at once, in which order, and that none gets lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from openviking.service.turns import Turns


def eventually(condition: Callable[[], bool]) -> None:
    look = threading.Event()
    for _ in range(1_000):
        if condition():
            return
        look.wait(0.01)
    pytest.fail("what was waited for did not come")


def test_no_more_than_the_given_number_at_once() -> None:
    turns = Turns(2)
    held = threading.Semaphore(0)
    now, most, lock = [0], [0], threading.Lock()

    def work() -> None:
        with turns.turn():
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            held.acquire()
            with lock:
                now[0] -= 1

    with ThreadPoolExecutor(6) as threads:
        done = [threads.submit(work) for _ in range(6)]
        eventually(lambda: turns.waiting == 4)
        held.release(6)
        for one in done:
            one.result()
    assert (most[0], turns.waiting) == (2, 0)


def test_first_come_first_served() -> None:
    turns = Turns(1)
    order: list[int] = []

    def work(number: int) -> None:
        with turns.turn():
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]

    def start(number: int) -> None:
        threads[number].start()
        eventually(lambda: turns.waiting == number + 1)

    with turns.turn():
        for number in range(5):
            start(number)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_long_work_lets_who_waits_go_first() -> None:
    turns = Turns(1, slice_s=0.0)
    order: list[str] = []

    def quick() -> None:
        with turns.turn():
            order.append("quick")

    with turns.turn() as turn:
        turn.give_way()
        thread = threading.Thread(target=quick)
        thread.start()
        eventually(lambda: turns.waiting == 1)
        turn.give_way()
        order.append("long")
    thread.join()
    assert order == ["quick", "long"]


def test_nobody_gives_way_before_the_slice_is_over() -> None:
    turns = Turns(1, slice_s=3600.0)
    order: list[str] = []

    def quick() -> None:
        with turns.turn():
            order.append("quick")

    with turns.turn() as turn:
        thread = threading.Thread(target=quick)
        thread.start()
        eventually(lambda: turns.waiting == 1)
        turn.give_way()
        order.append("long")
    thread.join()
    assert order == ["long", "quick"]


def test_a_turn_ends_with_its_error() -> None:
    turns = Turns(1)
    with pytest.raises(ValueError, match="wrong"), turns.turn():
        raise ValueError("wrong")
    with turns.turn():
        assert turns.waiting == 0
