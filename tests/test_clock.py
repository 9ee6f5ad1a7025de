"""Times as they are stored and shown."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.clock import MAX_MS, MIN_MS, iso, now_ms


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_769_851_800_001, "2026-01-31T09:30:00.001Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (MIN_MS, "0001-01-01T00:00:00.000Z"),
        (MAX_MS, "9999-12-31T23:59:59.999Z"),
        (10**30, "9999-12-31T23:59:59.999Z"),
        (-(10**30), "0001-01-01T00:00:00.000Z"),
    ],
)
def test_a_moment_is_shown_in_utc_to_the_millisecond(ms: int, shown: str) -> None:
    assert iso(ms) == shown


@given(st.integers(MIN_MS, MAX_MS))
def test_what_is_shown_is_the_moment(ms: int) -> None:
    moment = datetime.fromisoformat(iso(ms)) - datetime(1970, 1, 1, tzinfo=UTC)
    assert (moment.days * 86_400 + moment.seconds) * 1000 + moment.microseconds // 1000 == ms


def test_now_is_now() -> None:
    before = int(time.time() * 1000) - 1
    assert before <= now_ms() <= int(time.time() * 1000) + 1
