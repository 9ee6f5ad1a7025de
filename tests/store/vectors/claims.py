"""What tests of the queue of vectors say of claimed passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from openviking.store.vectors import MadeVector, PendingPassage


class Clock(Protocol):
    """The clock that is set."""

    now: int


def paths(claimed: Sequence[PendingPassage]) -> list[str]:
    return [one.node.path for one in claimed]


def refusals(claimed: Sequence[PendingPassage], error: str = "too long") -> list[MadeVector]:
    return [MadeVector(one.hash, one.lease, None, error) for one in claimed]
