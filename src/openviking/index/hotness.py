"""How much a record is in use: often and lately (contract/retrieval.md §8.5)."""

from __future__ import annotations

import math
from typing import Final

DAY_MS: Final = 86_400_000

_LONGEST: Final = 1_000.0
"""Half-lives after which nothing is left; more would be too small for a float."""


def hotness(active_count: int, age_ms: int | None, half_life_days: float = 7.0) -> float:
    """From 0 to just below 1: sigmoid(ln(1 + count)), halved with every half-life of age.

    0 where the age is not known; times to come count as now.
    """
    if age_ms is None:
        return 0.0
    half_lives = min(max(age_ms, 0) / (half_life_days * DAY_MS), _LONGEST)
    # The sigmoid of the logarithm of x is x / (1 + x).
    used = 1 + max(active_count, 0)
    return used / (1 + used) * math.exp(-math.log(2) * half_lives)


def warmed(score: float, hot: float, alpha: float) -> float:
    """``score`` with the share ``alpha`` of it replaced by how hot the record is."""
    return (1 - alpha) * score + alpha * hot
