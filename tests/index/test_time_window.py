"""``since`` and ``until`` (contract/retrieval.md §3.5)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.clock import iso
from openviking.errors import InvalidArgumentError
from openviking.index.time_window import check_time_field, resolve_window

NOW = 1_773_576_000_000  # 2026-03-15T12:00:00Z


def shown(bound: int | None) -> str | None:
    return None if bound is None else iso(bound)


@pytest.mark.parametrize(
    ("since", "until", "first", "last"),
    [
        (None, None, None, None),
        ("90s", None, "2026-03-15T11:58:30.000Z", None),
        ("30m", None, "2026-03-15T11:30:00.000Z", None),
        ("2h", "1h", "2026-03-15T10:00:00.000Z", "2026-03-15T11:00:00.000Z"),
        ("7d", "2w", None, "error"),
        ("2w", "7d", "2026-03-01T12:00:00.000Z", "2026-03-08T12:00:00.000Z"),
        ("0s", "0s", "2026-03-15T12:00:00.000Z", "2026-03-15T12:00:00.000Z"),
        ("2026-03-15", "2026-03-15", "2026-03-15T00:00:00.000Z", "2026-03-15T23:59:59.999Z"),
        ("2024-02-29", None, "2024-02-29T00:00:00.000Z", None),
        (None, "9999-12-31", None, "9999-12-31T23:59:59.999Z"),
        ("2026-03-15T09:30:00", None, "2026-03-15T09:30:00.000Z", None),
        ("2026-03-15 09:30", None, "2026-03-15T09:30:00.000Z", None),
        ("2026-03-15T09:30:00Z", None, "2026-03-15T09:30:00.000Z", None),
        ("2026-03-15t09:30:00z", None, "2026-03-15T09:30:00.000Z", None),
        ("2026-03-15T09:30:00.1239+08:00", None, "2026-03-15T01:30:00.123Z", None),
        ("2026-03-15T23:30:00-05:30", None, "2026-03-16T05:00:00.000Z", None),
        ("1969-12-31T23:59:59.9999", None, "1969-12-31T23:59:59.999Z", None),
        ("2026-03-15T12:00:00", "2026-03-15", "2026-03-15T12:00:00.000Z", "2026-03-15T23:59:59.999Z"),
        ("2026-03-16", "2026-03-15", None, "error"),
        ("2h", "2001-01-01", None, "error"),
        ("2026-03-15T12:00:00.001", "0s", None, "error"),
    ],
)
def test_a_window_is_inclusive_at_both_ends(since: str, until: str, first: str | None, last: str | None) -> None:
    if last == "error":
        with pytest.raises(InvalidArgumentError, match=r"since .* is later than until") as caught:
            resolve_window(since, until, NOW)
        assert since in caught.value.message
        assert until in caught.value.message
        return
    window = resolve_window(since, until, NOW)
    assert (shown(window[0]), shown(window[1])) == (first, last)


@pytest.mark.parametrize("field", ["since", "until"])
@pytest.mark.parametrize(
    "value",
    [
        "", " ", "yesterday-ish", "2h ", "-1d", "1.5h", "7", "h", "2 h", "2H", "1y", "٣h", "99999999999999999999d", "999999999999w",
        "2026-3-1", "2026-02-30", "2026-13-01", "20260315", "2026-W11-7", "2026", "0000-01-01", "2026-03-15T", "2026-03-15T25:00",
        "2026-03-15T10:00:60", "2026-03-15T10:00+99:00", "15.03.2026", "2026-03-15Tten", "\ud800", "2026-03-15\n", 7, 1.5, True, [], {},
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_field_and_value(field: str, value: object) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        resolve_window(**{"since": None, "until": None, field: value}, now_ms=NOW)
    assert caught.value.message.startswith(f"{field} must be")
    assert caught.value.details["field"] == field
    assert repr(value)[:20] in caught.value.message
    json.dumps(caught.value.to_dict(), ensure_ascii=False).encode()


@given(
    st.text(st.sampled_from("0123456789-:TZ+. smhdw"), max_size=26) | st.datetimes(timezones=st.timezones()).map(str)
)
def test_no_text_fails_but_with_a_reason(text: str) -> None:
    try:
        first, _ = resolve_window(text, None, NOW)
    except InvalidArgumentError:
        return
    assert first is not None
    iso(first)


@given(st.datetimes(min_value=datetime(2, 1, 1), timezones=st.just(UTC) | st.timezones()))  # noqa: DTZ001
def test_a_date_and_time_is_read_back(moment: datetime) -> None:
    first, last = resolve_window(moment.isoformat(), moment.isoformat(), NOW)
    assert first == last
    assert first == (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("value", "field"), [(None, "updated_at"), ("updated_at", "updated_at"), ("created_at", "created_at")]
)
def test_the_time_of_a_record(value: object, field: str) -> None:
    assert check_time_field(value) == field


@pytest.mark.parametrize("value", ["", "deleted_at", "Created_at", 5, ["created_at"]])
def test_any_other_time_of_a_record_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgumentError, match="updated_at, created_at"):
        check_time_field(value)
