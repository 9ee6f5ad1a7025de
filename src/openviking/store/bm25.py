"""BM25 over weighted fields, as an absolute score.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), §3.6 (fields are weighted
before saturation); idf as in Lucene, ln(1 + (N − df + ½)/(df + ½)), which is never negative. Lengths are compared with
a constant instead of the account's mean: so a passage's score does not change when others are added, and notes of one
line and chapters stand fairly side by side in one account. All values were chosen by evals (docs/evals.md).
"""

from __future__ import annotations

import math
from typing import Final

K1: Final = 1.2
B: Final = 0.9
PIVOT: Final = 80
"""The length in words of a passage that is neither favoured nor punished."""

SHORTEST: Final = 20
"""Being shorter than this is no further advantage."""

TITLE_WEIGHT: Final = 1.5
HEADING_WEIGHT: Final = 1.5
BODY_WEIGHT: Final = 1.0
NAME_WEIGHT: Final = 1.0
TAG_WEIGHT: Final = 0.5

FIXED: Final = K1 * (1 - B)
PER_WORD: Final = K1 * B / PIVOT
"""What saturates a frequency: a part that is the same for all passages, and one for each word of a passage."""


def idf(passages: int, containing: int) -> float:
    """Inverse document frequency of a term that ``containing`` of ``passages`` passages have."""
    containing = min(containing, passages)
    return math.log(1 + (passages - containing + 0.5) / (containing + 0.5))


def saturation(frequency: float, length: int) -> float:
    """The share 0 ≤ x < 1 of a term's largest contribution, for its weighted frequency and the passage's length."""
    return frequency / (frequency + FIXED + PER_WORD * max(length, SHORTEST))
