"""What the rooms above ask of a rerank model, remote or built in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from openviking.providers.rerank.wire import Score


class Reranker(Protocol):
    """Says how well documents answer a query. Safe to use from several threads at once."""

    @property
    def share(self) -> float:
        """The weight of its scores, the rest is that of the search's own; 1: they replace them."""
        ...

    @property
    def most(self) -> int:
        """How many documents one call is given at most."""
        ...

    def scores(self, query: str, documents: Sequence[str], *, timeout: float) -> list[Score]:
        """The score of each document in one batch; None where there is none to trust, -inf for one that was left out.

        Raises `UnavailableError` when there is no answer or one that can't be understood, `DeadlineExceededError` after
        ``timeout`` seconds.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """What people may know of it: provider, model, address; never a key."""
        ...

    def close(self) -> None:
        """Release everything; calls under way come to an end."""
        ...
