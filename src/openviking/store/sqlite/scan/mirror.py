"""The passages and vectors of one model in memory, brought up to whatever state of the account a reader sees.

The mirror knows the change numbers at which it was brought up to date: its points. A reader of a state in between takes
the last point before its own state, and reads by itself what came after.
"""

from __future__ import annotations

import sqlite3
import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from openviking.store.sqlite.scan.reading import Model, State, all_rows, difference, new_vectors, reaches_back
from openviking.store.sqlite.scan.rows import NEVER, GrowingRows, Rows, among

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEAD_SHARE: Final = 0.25
DEAD_ROWS: Final = 1000
"""More dead rows than this share and this many are thrown away."""

MOST_POINTS: Final = 10_000

Loader = Callable[[sqlite3.Connection, Model, State], "tuple[GrowingRows, State] | None"]
"""Gives rows that were kept somewhere, with the state that they are of; None if there are none that are right."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows, and which of them are part of the reader's state."""

    rows: Rows
    alive: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows of one state of the account, in parts; vectors behind ``state.vector`` are not in it."""

    model: Model
    state: State
    parts: Sequence[Part]


@dataclass(slots=True)
class _Held:
    growing: GrowingRows
    points: list[int]
    vector: int
    changed: int = 0
    dead: int = 0


class Mirror:
    """The rows of one model; safe for many threads."""

    def __init__(self, model: Model, load: Loader) -> None:
        self.model = model
        self._load = load
        self._lock = threading.Lock()
        self._held: _Held | None = None

    def at(self, connection: sqlite3.Connection, state: State) -> Snapshot:
        """The rows of the ``state`` that ``connection`` sees."""
        with self._lock:
            held = self._brought_up(connection, state)
            rows = held.growing.rows
            before = bisect_right(held.points, state.change)
            point = held.points[before - 1] if before else None
        if point is None or (point < state.change and not reaches_back(connection, point)):
            # A state from before the mirror was made, or was rid of its dead.
            return Snapshot(self.model, state, [_all_alive(all_rows(connection, self.model, state).rows)])
        alive = (rows.born <= point) & (rows.died > point)
        if point == state.change:
            return Snapshot(self.model, state, [Part(rows, alive)])
        later = difference(connection, self.model, rows, point, state)
        return Snapshot(self.model, state, [Part(rows, alive & ~later.gone), _all_alive(later.fresh)])

    def changed(self) -> tuple[int, int]:
        """How many rows were changed since they were loaded or given to be saved, and how many there are."""
        with self._lock:
            return (self._held.changed, len(self._held.growing)) if self._held is not None else (0, 0)

    def to_save(self) -> tuple[Rows, State] | None:
        """A copy of the living rows with the state that they are of; they count as saved from now on."""
        with self._lock:
            held = self._held
            if held is None:
                return None
            held.changed = 0
            rows = held.growing.rows
            return rows.where(rows.died == NEVER), State(held.points[-1], held.vector)

    def _brought_up(self, connection: sqlite3.Connection, state: State) -> _Held:
        if self._held is None:
            loaded = self._load(connection, self.model, state)
            if loaded is not None:
                self._held = _Held(loaded[0], [loaded[1].change], loaded[1].vector)
        if self._held is None or not reaches_back(connection, self._held.points[-1]):
            growing = all_rows(connection, self.model, state)
            self._held = _Held(growing, [state.change], state.vector, changed=len(growing))
        held = self._held
        if state.change > held.points[-1]:
            self._take_changes(connection, held, state)
        if state.change == held.points[-1] and state.vector > held.vector:
            self._take_vectors(connection, held, state)
        if held.dead > max(DEAD_SHARE * len(held.growing), DEAD_ROWS):
            rows = held.growing.rows
            living = rows.where(rows.died == NEVER)
            held.growing, held.points, held.dead = GrowingRows(living, len(living)), held.points[-1:], 0
        if len(held.points) > MOST_POINTS:
            del held.points[: MOST_POINTS // 2]
        return held

    def _take_changes(self, connection: sqlite3.Connection, held: _Held, state: State) -> None:
        rows = held.growing.rows
        # All is read before anything is changed, so that a failure leaves the mirror as it was.
        later = difference(connection, self.model, rows, held.points[-1], state)
        gone = np.flatnonzero(later.gone & (rows.died == NEVER))
        held.growing.append(later.fresh)
        held.growing.rows.died[gone] = state.change
        held.points.append(state.change)
        held.dead += len(gone)
        held.changed += len(gone) + len(later.fresh)

    def _take_vectors(self, connection: sqlite3.Connection, held: _Held, state: State) -> None:
        for some in new_vectors(connection, self.model, held.vector, state):
            rows = held.growing.rows
            places = np.flatnonzero(among(rows.passage, some.passage))
            places = places[(rows.died[places] == NEVER) & (rows.window[places] == 0)]
            places = places[np.argsort(rows.passage[places], kind="stable")]
            passages = rows.passage[places]
            at = np.minimum(np.searchsorted(passages, some.passage), max(len(places) - 1, 0))
            known = passages[at] == some.passage if len(places) else np.zeros(len(some), np.bool_)
            some, at = some.where(known), places[at[known]]
            new = rows.vector[at] != some.vector
            some, at = some.where(new), at[new]
            for name in ("node", "directory", "updated_at", "created_at", "born"):
                getattr(some, name)[:] = getattr(rows, name)[at]
            further = some.window > 0
            held.growing.append(some.where(further))
            rows = held.growing.rows
            first, at = some.where(~further), at[~further]
            rows.code[at], rows.scale[at] = first.code, first.scale
            rows.vector[at] = first.vector
            held.changed += len(some)
        held.vector = state.vector


def _all_alive(rows: Rows) -> Part:
    return Part(rows, np.ones(len(rows), np.bool_))
