"""Chooses the lines of some texts that answer a question best, as many as there is room for in all of them together.

The room goes where a line says most, whichever text it stands in. A line is worth what its own words and those of a line
beside it say of the question, and more the better its text was found; what each of them counts was measured on
conversations (docs/evals.md).
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openviking.context.units import Kind, Unit, units_of
from openviking.index.analyse import TermFinder
from openviking.store.bm25 import idf, saturation
from openviking.text import token_weight

GAP: Final = "…"
"""A line that stands for those left out."""

BESIDE: Final = 0.5
"""The part of what the line before or after says that counts for a line."""

FOUND: Final = 1.6
"""How much the score of a text counts for those of its lines that it was found by."""

ELSEWHERE: Final = 0.8
"""The part of that for its other lines."""

REPEATED: Final = 0.01
"""What each line that was taken from a text already makes its others worth less."""

SURE: Final = 0.75
"""Texts that score at least this part of the best one's score get their best line, whatever else there is."""

WORDS_PER_TOKEN: Final = 0.4
"""About how many words that are no stop words there are to an estimated token."""

_WORD: Final = re.compile(r"[^\W_]")
_GAP_WEIGHT: Final = token_weight(f"{GAP}\n")


@dataclass(frozen=True, slots=True)
class Body:
    """A text that may be told in part, found with ``score`` by its passage at ``lines``, None where that is not known."""

    text: str
    score: float
    lines: tuple[int, int] | None = None
    kind: Kind = "prose"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Whole lines of a text in their order, gaps between them marked; ``lines`` are the first and the last, 1-based.

    ``complete`` says that nothing but blank lines is left out.
    """

    text: str
    lines: tuple[int, int]
    complete: bool


def excerpts(terms: Sequence[str], bodies: Sequence[Body], room: float) -> list[Excerpt | None]:
    """For each of ``bodies`` the lines that answer best, all together at most ``room`` estimated tokens.

    ``terms`` are the query's, as the index analyses them. The texts that were found best get their best line each, the
    first ones first; then lines are taken by what they are worth, wherever they stand. None for a text of which no line is
    taken. A line is shown whole or not at all, and what two texts both say only once. A line without words is no answer;
    of code and tables neither is one that has no word of the query and stands beside none that has.
    """
    choice = _Choice(terms, bodies, room)
    choice.take_best_of_first()
    choice.take_best()
    return choice.shown()


class _Choice:
    """The lines that are taken while there is room."""

    def __init__(self, terms: Sequence[str], bodies: Sequence[Body], room: float) -> None:
        self._bodies = bodies
        self._units = [units_of(body.text, body.kind, body.lines) for body in bodies]
        self._worth = _worth(terms, bodies, self._units)
        self._taken: list[dict[int, Unit]] = [{} for _ in bodies]
        self._told: set[str] = set()
        self._room = room

    def take_best_of_first(self) -> None:
        """The best line that fits of each of the texts that were found best."""
        best = max((body.score for body in self._bodies), default=0.0)
        for body, values in enumerate(self._worth):
            if self._bodies[body].score < SURE * best:
                continue
            for place in sorted(range(len(values)), key=lambda one: (-values[one], one)):
                if values[place] > 0 and self._take(body, place):
                    break

    def take_best(self) -> None:
        """Lines of all texts, the best first."""
        # All that is left of a text loses worth alike, so that its order stays: only its best needs a place in the queue.
        ranked = [sorted((-value, place) for place, value in enumerate(values) if value > 0) for values in self._worth]
        queue = [(self._cost_of(some[0][0], body), body, 0) for body, some in enumerate(ranked) if some]
        heapq.heapify(queue)
        while queue:
            _, body, at = heapq.heappop(queue)
            self._take(body, ranked[body][at][1])
            if at + 1 < len(ranked[body]):
                heapq.heappush(queue, (self._cost_of(ranked[body][at + 1][0], body), body, at + 1))

    def _cost_of(self, value: float, body: int) -> float:
        """The negative worth of a line of a text, now that some others of it were taken."""
        return value + REPEATED * len(self._taken[body])

    def shown(self) -> list[Excerpt | None]:
        """What was taken, by text."""
        return [
            _shown([taken[place] for place in sorted(taken)], units)
            for taken, units in zip(self._taken, self._units, strict=True)
        ]

    def _take(self, body: int, place: int) -> bool:
        """Take a line if there is room; the first row of a table comes with its others."""
        named = self._bodies[body].kind == "table" and 0 not in self._taken[body]
        wanted = {one: self._units[body][one] for one in ((0, place) if named else (place,))}
        weight = sum(unit.weight + _GAP_WEIGHT for unit in wanted.values())
        unit = self._units[body][place]
        if weight > self._room or place in self._taken[body] or unit.text in self._told:
            return False
        self._taken[body] |= wanted
        self._told.add(unit.text)
        self._room -= weight
        return True


def _worth(terms: Sequence[str], bodies: Sequence[Body], units: Sequence[Sequence[Unit]]) -> list[list[float]]:
    """What each unit of each text is worth showing."""
    finder = TermFinder(terms)
    found = [[Counter(finder.within(unit.text)) for unit in some] for some in units]
    count = sum(len(some) for some in units)
    containing = Counter(term for some in found for one in some for term in one)
    weights = {term: times * idf(count, containing[term]) for term, times in Counter(terms).items()}
    whole = sum(weights.values()) or 1.0
    worth = []
    for body, some, said in zip(bodies, units, found, strict=True):
        own = [
            sum(weights[term] * saturation(times, _words(unit)) for term, times in one.items()) / whole
            for unit, one in zip(some, said, strict=True)
        ]
        said_here = [value + BESIDE * _beside(own, place) for place, value in enumerate(own)]
        silent = body.kind != "prose" and any(own)
        worth.append(
            [
                0.0
                if (silent and not value) or not _WORD.search(unit.text)
                else value + FOUND * body.score * _share(unit, body)
                for value, unit in zip(said_here, some, strict=True)
            ]
        )
    return worth


def _words(unit: Unit) -> int:
    return round(unit.weight * WORDS_PER_TOKEN)


def _beside(own: Sequence[float], place: int) -> float:
    """What the better one of the neighbours says."""
    return max(own[place - 1] if place else 0.0, own[place + 1] if place + 1 < len(own) else 0.0)


def _share(unit: Unit, body: Body) -> float:
    """The part of its text's score that counts for a unit."""
    inside = body.lines is None or (body.lines[0] <= unit.last and unit.first <= body.lines[1])
    return 1.0 if inside else ELSEWHERE


def _shown(taken: Sequence[Unit], units: Sequence[Unit]) -> Excerpt | None:
    if not taken:
        return None
    parts = [taken[0].text]
    for before, unit in itertools.pairwise(taken):
        if not unit.follows(before):
            parts.append(GAP)
        parts.append(unit.text)
    return Excerpt("\n".join(parts), (taken[0].first, taken[-1].last), len(taken) == len(units))
