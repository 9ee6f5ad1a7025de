"""Time as OpenViking stores and shows it: whole milliseconds since the epoch, UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final

MIN_MS: Final = -62_135_596_800_000
MAX_MS: Final = 253_402_300_799_999

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def iso(ms: int) -> str:
    """``ms`` as ISO 8601 in UTC with milliseconds and ``Z``, such as ``2026-01-31T09:30:00.000Z``.

    A moment outside of the years 1 to 9999 (a damaged time stamp of a file) is shown as the nearest inside.
    """
    moment = _EPOCH + timedelta(milliseconds=min(max(ms, MIN_MS), MAX_MS))
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
