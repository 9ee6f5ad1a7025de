"""One absolute score out of what words and vectors say of a passage.

The score is a function of query, record and account alone, 0 ≤ score < 1, so that thresholds, quotas and merged lists
compare like with like. A weighted sum and not reciprocal ranks (Cormack et al., 2009): ranks depend on the other hits, and
lost on four sets of five (docs/evals.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openviking.index.question import Question
from openviking.model.embedding import EmbeddingModel

MEMORY_WEIGHT: Final = 0.35
"""The vectors' share of a memory's score for a whole sentence: short notes are found by their words first."""

OTHER_WEIGHT: Final = 0.7
"""The same of a resource or skill."""

LOOKUP_WEIGHT: Final = 0.2
"""The vectors' share where a single word or an exact name is looked up."""

FOREIGN_WEIGHT: Final = 0.2
"""The most that vectors count where their model does not know the script of the query."""

SAME: Final = 1 - 1e-6
"""The similarity of what the model can't tell apart; below 1, as every score is."""

PENDING: Final = "vectors:pending"
"""The name of the contribution of a vector that is yet to be made."""

NONE: Final = "vectors:none"
"""The same of a vector that will never be made, because the model refused the passage."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """How one query weighs words against vectors, by context type; ``score`` is what a store asks of a `Query`.

    ``model`` is None where there is no vector of the query.
    """

    model: EmbeddingModel | None
    memory_weight: float
    other_weight: float

    def weight(self, context_type: str) -> float:
        """The vectors' share for a passage that has a vector."""
        return self.memory_weight if context_type == "memory" else self.other_weight

    def score(self, context_type: str, words: float, cosine: float | None) -> float:
        """The passage's score; without a cosine the words' score is the whole of it."""
        if cosine is None or self.model is None:
            return words
        weight = self.weight(context_type)
        return (1 - weight) * words + weight * self.similarity(cosine)

    def similarity(self, cosine: float) -> float:
        """``cosine`` on the model's scale, from 0 to just below 1."""
        return 0.0 if self.model is None else min(self.model.similarity(cosine), SAME)

    def parts(
        self, context_type: str, terms: Sequence[tuple[str, float]], cosine: float | None, *, settled: bool = False
    ) -> list[tuple[str, float]]:
        """What `score` is made of, by name: each matched term with its share, the largest first, then the vectors.

        Where the query has a vector and the passage has none yet, `PENDING` stands for it with the value 0; one that is
        ``settled`` gets none.
        """
        weight = 0.0 if cosine is None or self.model is None else self.weight(context_type)
        shares = sorted(terms, key=lambda pair: (-pair[1], pair[0]))
        parts = [(f"words:{term}", (1 - weight) * share) for term, share in shares] if weight < 1 else []
        if self.model is not None and not (settled and cosine is None):
            parts.append((PENDING, 0.0) if cosine is None else ("vectors", weight * self.similarity(cosine)))
        return parts


def fusion(
    asked: Question, *, has_terms: bool, model: EmbeddingModel | None, dense_weight: float | None = None
) -> Fusion:
    """How a query is scored with vectors of ``model``, which is None if it has no vector.

    The weights by context type are those of a whole sentence; a question of fewer words, or of exact names, gives the
    vectors less (`Question.fullness`), down to `LOOKUP_WEIGHT`. One whose script an English model can't read gives them
    `FOREIGN_WEIGHT` at most. ``dense_weight`` replaces all of this: 0 for words alone, 1 for vectors alone. Where there
    is no term to match (``?!``, a smiley), vectors are the whole score, as words are where there is no vector.
    """
    if not has_terms:
        return Fusion(model, 1.0, 1.0)
    if dense_weight is not None:
        return Fusion(model, dense_weight, dense_weight)
    most = FOREIGN_WEIGHT if model is not None and not model.multilingual and asked.unspaced else 1.0
    memory, other = (
        min(LOOKUP_WEIGHT + (weight - LOOKUP_WEIGHT) * asked.fullness, most) for weight in (MEMORY_WEIGHT, OTHER_WEIGHT)
    )
    return Fusion(model, memory, other)
