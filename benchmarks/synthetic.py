"""An embedding model that costs nothing, for measuring everything but the model: vectors in clusters, as real ones are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openviking.model.embedding import EmbeddingModel
from openviking.providers.embedder import Refused

CLUSTERS = 1000
SPREAD = 0.8
"""Length of what is a vector's own, beside the 1 of its cluster's centre."""


class SyntheticEmbedder:
    """An `Embedder` whose vectors depend on nothing but the text, as near to each other as those of a real model."""

    def __init__(self, dimension: int = 384) -> None:
        self._dimension = dimension
        chance = np.random.default_rng(1)
        self._common = _unit(chance.standard_normal(dimension))
        self._centres = _unit(chance.standard_normal((CLUSTERS, dimension)) + 1.5 * np.sqrt(dimension) * self._common)

    @property
    def model(self) -> EmbeddingModel:
        """Its record; the cosines of unrelated texts are about .5, as with bge-small."""
        return EmbeddingModel(
            name="synthetic", dimension=self._dimension, window=0, query_prefix="", passage_prefix="", pooling="hash",
            lo=0.35, hi=0.95, multilingual=True,
        )  # fmt: skip

    @property
    def batch(self) -> int:
        """Passages of one call."""
        return 512

    def passages(self, texts: Sequence[str], *, timeout: float) -> list[NDArray[np.float32] | Refused]:
        """A vector of each text."""
        del timeout
        return [self._vector(text)[None] for text in texts]

    def query(self, text: str, *, timeout: float) -> NDArray[np.float32]:
        """The vector of a question."""
        del timeout
        return self._vector(text)

    def close(self) -> None:
        """Nothing is held."""

    def describe(self) -> dict[str, Any]:
        """What it is."""
        return {"provider": "synthetic", "model": "synthetic", "dimension": self._dimension}

    def _vector(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
        own = np.random.default_rng(seed).standard_normal(self._dimension, dtype=np.float32)
        own *= SPREAD / np.linalg.norm(own)
        return _unit(self._centres[seed % CLUSTERS] + own)


def _unit(values: NDArray[Any]) -> NDArray[np.float32]:
    return (values / np.linalg.norm(values, axis=-1, keepdims=True)).astype(np.float32)
