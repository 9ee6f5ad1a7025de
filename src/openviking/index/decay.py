"""How the scores of events fade with time (contract/retrieval.md §4.8)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from openviking.clock import MAX_MS, MIN_MS
from openviking.errors import InvalidArgumentError
from openviking.text import quoted

EVENTS_TAG: Final = "memory_type=events"
"""What marks a record as an event; its address does not."""

HALVED_MS: Final = 7 * 86_400_000
"""Beyond its protection a score is halved in so many milliseconds."""

MAX_DAYS: Final = 1_095_000

_UNIT_MS: Final = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PROTECTION = re.compile(r"([0-9]{1,15})([mhd])")


def parse_protection(value: object) -> int | None:
    """The milliseconds for which an event keeps its score; None where scores shall not fade.

    ``"0"``, or whole minutes, hours or days such as ``"90m"``, ``"12h"``, ``"7d"``, at most 1,095,000 days. Raises
    `InvalidArgumentError` for anything else.
    """
    if value is None:
        return None
    if value == "0" and isinstance(value, str):
        return 0
    found = _PROTECTION.fullmatch(value) if isinstance(value, str) else None
    protected = int(found[1]) * _UNIT_MS[found[2]] if found else -1
    if not 0 <= protected <= MAX_DAYS * _UNIT_MS["d"]:
        raise InvalidArgumentError(
            f"events_time_decay_protection must be '0' or a whole number with m, h or d, such as '7d', of at most"
            f" {MAX_DAYS} days, not {quoted(value)}",
            field="events_time_decay_protection",
            value=quoted(value),
        )
    return protected


def time_score(distance_ms: int, protection_ms: int) -> float:
    """What time leaves of a score, from 0 to 1, at a distance on either side of the present."""
    # Not 0.5 ** x, which fails where x is huge.
    return float(2.0 ** -(min(max(0, abs(distance_ms) - protection_ms) / HALVED_MS, 1_000.0)))


@dataclass(frozen=True, slots=True)
class Decay:
    """How scores of events fade in one request: ``now`` is its time, ``protection`` how long they keep them, both in ms."""

    now: int
    protection: int

    def time_score(self, updated_at: int) -> float | None:
        """What time leaves of the score of a record; None where its time is none of the years 1 to 9999."""
        if not MIN_MS <= updated_at <= MAX_MS:
            return None
        return time_score(self.now - updated_at, self.protection)
