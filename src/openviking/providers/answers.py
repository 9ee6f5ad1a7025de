"""Reading an answer of the OpenAI embeddings protocol, and trusting nothing in it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from openviking.providers.failures import CallFailed, shown

MAX_DIMENSION: Final = 16_384
_BYTES_PER_NUMBER: Final = 32
_BYTES_AROUND: Final = 65_536
_TINY: Final = 1e-9


def bytes_allowed(count: int, dimension: int) -> int:
    """How large an answer of ``count`` vectors may be; ``dimension`` 0 if it is not known."""
    return _BYTES_AROUND + count * (dimension or MAX_DIMENSION) * _BYTES_PER_NUMBER


def read_answer(
    body: bytes, count: int, found: Callable[[Mapping[str, Any]], Any] = lambda told: told.get("data")
) -> list[NDArray[np.float32] | None]:
    """The ``count`` vectors of an answer, in the order of the texts, each of length 1 and all of one dimension.

    ``found`` gives the list of their entries. None stands for a vector that has no direction (not finite, or zero): its text is to blame, not the others. Raises
    `CallFailed` if the answer is not what was asked for.
    """
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise CallFailed(
            f"the answer is not JSON: {shown(body[:80].decode('utf-8', 'replace'), ())}", "malformed"
        ) from None
    data = found(told) if isinstance(told, dict) else None
    if not isinstance(data, list):
        reason = shown(json.dumps(told)[:400], ())
        raise CallFailed(f"the answer has no list of embeddings: {reason}", "malformed")
    if len(data) != count:
        raise CallFailed(f"{len(data)} embeddings for {count} texts", "malformed")
    vectors = [_numbers(entry) for entry in _in_order(data)]
    dimensions = {vector.shape[0] for vector in vectors}
    if len(dimensions) != 1 or not 1 <= (dimension := dimensions.pop()) <= MAX_DIMENSION:
        raise CallFailed("embeddings of different or impossible dimensions in one answer", "malformed")
    return [_normalised(vector) for vector in vectors if vector.shape[0] == dimension]


def _in_order(data: list[Any]) -> list[Any]:
    if not all(isinstance(entry, dict) for entry in data):
        raise CallFailed("an embedding in the answer is no object", "malformed")
    places = [entry.get("index") for entry in data]
    if all(place is None for place in places):
        return data
    if not all(type(place) is int for place in places) or sorted(places) != list(range(len(data))):
        raise CallFailed("the indices of the embeddings do not fit the texts", "malformed")
    ordered = dict(zip(places, data, strict=True))
    return [ordered[place] for place in range(len(data))]


def _numbers(entry: dict[str, Any]) -> NDArray[np.float64]:
    given = entry.get("embedding")
    if isinstance(given, str):
        try:
            packed = base64.b64decode(given, validate=True)
        except (ValueError, binascii.Error):
            packed = b"?"
        if len(packed) % 4:
            raise CallFailed("an embedding is not base64 of float32 numbers", "malformed")
        return np.frombuffer(packed, "<f4").astype(np.float64)
    if not isinstance(given, list) or not all(type(one) in (float, int, type(None)) for one in given):
        raise CallFailed("an embedding is no list of numbers", "malformed")
    try:
        return np.array(given, dtype=np.float64)
    except OverflowError:
        return np.full(len(given), np.nan)


def _normalised(vector: NDArray[np.float64]) -> NDArray[np.float32] | None:
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length < _TINY:
        return None
    return (vector / length).astype(np.float32)
