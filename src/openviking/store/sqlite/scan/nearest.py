"""The passages of a scope that are nearest to a query, best first, as far as one asks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from openviking.store.sqlite.rows import FILE_LEVEL
from openviking.store.sqlite.scan.kernel import similarities
from openviking.store.sqlite.scan.mask import Allowed, mask
from openviking.store.sqlite.scan.postings import Passages
from openviking.store.sqlite.scan.rows import among, flagged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openviking.model.scope import Scope
    from openviking.store.sqlite.scan.mirror import Snapshot
    from openviking.store.sqlite.scan.rows import Rows

OF_RECORD: Final = 4
"""So many passages of a record are given before those of others had their turn."""

MARGIN: Final = 4
"""So many times as many are put in order as are asked for: several may be of one record."""

FEW_WITHOUT: Final = 100
"""So many passages without a vector can be looked at one by one."""

_BLOCK: Final = 32
_LEVELS: Final = 4


class InScope:
    """The rows of a snapshot that a scope lets through: ``have`` of ``of`` passages have a vector.

    Those settled without one are in neither. ``without`` are all that have none, None if they are more than
    `FEW_WITHOUT`.
    """

    def __init__(self, snapshot: Snapshot, allowed: Allowed, scope: Scope) -> None:
        self.model = snapshot.model
        self.have = self.of = without = 0
        them: list[NDArray[np.int64]] = []
        self._chosen: list[tuple[Rows, NDArray[np.intp]]] = []
        self._inside: list[tuple[Rows, NDArray[np.bool_]]] = []
        for part in snapshot.parts:
            rows = part.rows
            chosen = part.alive & mask(rows, allowed, scope)
            has = chosen & (rows.vector > 0) & (rows.vector <= snapshot.state.vector)
            inside = chosen & (rows.window == 0)
            settled = inside & (rows.vector < 0) & (rows.vector >= -snapshot.state.vector)
            self.of += int(np.count_nonzero(inside)) - int(np.count_nonzero(settled))
            self._inside.append((rows, inside))
            them.append(rows.passage[inside & ~has])
            without += len(them[-1])
            self.have += int(np.count_nonzero(has & inside))
            self._chosen.append((rows, np.flatnonzero(has)))
        few = without <= FEW_WITHOUT
        self.without: list[int] | None = [one for some in them for one in some.tolist()] if few else None

    @cached_property
    def passages(self) -> Passages:
        """All passages of the scope, also those without a vector."""
        return Passages([(rows, np.flatnonzero(inside)) for rows, inside in self._inside])

    def right_in(self, directory: int, inside: NDArray[np.bool_]) -> list[int]:
        """The passages of the files of a directory, of its own record and of those of the directories ``inside``."""
        ids: list[int] = []
        for rows, chosen in self._inside:
            there = rows.directory == directory
            if inside.any():
                there |= flagged(inside, rows.directory) & (rows.level != FILE_LEVEL)
            ids += rows.passage[there & chosen].tolist()
        return ids

    def nearest(self, query: NDArray[np.float32]) -> Nearest:
        """The passages nearest to ``query`` (dimension,)."""
        found = []
        for rows, places in self._chosen:
            likeness = similarities(rows.code, rows.scale, places, query)
            found.append((likeness, places, rows.passage, rows.node, rows.level))
        if len(found) == 1:
            return Nearest(*found[0])
        likeness = np.concatenate([one[0] for one in found])
        passage, node, level = (np.concatenate([one[place][one[1]] for one in found]) for place in (2, 3, 4))
        return Nearest(likeness, np.arange(len(likeness)), passage, node, level)


class Nearest:
    """Passages by how near they are, equal ones by id; each is given once.

    ``likeness`` belongs to the rows at ``places``, which are ascending, of the columns behind it.
    """

    def __init__(
        self,
        likeness: NDArray[np.float32],
        places: NDArray[np.intp],
        passage: NDArray[np.int64],
        node: NDArray[np.int64],
        level: NDArray[np.uint8],
    ) -> None:
        self._likeness = likeness
        self._places = places
        self._passage = passage
        self._node = node
        self._level = level
        self._given: set[int] = set()

    def take(self, count: int) -> list[int]:
        """The next ``count`` passages, fewer only at the end; of no record more than `OF_RECORD` if there are others."""
        size = MARGIN * (len(self._given) + count)
        while True:
            ordered = self._best(size)
            taken, left = self._spread(ordered, count)
            if len(taken) == count or len(ordered) == len(self._likeness):
                break
            size *= MARGIN
        taken += left[: count - len(taken)]
        self._given.update(taken)
        return taken

    def likeness_of(self, passages: Collection[int]) -> dict[int, float]:
        """How near those of ``passages`` are that have a vector: about the cosine of the best one of each."""
        found: dict[int, float] = {}
        for number, row in zip(*self._with(self._passage, list(passages)), strict=True):
            passage, likeness = int(self._passage[row]), float(self._likeness[number])
            if likeness > found.get(passage, -2.0):
                found[passage] = likeness
        return found

    def best_of(self, records: Iterable[tuple[int, int]]) -> list[int]:
        """The nearest passage of each of ``records``, which are nodes with levels."""
        wanted = {node * _LEVELS + level for node, level in records}
        best: dict[int, tuple[float, int]] = {}
        for number, row in zip(*self._with(self._node, [one // _LEVELS for one in wanted]), strict=True):
            record = int(self._node[row]) * _LEVELS + int(self._level[row])
            one = (-float(self._likeness[number]), int(self._passage[row]))
            if record in wanted and one < best.get(record, (np.inf, 0)):
                best[record] = one
        return [passage for _, passage in best.values()]

    def _with(self, column: NDArray[np.int64], ids: Sequence[int]) -> tuple[list[int], list[int]]:
        """The numbers of the vectors, and their rows, whose ``column`` has one of ``ids``."""
        rows = np.flatnonzero(among(column, np.array(ids, np.int64)))
        numbers = np.searchsorted(self._places, rows)
        there = numbers < len(self._places)
        there[there] = self._places[numbers[there]] == rows[there]
        return numbers[there].tolist(), rows[there].tolist()

    def _best(self, size: int) -> NDArray[np.intp]:
        """The numbers of the ``size`` best, in order."""
        likeness = self._likeness
        numbers = np.arange(len(likeness))
        if size < len(likeness):
            numbers = np.flatnonzero(likeness >= self._border(size))
        passages = self._passage[self._places[numbers]]
        return numbers[np.lexsort((passages, -likeness[numbers]))][:size]

    def _border(self, size: int) -> float:
        """What at least ``size`` are not below of, and not many more."""
        likeness = self._likeness
        blocks = len(likeness) // _BLOCK
        if blocks < 2 * size:
            return float(np.partition(likeness, len(likeness) - size)[len(likeness) - size])
        # So many blocks have one that is as good as that. To look at all of them takes several times longer.
        best = likeness[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
        return float(np.partition(best, blocks - size)[blocks - size])

    def _spread(self, ordered: NDArray[np.intp], count: int) -> tuple[list[int], list[int]]:
        taken: list[int] = []
        left: list[int] = []
        of_record: dict[int, int] = {}
        seen = set(self._given)
        rows = self._places[ordered]
        records = self._node[rows] * _LEVELS + self._level[rows]
        for passage, record in zip(self._passage[rows].tolist(), records.tolist(), strict=True):
            if passage in seen:
                continue
            seen.add(passage)
            number = of_record.get(record, 0)
            if number == OF_RECORD:
                left.append(passage)
                continue
            of_record[record] = number + 1
            taken.append(passage)
            if len(taken) == count:
                break
        return taken, left
