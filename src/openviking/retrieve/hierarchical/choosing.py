"""From what a walk collected to the hits: directories against their files, copies, hotness (contract/retrieval.md §8.4–8.7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from openviking.index.hotness import hotness, warmed
from openviking.retrieve.hierarchical.parameters import Parameters
from openviking.retrieve.ranking import DIRECTORY_SHARE, Ranked, cut


def chosen(
    pool: Sequence[Ranked], *, limit: int, threshold: float, files: bool, dominance: float = 0.0
) -> list[Ranked]:
    """The ``limit`` best of ``pool``, in order, copies behind all others.

    Where ``files`` are wanted too, a directory comes behind its best file. With a ``dominance`` ratio it is left out
    instead if it has not so many times the score of its best descendant among the hits.
    """
    if dominance <= 0:
        return cut(held_behind(pool) if files else pool, limit, threshold)
    left = list(pool)
    while True:
        best = cut(left, limit, threshold)
        dominated = dominated_by({one.candidate.node.path: one.score for one in best}, _directories(best), dominance)
        if not dominated:
            return best
        left = [one for one in left if one.candidate.node.path not in dominated]


def held_behind(pool: Sequence[Ranked]) -> list[Ranked]:
    """``pool`` with directories at no more than `DIRECTORY_SHARE` of their best file in it."""
    best = _best_below({one.candidate.node.path: one.score for one in pool if not one.candidate.node.is_dir})

    def held(one: Ranked) -> Ranked:
        path = one.candidate.node.path
        if not one.candidate.node.is_dir or path not in best or one.score <= DIRECTORY_SHARE * best[path]:
            return one
        return Ranked(one.candidate, DIRECTORY_SHARE * best[path])

    return [held(one) for one in pool]


def dominated_by(scores: Mapping[str, float], directories: Collection[str], ratio: float) -> set[str]:
    """Those of ``directories`` that score less than ``ratio`` times their best descendant, all by path."""
    best = _best_below(scores)
    return {path for path in directories if path in best and scores[path] < ratio * best[path]}


def heated(best: Sequence[Ranked], counts: Mapping[int, int], now: int, parameters: Parameters) -> list[Ranked]:
    """``best`` by scores that hotness has its share of; ``counts`` say by node how often it was used."""
    if parameters.hotness_alpha == 0:
        return list(best)

    def warm(one: Ranked) -> Ranked:
        node = one.candidate.node
        hot = hotness(counts.get(node.id, 0), now - node.updated_at, parameters.hotness_half_life_days)
        return Ranked(one.candidate, warmed(one.score, hot, parameters.hotness_alpha), one.duplicate_of)

    return sorted(
        (warm(one) for one in best),
        key=lambda one: (one.duplicate_of is not None, -one.score, one.candidate.node.path),
    )


def _directories(best: Sequence[Ranked]) -> set[str]:
    return {one.candidate.node.path for one in best if one.candidate.node.is_dir}


def _best_below(scores: Mapping[str, float]) -> dict[str, float]:
    """By directory the best score of what is below it."""
    best: dict[str, float] = {}
    for path, score in scores.items():
        above = path
        while above:
            above = above.rpartition("/")[0]
            if score > best.get(above, 0.0):
                best[above] = score
    return best
