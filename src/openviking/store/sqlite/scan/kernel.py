"""Eight-bit codes of vectors, and the dot products of one of them with very many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST: Final = 127

GATHERED_SHARE: Final = 0.25
"""Up to this share of the rows are picked out before they are multiplied; above it all are, for that is quicker."""

_EXACT_COLUMNS: Final = 1024
"""Products of two codes that float32 can add up without rounding."""

_CHUNK_BYTES: Final = 1 << 20


def _cdist() -> Any:
    try:
        from simsimd import cdist  # noqa: PLC0415
    except ImportError:
        # No wheel for this machine: numpy is slower and gives the same.
        return None
    return cdist


_CDIST: Final = _cdist()


def quantised(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The codes of ``vectors`` (count, dimension), and the scale of each: a number is about its code times the scale.

    A vector with numbers that are none (only a damaged one has them) gets a code of zeros.
    """
    largest = np.maximum(vectors.max(axis=1, initial=0.0), -vectors.min(axis=1, initial=0.0))
    sound = np.isfinite(largest)
    if not sound.all():
        vectors = np.where(sound[:, None], vectors, np.float32(0))
        largest = np.where(sound, largest, np.float32(0))
    scales = (largest / np.float32(LARGEST)).astype(np.float32)
    inverse = np.divide(np.float32(1), scales, out=np.zeros_like(scales), where=scales > 0)
    codes = np.rint(vectors * inverse[:, None])
    return codes.clip(-LARGEST, LARGEST).astype(np.int8), scales


def similarities(
    codes: NDArray[np.int8], scales: NDArray[np.float32], rows: NDArray[np.intp], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """About the dot products of ``query`` (dimension,) with the coded vectors of ``rows``, in their order.

    For vectors of length 1 they are within about 0.003 of the cosine. They are the same whatever machine and whatever
    other rows there are.
    """
    if not len(rows):
        return np.zeros(0, np.float32)
    code, (scale,) = quantised(query[None])
    if len(rows) == len(codes):
        found, of = dots(codes, code), scales
    elif len(rows) > GATHERED_SHARE * len(codes):
        found, of = dots(codes, code)[rows], scales[rows]
    else:
        found, of = dots(codes[rows], code), scales[rows]
    return (found * np.float64(scale)).astype(np.float32) * of


def dots(codes: NDArray[np.int8], code: NDArray[np.int8]) -> NDArray[np.float64]:
    """The exact dot products of ``code`` (1, dimension) with each row of ``codes`` (count, dimension)."""
    if _CDIST is None or not len(codes):
        return dots_without_simd(codes, code)
    return np.asarray(_CDIST(code, codes, "dot"), dtype=np.float64).reshape(len(codes))


def dots_without_simd(codes: NDArray[np.int8], code: NDArray[np.int8]) -> NDArray[np.float64]:
    """`dots` by numpy alone."""
    count, dimension = codes.shape
    found = np.zeros(count, np.float64)
    rows = max(_CHUNK_BYTES // dimension, 1)
    for column in range(0, dimension, _EXACT_COLUMNS):
        part = code[0, column : column + _EXACT_COLUMNS].astype(np.float32)
        for row in range(0, count, rows):
            some = codes[row : row + rows, column : column + _EXACT_COLUMNS].astype(np.float32)
            found[row : row + rows] += some @ part
    return found
