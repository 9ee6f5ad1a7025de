"""The exact cosines of stored vectors with a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DECIMALS: Final = 9
"""Cosines that differ by less are equal: how many were computed together must not decide."""


def cosines(blobs: Sequence[bytes | None], query: NDArray[np.float32]) -> list[float | None]:
    """For each passage's vectors as they are stored, the cosine of its best one with ``query`` (dimension,).

    None where there is none, or no whole number of them.
    """
    size = 2 * len(query)
    sound = [blob if blob and len(blob) % size == 0 else b"" for blob in blobs]
    vectors = np.frombuffer(b"".join(sound), np.dtype("<f2")).reshape(-1, len(query)).astype(np.float64)
    # Not by a matrix product: its sums depend on how many rows there are.
    found = np.round((vectors * query.astype(np.float64)).sum(axis=1), DECIMALS).tolist()
    best: list[float | None] = []
    place = 0
    for blob in sound:
        windows = len(blob) // size
        value = max(found[place : place + windows], default=None)
        best.append(value if value is not None and -2 < value < 2 else None)
        place += windows
    return best
