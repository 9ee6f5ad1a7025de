"""The reranker without a service: late interaction over the token vectors of the built-in embedding model."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from openviking.errors import DeadlineExceededError
from openviking.providers.builtin import BUILTIN, BuiltinEmbedder

MOST: Final = 20
"""Documents that are compared: each costs a pass of the model, 10 to 50 ms the first time."""

SHARE: Final = 0.3
"""The weight beside the search's own score, measured (docs/evals.md)."""

LOW: Final = 0.5
"""The mean similarity that means "nothing in common"; 1 means the same text."""

CACHE_BYTES: Final = 64_000_000
"""Token vectors that are kept: about 300 long passages."""

Tokens = NDArray[np.float16]


class LateReranker:
    """A `Reranker` by MaxSim: the mean, over a query's tokens, of each one's best similarity to a token of the document.

    Khattab and Zaharia, 2020 (ColBERT), here over an encoder that was not trained for it. ``embedder`` stays its owner's
    to close; None loads the model for this alone.
    """

    share = SHARE
    most = MOST

    def __init__(self, embedder: BuiltinEmbedder | None = None) -> None:
        self._owns = embedder is None
        self._embedder = embedder or BuiltinEmbedder(threads=1)
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, Tokens] = OrderedDict()
        self._bytes = 0

    def scores(self, query: str, documents: Sequence[str], *, timeout: float) -> list[float | None]:
        """The similarity of each document, from 0 to 1; see `Reranker.scores`. What was compared is remembered."""
        deadline = time.monotonic() + timeout
        asked = self._tokens(query)
        found: list[float | None] = []
        for document in documents:
            if time.monotonic() >= deadline:
                raise DeadlineExceededError(
                    f"The built-in model compared {len(found)} of {len(documents)} documents within {timeout:g} s",
                    operation="rerank", timeout=timeout,
                )  # fmt: skip
            found.append(self._similarity(asked, document))
        return found

    def describe(self) -> dict[str, Any]:
        """Provider and model."""
        return {"provider": "local", "model": BUILTIN.name}

    def close(self) -> None:
        """Forget everything, and close the model if it is this one's own."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0
        if self._owns:
            self._embedder.close()

    def _similarity(self, asked: Tokens, document: str) -> float | None:
        held = self._remembered(document)
        if not len(asked) or not len(held):
            return None
        best = (asked.astype(np.float32) @ held.astype(np.float32).T).max(axis=1)
        return min(max((float(best.mean()) - LOW) / (1 - LOW), 0.0), 1.0)

    def _remembered(self, document: str) -> Tokens:
        key = hashlib.sha256(document.encode("utf-8", "replace")).digest()
        with self._lock:
            if (found := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return found
        made = self._tokens(document)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self._bytes += made.nbytes
            while self._bytes > CACHE_BYTES:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return made

    def _tokens(self, text: str) -> Tokens:
        return self._embedder.token_vectors(text)[1].astype(np.float16)
