"""What the wire formats of rerank services have in common: a request of one batch, and scores that may be missing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from openviking.providers.failures import CallFailed, shown

Score = float | None
"""How well a document answers; None where the service gave something else than a number for it."""

UNRANKED: Final = -math.inf
"""The score of a document that the answer leaves out, as services do that give the best few only: behind all others."""


class Wire(Protocol):
    """One wire format, with the address and the model that it is spoken to."""

    @property
    def url(self) -> str:
        """Where requests go."""
        ...

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    def body(self, query: str, documents: Sequence[str]) -> bytes:
        """The request."""
        ...

    def signed(self, body: bytes) -> Mapping[str, str]:
        """Headers that belong to this request alone."""
        ...

    def scores(self, answer: bytes, count: int) -> list[Score]:
        """The score of each document of a request with ``count``. Raises `CallFailed` for what is no such answer."""
        ...


def encoded(body: Mapping[str, Any]) -> bytes:
    """``body`` as JSON; half of a surrogate pair is no text and becomes a question mark."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def decoded(answer: bytes) -> Any:
    """The JSON of an answer. Raises `CallFailed` if it is none."""
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        told = shown(answer[:80].decode("utf-8", "replace"), ())
        raise CallFailed(f"the answer is not JSON: {told}", "malformed") from None


def list_at(told: Any, *path: str) -> list[Any]:
    """The list at ``path``. Raises `CallFailed` if there is none."""
    found = told
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, list):
        raise CallFailed(f"the answer has no {'.'.join(path)}: {shown(json.dumps(told)[:400], ())}", "malformed")
    return found


def indexed(results: Sequence[Any], count: int, *names: str) -> list[Score]:
    """Scores by the ``index`` of each result, in the first of its members ``names`` that there is.

    Documents that no result is about are `UNRANKED`. Raises `CallFailed` for an index that is not of this request, or twice.
    """
    scores: dict[int, Score] = {}
    for result in results:
        place = result.get("index") if isinstance(result, dict) else None
        if type(place) is not int or not 0 <= place < count or place in scores:
            raise CallFailed(f"a result has the index {shown(str(place), ())} among {count} documents", "malformed")
        scores[place] = number(next((result[name] for name in names if name in result), None))
    return [scores.get(place, UNRANKED) for place in range(count)]


def number(value: Any) -> Score:
    """``value`` if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
