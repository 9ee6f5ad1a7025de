"""The peer whose view a piece of a program takes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Final

from openviking_sdk.settings import header_value

_UNSET: Final = object()
_peer: ContextVar[object] = ContextVar("openviking_actor_peer", default=_UNSET)


@contextlib.contextmanager
def use_actor_peer(peer_id: str | None) -> Iterator[None]:
    """Calls of every client within the ``with`` block act in the view of ``peer_id``; None takes no peer's view.

    It overrides the ``actor_peer_id`` of a client, and holds for the running thread or asyncio task and those it
    starts (contract/core.md §2.7). Sessions have no such view.
    """
    token = _peer.set(header_value("actor_peer_id", peer_id))
    try:
        yield
    finally:
        _peer.reset(token)


def actor_peer(default: str | None) -> str | None:
    """The peer of the block that runs, ``default`` outside of such blocks."""
    peer = _peer.get()
    if peer is _UNSET:
        return default
    return peer if isinstance(peer, str) and peer else None
