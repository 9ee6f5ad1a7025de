"""The word score's parts: rarer is worth more, each further occurrence adds less, longer passages need more of them."""

from __future__ import annotations

import contextlib
import math
import sqlite3

import pytest

from openviking.store.bm25 import PIVOT, SHORTEST, idf, saturation
from openviking.store.sqlite.candidates import saturation_sql


def test_idf_falls_with_frequency_and_is_never_negative() -> None:
    values = [idf(1000, containing) for containing in (0, 1, 10, 500, 999, 1000)]
    assert values == sorted(values, reverse=True)
    assert values[-1] > 0
    assert idf(1000, 10) == pytest.approx(math.log(1 + 990.5 / 10.5))


def test_idf_counts_at_most_all_passages() -> None:
    """A term in names too can be counted more often than there are passages."""
    assert idf(3, 8) == idf(3, 3)


def test_saturation_grows_with_frequency_and_stays_below_one() -> None:
    values = [saturation(frequency, PIVOT) for frequency in (0, 0.5, 1, 2, 10, 10_000)]
    assert values == sorted(values)
    assert values[0] == 0
    assert values[-1] < 1
    assert values[2] - values[0] > values[3] - values[2]


def test_saturation_falls_with_length_but_not_below_the_shortest() -> None:
    assert saturation(1, PIVOT) > saturation(1, 2 * PIVOT) > saturation(1, 4 * PIVOT)
    assert saturation(1, 0) == saturation(1, SHORTEST) > saturation(1, SHORTEST + 1)


@pytest.mark.parametrize(("frequency", "length"), [(0.5, 3), (1.0, 80), (7.5, 300), (0.0, 10)])
def test_sql_says_the_same(frequency: float, length: int) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection, connection:
        (value,) = connection.execute(
            f"SELECT {saturation_sql('f', 'l')} FROM (SELECT ? AS f, ? AS l)", (frequency, length)
        ).fetchone()
    assert value == pytest.approx(saturation(frequency, length))
