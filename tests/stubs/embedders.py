"""An embedding model without a model: hashed bags of words, and it fails, waits and refuses as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.stubs.models import embedding

from openviking.errors import DeadlineExceededError, UnavailableError
from openviking.model.embedding import EmbeddingModel
from openviking.providers.embedder import Refused

Vector = NDArray[np.float32]
DIMENSION = 64


def unavailable(reason: str = "connection refused", **details: Any) -> UnavailableError:
    error = UnavailableError(f"stub: {reason}", service="embedding", reason=reason)
    error.details.update(details)
    return error


class HashEmbedder:
    """An `openviking.providers.embedder.Embedder`: texts that share words are near each other, equal texts are equal.

    ``texts`` are the passages of all calls so far, ``questions`` the questions. ``before`` is called with the texts of
    each call for passages, and may raise; ``error`` is raised by every call while it is set. While ``hang`` is set,
    calls wait until it is cleared, `close` is called or the time is over. A text with ``poison`` is refused.
    """

    def __init__(self, name: str = "hash", *, batch: int = 8) -> None:
        self._model = EmbeddingModel(name, DIMENSION, 512, "", "", "cls", 0.1, 0.9, multilingual=True)
        self._batch = batch
        self._released = threading.Condition()
        self._hang = False
        self._closed = False
        self.texts: list[str] = []
        self.questions: list[str] = []
        self.calls = 0
        self.before: Callable[[Sequence[str]], None] | None = None
        self.error: Exception | None = None
        self.poison = "POISON"

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    @property
    def batch(self) -> int:
        return self._batch

    @property
    def hang(self) -> bool:
        return self._hang

    @hang.setter
    def hang(self, wanted: bool) -> None:
        with self._released:
            self._hang = wanted
            self._released.notify_all()

    def passages(self, texts: Sequence[str], *, timeout: float) -> list[Vector | Refused]:
        with self._released:
            self.calls += 1
        if self.before is not None:
            self.before(texts)
        self._pass(timeout)
        with self._released:
            self.texts += texts
        return [Refused("the text is poisoned") if self.poison in text else vector(text)[None, :] for text in texts]

    def query(self, text: str, *, timeout: float) -> Vector:
        with self._released:
            self.questions.append(text)
        self._pass(timeout)
        return vector(text)

    def close(self) -> None:
        with self._released:
            self._closed = True
            self._released.notify_all()

    def describe(self) -> dict[str, Any]:
        return {"provider": "hash", "model": self._model.name, "dimension": DIMENSION}

    def _pass(self, timeout: float) -> None:
        with self._released:
            if not self._released.wait_for(lambda: self._closed or not self._hang, timeout):
                raise DeadlineExceededError(f"no answer in {timeout:g} s", operation="embedding", timeout=timeout)
            if self._closed:
                raise unavailable("closed", permanent=True)
        if self.error is not None:
            raise self.error


def vector(text: str) -> Vector:
    return np.asarray(embedding(text, DIMENSION), np.float32)
