"""The embedding model that comes with OpenViking: no key, no network, threads of its own."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openviking.errors import DeadlineExceededError, OpenVikingError
from openviking.model.embedding import EmbeddingModel
from openviking.providers.embedder import Refused, Unmade
from openviking.providers.inference import Encoder, closed, unavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

BUILTIN: Final = EmbeddingModel(
    name="bge-small-en-v1.5-int8@6c9c6101a956",
    dimension=384,
    window=512,
    query_prefix="Represent this sentence for searching relevant passages: ",
    passage_prefix="",
    pooling="cls",
    lo=0.35,
    hi=0.95,
    multilingual=False,
)
"""bge-small-en-v1.5 of BAAI, quantised to int8. Its revision is the beginning of the file's SHA-256."""

FOLDER: Final = Path(__file__).with_name("bundled") / "bge-small-en-v1.5-int8"
"""Where the model's files are, with their licence and origin."""

DIGESTS: Final = {
    "model.onnx": "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
"""The SHA-256 of the model's files."""

# Nine tenths of a contended core go to a search. Not the lowest priority: a thread that hardly ever runs might be
# stopped while it holds the interpreter's lock.
_NICENESS: Final = 10
_TEXTS_PER_THREAD: Final = 16


class BuiltinEmbedder:
    """An `Embedder` that runs bge-small-en-v1.5 in this process.

    Passages are made by ``threads`` threads of low priority (0: half of the cores, at least one), questions in the
    thread that asks; neither waits for the other. The same text gives the same bits in any of them. ``folder`` holds
    the model's files; they are verified and loaded at the first text.
    """

    def __init__(self, *, threads: int = 0, folder: Path = FOLDER) -> None:
        self._threads = threads if threads > 0 else max(_cores() // 2, 1)
        self._folder = folder
        self._lock = threading.Lock()
        self._encoder: Encoder | None = None
        self._closed = False
        self._pool = ThreadPoolExecutor(self._threads, "openviking-embedding", _lower_priority)

    @property
    def model(self) -> EmbeddingModel:
        """The record of bge-small-en-v1.5; loads nothing."""
        return BUILTIN

    @property
    def batch(self) -> int:
        """16 texts for each thread, about a second of work."""
        return _TEXTS_PER_THREAD * self._threads

    def passages(self, texts: Sequence[str], *, timeout: float) -> list[Vector | Refused | Unmade]:
        """The vectors of ``texts``, each of shape (windows, 384), in order.

        A text of more than 50,000 tokens is `Refused`. What was made before it fails, is closed or the time is over is
        given, and the rest is `Unmade`. Raises where nothing was made: `UnavailableError` if the model cannot be loaded
        or fails, and once it is closed; `DeadlineExceededError` after ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        encoder = self._loaded()

        def go_on() -> None:
            if self._closed:
                raise closed()
            if time.monotonic() >= deadline:
                raise _late(timeout)

        made: dict[int, Future[Vector | Refused]] = {}
        try:
            # The longest first, so that all threads come to their end together.
            for number in sorted(range(len(texts)), key=lambda number: -len(texts[number])):
                made[number] = self._submit(encoder, texts[number], go_on)
            done, rest = wait_for(made.values(), max(deadline - time.monotonic(), 0), FIRST_EXCEPTION)
            failed = [error for one in done if (error := one.exception())]
            error = failed[0] if failed else _late(timeout) if rest else None
            if isinstance(error, OpenVikingError) and len(failed) < len(done):
                unmade = Unmade(error)
                return [_given(made[number], done, unmade) for number in range(len(texts))]
            if error is not None:
                raise error
            return [made[number].result() for number in range(len(texts))]
        finally:
            for one in made.values():
                one.cancel()

    def query(self, text: str, *, timeout: float) -> Vector:
        """The vector of a question, of shape (384,); only its first 512 tokens count, instruction included.

        Raises as `passages` does.
        """
        deadline = time.monotonic() + timeout
        encoder = self._loaded()
        if time.monotonic() >= deadline:
            raise _late(timeout)
        return encoder.query(BUILTIN.query_prefix + text)

    def token_vectors(self, text: str) -> tuple[list[int], Vector]:
        """The tokens of a text, 510 at most, with a vector of length 1 for each; made in the thread that asks.

        Raises `UnavailableError` if the model cannot be loaded or fails, and once it is closed.
        """
        return self._loaded().token_vectors(text)

    def close(self) -> None:
        """End the threads and let go of the model; may be called again. Calls under way raise `UnavailableError`."""
        with self._lock:
            self._closed = True
            if self._encoder is not None:
                self._encoder.stop()
            self._encoder = None
        # What waits in the pool is not cancelled but run, and raises at once: who waits for it must be told.
        self._pool.shutdown()

    def describe(self) -> dict[str, Any]:
        """Provider, model, dimension, window, threads, and whether the model is in memory."""
        return {
            "provider": "builtin",
            "model": BUILTIN.name,
            "dimension": BUILTIN.dimension,
            "window": BUILTIN.window,
            "threads": self._threads,
            "loaded": self._encoder is not None,
        }

    def _loaded(self) -> Encoder:
        with self._lock:
            if self._closed:
                raise closed()
            if self._encoder is None:
                self._encoder = Encoder(self._folder, DIGESTS, window=BUILTIN.window)
            return self._encoder

    def _submit(self, encoder: Encoder, text: str, go_on: Callable[[], None]) -> Future[Vector | Refused]:
        with self._lock:
            if self._closed:
                raise closed()
            try:
                return self._pool.submit(encoder.passage, BUILTIN.passage_prefix + text, go_on)
            except RuntimeError as error:  # the interpreter is ending, or no thread can be started
                message = f"The built-in embedding model has no thread: {error}"
                raise unavailable(message, reason=str(error)) from error


def _given(
    future: Future[Vector | Refused], done: set[Future[Vector | Refused]], unmade: Unmade
) -> Vector | Refused | Unmade:
    return unmade if future not in done or future.exception() else future.result()


def _late(timeout: float) -> DeadlineExceededError:
    message = f"The built-in embedding model was not ready within {timeout:g} s"
    return DeadlineExceededError(message, operation="embedding", timeout=timeout)


def _cores() -> int:
    # A container or `taskset` may give a process fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _lower_priority() -> None:
    # Only Linux takes a thread's id here; elsewhere it would be that of some process.
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS)
