"""What is to be known of an embedding model: how texts go in, and what its vectors mean."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property


@dataclass(frozen=True)
class EmbeddingModel:
    """The record of an embedding model.

    ``name`` says which one, with its revision where that is known. ``window`` is how many of its own tokens it reads, 0
    if unknown. ``query_prefix`` and ``passage_prefix`` are put in front of texts. ``pooling`` says how token vectors
    become one (``cls``, ``mean``; ``remote`` and, of texts and pictures, ``multimodal`` where a service does that). ``lo`` and ``hi`` are the cosines that mean "nothing in common" and "the
    same"; between them similarity grows from 0 to 1. ``multilingual`` is False for a model of English. Vectors have
    ``dimension`` numbers and length 1.
    """

    name: str
    dimension: int
    window: int
    query_prefix: str
    passage_prefix: str
    pooling: str
    lo: float
    hi: float
    multilingual: bool

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with everything that makes vectors incomparable; `lo` and `hi` do not."""
        told = asdict(self)
        for scale in ("lo", "hi", "multilingual"):
            del told[scale]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]

    def similarity(self, cosine: float) -> float:
        """``cosine`` on the scale from 0 (nothing in common) to 1."""
        return min(max((cosine - self.lo) / (self.hi - self.lo), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many passages have a vector, ``have`` of ``of``; ``refused`` of the others never get one.

    Those of which the model can say nothing are in none of these: blank ones, and those in a script it does not know.
    """

    have: int
    of: int
    refused: int = 0
