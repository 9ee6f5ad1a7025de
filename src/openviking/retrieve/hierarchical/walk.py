"""The walk from directory to directory, best first: which records it collects, with what scores (contract/retrieval.md §8.4)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from openviking.retrieve.hierarchical.convergence import Convergence
from openviking.retrieve.hierarchical.parameters import Parameters
from openviking.uri import from_path

FILE_LEVEL: Final = 2

MOST_DIRECTORIES: Final = 256
"""Directories that one walk looks into; what lies behind them is left to the global search."""

SCORE_DECIMALS: Final = 12
"""Scores that differ by less are equal: where a sum was rounded must not decide."""

NAMED_DIRECTORIES: Final = 64
"""Directories that the events of a walk name."""


class Child(NamedTuple):
    """A record in a directory: its path, its own score, its level (0 and 1 of a directory, 2 of a file)."""

    path: str
    score: float
    level: int


Look = Callable[[Sequence[str]], Sequence[Sequence[Child]]]
"""For each of some directories the records in it that answer."""


@dataclass(frozen=True, slots=True)
class Looked:
    """One look into a directory: in which round, with what score it was taken, how many records it gave.

    ``excluded`` are those that did not score above the threshold, by path with their propagated scores.
    """

    round: int
    score: float
    seen: int
    excluded: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk collected: by path the record with its propagated score, and what it took.

    ``end`` says why it ended: ``converged``, ``stagnated``, ``exhausted``, or ``bounded`` by `MOST_DIRECTORIES`.
    ``looks`` are the directories that it looked into by path, ``left`` those that it would have come to next, with
    their scores, the best first.
    """

    collected: Mapping[str, Child]
    excluded: int
    directories: int
    rounds: int
    end: str
    events: tuple[dict[str, Any], ...]
    looks: Mapping[str, Looked]
    left: tuple[tuple[str, float], ...]


def propagated(own: float, parent: float, alpha: float) -> float:
    """The score of a child: its ``own``, and where its directory has one that of the directory by the share 1 - alpha."""
    return own if parent == 0 else round(alpha * own + (1 - alpha) * parent, SCORE_DECIMALS)


def walk(
    starts: Mapping[str, float],
    initial: Iterable[Child],
    look: Look,
    *,
    limit: int,
    threshold: float = 0.0,
    levels: Collection[int] = (),
    parameters: Parameters,
) -> Walked:
    """Walk from ``starts``, directories with scores, collecting what scores above ``threshold`` and is of ``levels``.

    ``levels`` is empty for all. ``initial`` are records that are collected as they are. Directories are taken by score,
    equal scores by path, each once.
    """
    collected: dict[str, Child] = {}
    excluded = looked = rounds = 0

    def collect(one: Child) -> None:
        known = collected.get(one.path)
        if (not levels or one.level in levels) and (known is None or one.score > known.score):
            collected[one.path] = one

    for one in initial:
        if one.score > threshold:
            collect(one)
        else:
            excluded += 1
    queue = [(-score, path) for path, score in starts.items()]
    heapq.heapify(queue)
    visited: set[str] = set()
    convergence = Convergence(limit, parameters.max_convergence_rounds)
    events: list[dict[str, Any]] = []
    looks: dict[str, Looked] = {}
    end = "exhausted"
    while True:
        size = min(parameters.directories_per_round, MOST_DIRECTORIES - len(visited))
        taken = _next(queue, visited, size)
        if not taken:
            end = end if size else "bounded"
            break
        rounds += 1
        below = 0
        children = list(look([path for path, _ in taken]))
        for (path, parent), found in zip(taken, children, strict=True):
            refused: dict[str, float] = {}
            looks[path] = Looked(rounds, parent, len(found), refused)
            for child in found:
                score = propagated(child.score, parent, parameters.score_propagation_alpha)
                if score <= threshold:
                    below += 1
                    refused[child.path] = score
                    continue
                collect(child._replace(score=score))
                if child.level != FILE_LEVEL and child.path not in visited:
                    heapq.heappush(queue, (-score, child.path))
        excluded += below
        if looked < NAMED_DIRECTORIES:
            events.append(_round(rounds, taken, sum(map(len, children)), below, len(collected)))
        looked += len(taken)
        if convergence.ends({path: one.score for path, one in collected.items()}):
            end = "converged" if convergence.unchanged >= parameters.max_convergence_rounds else "stagnated"
            break
    events.append({"type": "end", "reason": end, "rounds": rounds, "directories": looked})
    left = tuple(_next(queue, visited, len(queue)))
    return Walked(collected, excluded, looked, rounds, end, tuple(events), looks, left)


def _next(queue: list[tuple[float, str]], visited: set[str], size: int) -> list[tuple[str, float]]:
    """The ``size`` best directories that were not visited, which they are then."""
    taken: list[tuple[str, float]] = []
    while queue and len(taken) < size:
        behind, path = heapq.heappop(queue)
        if path not in visited:
            visited.add(path)
            taken.append((path, -behind))
    return taken


def _round(number: int, taken: Sequence[tuple[str, float]], seen: int, below: int, pool: int) -> dict[str, Any]:
    return {
        "type": "round",
        "round": number,
        "directories": [{"uri": str(from_path(path)), "score": score} for path, score in taken],
        "seen": seen,
        "excluded": below,
        "collected": pool,
    }
