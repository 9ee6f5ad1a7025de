"""The client of a model: made once, closed once, and not made again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from openviking.errors import UnavailableError
from openviking.service.kept_model import KeptModel


class Client:
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class Maker:
    def __init__(self) -> None:
        self.made: list[Client] = []

    def __call__(self) -> Client:
        self.made.append(Client())
        return self.made[-1]


def gone() -> UnavailableError:
    return UnavailableError("closed", service="chat", reason="closed")


def test_all_threads_have_the_one_that_is_made_when_it_is_needed() -> None:
    maker = Maker()
    kept = KeptModel[Client](maker, None, gone)
    assert not maker.made
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: kept.get(), range(64)))
    assert found == set(maker.made)
    assert len(maker.made) == 1


def test_what_is_closed_is_closed_once_and_not_made_again() -> None:
    maker = Maker()
    kept = KeptModel[Client](maker, None, gone)
    made = kept.get()
    kept.close()
    kept.close()
    assert made.closed == 1
    with pytest.raises(UnavailableError, match="closed"):
        kept.get()
    assert len(maker.made) == 1


def test_what_was_given_is_its_owners_to_close() -> None:
    given, maker = Client(), Maker()
    kept = KeptModel[Client](maker, given, gone)
    kept.close()
    assert kept.get() is given
    assert (given.closed, maker.made) == (0, [])


def test_a_making_that_failed_is_tried_again() -> None:
    maker, failures = Maker(), [gone()]

    def make() -> Client:
        if failures:
            raise failures.pop()
        return maker()

    kept = KeptModel[Client](make, None, gone)
    with pytest.raises(UnavailableError):
        kept.get()
    assert kept.get() is maker.made[0]
