"""Counters of what is remembered."""

from __future__ import annotations

from typing import Any

from openviking_sdk.call import Call, an_object, given
from openviking_sdk.uri import segment


def memory_stats(category: str | None = None) -> Call[dict[str, Any]]:
    """How many memories there are: ``total``, ``by_category``, ``by_peer``; with ``category`` of that type alone."""
    return Call(
        method="GET", path="/api/v1/stats/memories", query=given(category=category), read=an_object, repeatable=True
    )


def session_stats(session_id: str) -> Call[dict[str, Any]]:
    """What is counted of a session: messages, commits, archives, memories and tokens. Raises `NotFoundError`."""
    return Call(
        method="GET",
        path=f"/api/v1/stats/sessions/{segment(session_id, 'session_id')}",
        read=an_object,
        repeatable=True,
    )
