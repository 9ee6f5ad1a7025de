"""The columns of the scan: a row for each vector of a passage, or one for a passage that has none."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

NEVER: Final = np.iinfo(np.int64).max
"""``died`` of rows that are still alive."""

SMALLEST: Final = 1024


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of equal length.

    A row is part of the states of the account with change numbers ``born`` ≤ change < ``died``. ``vector`` is the id of
    the stored vector, 0 if the passage has none, the negative id if it is settled without one; ``window`` numbers the vectors of one passage. ``code`` (length,
    dimension) and ``scale`` are as `kernel.quantised` gives them. All else is as in the tables.
    """

    passage: NDArray[np.int64]
    node: NDArray[np.int64]
    directory: NDArray[np.int64]
    updated_at: NDArray[np.int64]
    created_at: NDArray[np.int64]
    vector: NDArray[np.int64]
    born: NDArray[np.int64]
    died: NDArray[np.int64]
    length: NDArray[np.int32]
    scale: NDArray[np.float32]
    level: NDArray[np.uint8]
    window: NDArray[np.uint16]
    code: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.passage)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self.code.shape[1])

    def first(self, count: int) -> Rows:
        """The first ``count`` rows, without copying."""
        return Rows(*(getattr(self, field.name)[:count] for field in fields(self)))

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Rows:
        """A copy of the chosen rows."""
        return Rows(*(getattr(self, field.name)[chosen] for field in fields(self)))


def among(column: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each of ``column`` is one of ``ids``; ids of tables, so that they are small enough to count by."""
    return flagged(flags(ids), column)


def flags(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """A flag for every id up to one behind the last of ``ids``, so that others have one that says no."""
    found = np.zeros(int(ids.max(initial=0)) + 2, np.bool_)
    found[ids] = True
    return found


def flagged(which: NDArray[np.bool_], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The `flags` of ``ids``."""
    return np.take(which, np.minimum(ids, len(which) - 1))


TYPES: Final[dict[str, DTypeLike]] = {
    **dict.fromkeys(("passage", "node", "directory", "updated_at", "created_at", "vector", "born", "died"), "<i8"),
    "length": "<i4",
    "scale": "<f4",
    "level": "u1",
    "window": "<u2",
    "code": "i1",
}


def empty(capacity: int, dimension: int) -> Rows:
    """Room for ``capacity`` rows."""
    return Rows(
        **{
            name: np.zeros((capacity, dimension) if name == "code" else capacity, np.dtype(kind))
            for name, kind in TYPES.items()
        }
    )


class GrowingRows:
    """Rows that others are appended to; who holds earlier ones keeps them as they were."""

    def __init__(self, room: Rows, count: int = 0) -> None:
        self._room = room
        self._count = count

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Rows:
        """The rows there are now, not copied: their cells may be written."""
        return self._room.first(self._count)

    def append(self, more: Rows) -> None:
        """Append rows; if there is no memory for them nothing is changed."""
        count = self._count + len(more)
        if count > len(self._room):
            room = empty(max(count + count // 4, SMALLEST), self._room.dimension)
            for field in fields(Rows):
                getattr(room, field.name)[: self._count] = getattr(self._room, field.name)[: self._count]
            self._room = room
        for field in fields(Rows):
            getattr(self._room, field.name)[self._count : count] = getattr(more, field.name)
        self._count = count
