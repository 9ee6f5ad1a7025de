"""The window of time that ``since`` and ``until`` describe (contract/retrieval.md §3.5)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from openviking.clock import MIN_MS
from openviking.errors import InvalidArgumentError
from openviking.text import quoted

TIME_FIELDS: Final = ("updated_at", "created_at")

_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = re.compile(r"([0-9]{1,12})([smhdw])")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}[0-9:.,+\-Zz]*")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS: Final = 86_400_000
_FORMS: Final = "a duration such as 30m, 2h or 7d, a date YYYY-MM-DD, or an ISO 8601 date and time"


def resolve_window(since: object, until: object, now_ms: int) -> tuple[int | None, int | None]:
    """The first and the last millisecond of the window, both inclusive; None where it is open.

    A duration counts back from ``now_ms``; a date is its first millisecond for ``since`` and its last for ``until``;
    a date and time without zone is UTC, and a fraction finer than a millisecond is cut. Raises `InvalidArgumentError`
    that names field and value for any other form, and when ``since`` is later than ``until``.
    """
    first = None if since is None else _resolve("since", since, now_ms, 0)
    last = None if until is None else _resolve("until", until, now_ms, _DAY_MS - 1)
    if first is not None and last is not None and first > last:
        raise InvalidArgumentError(
            f"since {quoted(since)} is later than until {quoted(until)}: it must be earlier than or equal to it",
            since=quoted(since),
            until=quoted(until),
        )
    return first, last


def check_time_field(value: object) -> Literal["updated_at", "created_at"]:
    """The record's time that a window applies to: ``updated_at`` (also for None) or ``created_at``."""
    if value is None or value == "updated_at":
        return "updated_at"
    if value == "created_at":
        return "created_at"
    raise InvalidArgumentError(
        f"time_field must be one of {', '.join(TIME_FIELDS)}, not {quoted(value)}",
        field="time_field",
        value=quoted(value),
    )


def _resolve(field: str, value: object, now_ms: int, into_day: int) -> int:
    moment = _moment(value, now_ms, into_day) if isinstance(value, str) else None
    if moment is None or moment < MIN_MS:
        raise InvalidArgumentError(f"{field} must be {_FORMS}, not {quoted(value)}", field=field, value=quoted(value))
    return moment


def _moment(text: str, now_ms: int, into_day: int) -> int | None:
    duration = _DURATION.fullmatch(text)
    if duration:
        return now_ms - int(duration[1]) * _UNIT_MS[duration[2]]
    is_day = _DAY.fullmatch(text) is not None
    if not is_day and not _MOMENT.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1) + (into_day if is_day else 0)
