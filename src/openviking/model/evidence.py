"""What speaks for a hit: its words and its vector, each apart, before anything else changes its score."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """What words and vector say of a passage.

    ``words`` is their score, 0 to below 1, ``covered`` the share of the query, by the rarity of its terms, that the
    passage has at all. ``similarity`` is that of the vectors on the scale of their model, from 0 to 1, None where the passage
    has none, and ``weight`` their share of the score (0 then).
    """

    words: float
    covered: float
    similarity: float | None = None
    weight: float = 0.0

    @property
    def score(self) -> float:
        """The score that both make."""
        return self.at(self.words, self.similarity or 0.0)

    def at(self, words: float, similarity: float) -> float:
        """The score of a passage that words and vector would say this of."""
        return (1 - self.weight) * words + self.weight * similarity
