"""Embedders over HTTP: every service that speaks the OpenAI embeddings protocol."""

from __future__ import annotations

import functools
import hashlib
import json
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from openviking.config.settings import EmbeddingSettings
from openviking.errors import DeadlineExceededError, OpenVikingError
from openviking.model.embedding import EmbeddingModel
from openviking.providers.answers import bytes_allowed, read_answer
from openviking.providers.embedder import HARMLESS, Refused, Unmade
from openviking.providers.endpoint import Endpoint
from openviking.providers.failures import CallFailed, unavailable
from openviking.providers.multimodal import form_of
from openviking.providers.pieces import beginning, sendable, windows
from openviking.providers.retry import Pace, Timekeeper
from openviking.providers.round import Round
from openviking.providers.services import Service, family_of, is_multilingual
from openviking.providers.spread import Spread
from openviking.text import estimate_tokens

Vector = NDArray[np.float32]

MAX_QUESTIONS: Final = 8
"""Questions that are asked at once; they wait for no passages."""

_GROW_AFTER: Final = 32
_LEARN_AGAIN_S: Final = 1.0
_LATE_S: Final = 0.02
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class _Channel:
    """One of the two ways to the service: passages and questions do not wait for each other."""

    endpoint: Endpoint
    pace: Pace
    parameters: Mapping[str, Any]


class OpenAIEmbedder:
    """An `Embedder` that asks a service over HTTP, as ``settings`` say; ``service`` is what is known of it.

    ``timekeeper`` and ``jitter`` say how pauses between calls pass and vary.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        service: Service,
        *,
        timekeeper: Timekeeper | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._service = service
        self._time = timekeeper or Timekeeper()
        self._base = settings.api_base or service.api_base
        self.sees = settings.input == "multimodal"
        self._form = form_of(service.name, multimodal=self.sees)
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        headers |= settings.extra_headers
        secrets = _secrets(settings, self._base)

        def channel(limit: int, parameters: Mapping[str, Any]) -> _Channel:
            endpoint = Endpoint(self._form.address(self._base), headers, secrets, limit)
            return _Channel(endpoint, Pace(self._time, jitter), self._named(parameters))

        self._bulk = channel(settings.max_concurrent, settings.document_param)
        self._questions = channel(MAX_QUESTIONS, settings.query_param)
        self._lock = threading.Lock()
        self._dimension = settings.dimension
        self._asks_dimension = settings.dimension > 0
        self._most = min(
            settings.batch_size, service.max_batch or settings.batch_size, self._form.most or settings.batch_size
        )
        self._size = self._most
        self._full = 0
        self._learning: threading.Thread | None = None
        self._unlearned: CallFailed | None = None
        self._learn_again = 0.0
        self._closed = False

    @property
    def model(self) -> EmbeddingModel:
        """The model's record. Its dimension is asked for once, unless configured, and waited for as by a question."""
        dimension = self._dimension or self._learned()
        family = family_of(self._settings.model)
        low, high = self._settings.cosine_range or (family.lo, family.hi)
        return EmbeddingModel(
            name=self._name,
            dimension=dimension,
            window=0,
            query_prefix=self._settings.query_prefix,
            passage_prefix=self._settings.passage_prefix,
            pooling="multimodal" if self.sees else "remote",
            lo=low,
            hi=high,
            multilingual=is_multilingual(self._settings.model),
        )

    @property
    def batch(self) -> int:
        """As many texts as keep all concurrent calls busy."""
        return self._most * self._settings.max_concurrent

    def passages(self, texts: Sequence[str], *, timeout: float) -> list[Vector | Refused | Unmade]:
        """The vectors of ``texts``, in order; see `Embedder.passages`. What was made before a call failed is given."""
        deadline = self._time.now() + timeout
        self._check_open()
        found: dict[str, Vector | Refused | Unmade] = {
            text: Refused("a blank text has no meaning") for text in texts if not text.strip()
        }
        prefix = self._settings.passage_prefix
        pieces: list[str] = []
        places: dict[str, range] = {}
        for text in texts:
            if text not in found and text not in places:
                cut = windows(sendable(text), self._room(prefix))
                places[text] = range(len(pieces), len(pieces) + len(cut))
                pieces += [prefix + piece for piece in cut]
        settle = self._round(self._bulk, deadline).settle
        settled, failure = Spread(pieces, settle, lambda: self._size, self._settings.max_concurrent).run()
        for text, numbers in places.items():
            if all(number in settled for number in numbers):
                found[text] = _joined([settled[number] for number in numbers])
        if failure is None:
            return [found[text] for text in texts]
        error = self._error(failure, deadline, timeout)
        if not settled:
            raise error
        return [found.get(text, Unmade(error)) for text in texts]

    def query(self, text: str, *, timeout: float) -> Vector:
        """The vector of a question, of shape (dimension,); see `Embedder.query`.

        ``details["refused"]`` of the error tells that it is this question's fault: another may well be answered.
        """
        deadline = self._time.now() + timeout
        self._check_open()
        prefix = self._settings.query_prefix
        cut = beginning(sendable(text), self._room(prefix))
        if not cut.strip():
            raise self._no_question("a blank question has no meaning")
        try:
            found = self._round(self._questions, deadline).settle([prefix + cut])[0]
        except CallFailed as failure:
            raise self._error(failure, deadline, timeout) from failure
        if isinstance(found, CallFailed):
            raise self._error(found, deadline, timeout)
        if isinstance(found, Refused):
            raise self._no_question(f"the question is refused: {found.reason}")
        vector: Vector = found[0]
        return vector

    def picture(self, text: str, pictures: Sequence[str], *, timeout: float, stored: bool = False) -> Vector:
        """The vector of ``pictures`` (``data:`` URIs) together with ``text``, which may be ""; of shape (dimension,).

        ``stored`` ones are no question: they are asked for as passages are.

        Raises as `query` does; only a model that `sees` is asked. Where the service gives a vector of each part, it is
        their mean.
        """
        deadline = self._time.now() + timeout
        self._check_open()
        channel = self._bulk if stored else self._questions
        said = beginning(sendable(text), self._room(self._settings.query_prefix)).strip()
        count = len(pictures) + bool(said) if self._form.each else 1
        turn = channel.pace.enter(deadline)
        try:
            found = self._posted(channel, deadline, self._form.parts(said, pictures), count)
        except CallFailed as failure:
            if failure.kind != "refused":
                channel.pace.failed(turn, failure)
                raise self._error(failure, deadline, timeout) from failure
            channel.pace.succeeded(turn)
            raise self._no_question(f"the picture is refused: {failure.message}") from failure
        except BaseException:
            channel.pace.failed(turn, CallFailed("interrupted", "outage"))
            raise
        channel.pace.succeeded(turn)
        there = [one for one in found if one is not None]
        whole: Vector = np.sum(there, axis=0) if len(there) == count else np.zeros(1, np.float32)
        length = float(np.linalg.norm(whole))
        if not length > 0:
            raise self._no_question("the model gives the picture no vector")
        return (whole / length).astype(np.float32)

    def close(self) -> None:
        """End the calls under way, and all connections."""
        with self._lock:
            self._closed = True
            learning = self._learning
        self._time.stop()
        self._bulk.endpoint.close()
        self._questions.endpoint.close()
        if learning is not None:
            learning.join()

    def describe(self) -> dict[str, Any]:
        """Provider, model, dimension (0: not known yet), address, size of a request, calls at once."""
        return {
            "provider": self._service.name,
            "model": self._name,
            "dimension": self._dimension,
            "address": _without_user(self._base),
            "batch": self._size,
            "max_concurrent": self._settings.max_concurrent,
        }

    def _round(self, channel: _Channel, deadline: float) -> Round:
        return Round(functools.partial(self._ask, channel, deadline), self._plainly, self._shrink)

    def _ask(
        self, channel: _Channel, deadline: float, texts: Sequence[str], *, repeat: bool = True
    ) -> list[Vector | None]:
        """The vectors of one request, which is repeated while that may help and ``deadline`` allows it."""
        attempts = self._settings.max_retries + 1 if repeat else 1
        while True:
            attempts -= 1
            turn = channel.pace.enter(deadline)
            try:
                found = self._once(channel, deadline, texts)
            except CallFailed as failure:
                if failure.kind == "refused":
                    channel.pace.succeeded(turn)
                else:
                    channel.pace.failed(turn, failure)
                # Of many texts that take too long fewer are asked for.
                hopeless = failure.kind == "late" and len(texts) > 1
                if not failure.repeatable or not attempts or hopeless or self._time.now() >= deadline:
                    raise
            except BaseException:
                channel.pace.failed(turn, CallFailed("interrupted", "outage"))
                raise
            else:
                channel.pace.succeeded(turn)
                other = self._questions if channel is self._bulk else self._bulk
                other.pace.recovered()
                self._grow(len(texts))
                return found

    def _once(self, channel: _Channel, deadline: float, texts: Sequence[str]) -> list[Vector | None]:
        return self._posted(channel, deadline, self._form.texts(texts), len(texts))

    def _posted(self, channel: _Channel, deadline: float, asked: Mapping[str, Any], count: int) -> list[Vector | None]:
        body = {**self._settings.extra_body, **channel.parameters, "model": self._settings.model, **asked}
        if self._settings.encoding_format != "float":
            body["encoding_format"] = self._settings.encoding_format
        if self._asks_dimension:
            body[self._service.dimension_parameter] = self._settings.dimension
        answer = channel.endpoint.post(
            json.dumps(body, ensure_ascii=False).encode(),
            timeout=max(min(self._settings.timeout, deadline - self._time.now()), 0.001),
            max_bytes=bytes_allowed(count, self._dimension),
        )
        found = read_answer(answer, count, self._form.found)
        given = next((vector.shape[0] for vector in found if vector is not None), 0)
        with self._lock:
            self._dimension = self._dimension or given
            if given not in (0, self._dimension):
                raise CallFailed(self._mismatch(given), "permanent")
        return found

    def _mismatch(self, given: int) -> str:
        wanted = self._dimension
        if self._settings.dimension:
            return (
                f"{self._settings.model} gives vectors of {given} numbers, and embedding.dense.dimension is {wanted}: "
                f"set it to {given}, or to 0 for what the model gives"
            )
        return (
            f"{self._settings.model} gives vectors of {given} numbers, and gave {wanted} before: another model answers "
            "at this address; start again to use it"
        )

    def _learned(self) -> int:
        """The dimension, asked for in the background: a model that is still being loaded may take its time."""
        self._check_open()
        with self._lock:
            learning = self._learning
            if learning is None or not learning.is_alive():
                if self._unlearned is not None and self._time.now() < self._learn_again:
                    raise unavailable(self._unlearned, self._name)
                learning = self._learning = threading.Thread(
                    target=self._learn, name="openviking-embedding-dimension", daemon=True
                )
                learning.start()
        learning.join(self._settings.query_timeout)
        if self._dimension:
            return self._dimension
        waiting = CallFailed("its dimension is asked for, and no answer has come yet", "late")
        raise unavailable((not learning.is_alive() and self._unlearned) or waiting, self._name)

    def _learn(self) -> None:
        try:
            self._round(self._bulk, self._time.now() + self._settings.timeout).settle([HARMLESS], repeat=False)
        except CallFailed as failure:
            self._unlearned = failure
            self._learn_again = self._time.now() + max(failure.retry_after or 0.0, _LEARN_AGAIN_S)

    def _plainly(self, plainly: bool) -> bool:
        self._asks_dimension = self._settings.dimension > 0 and not plainly
        return self._settings.dimension > 0

    def _shrink(self, size: int) -> None:
        with self._lock:
            self._size = max(min(self._size, size), 1)
            self._full = 0

    def _grow(self, size: int) -> None:
        """After many requests of the present size twice as many texts are tried: a slow hour is not for ever."""
        with self._lock:
            self._full += size == self._size < self._most
            if self._full >= _GROW_AFTER:
                self._size, self._full = min(2 * self._size, self._most), 0

    def _room(self, prefix: str) -> int:
        limit = self._settings.max_input_tokens
        return max(limit - estimate_tokens(prefix), limit // 2)

    def _named(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """A parameter without a name is the one by which the service tells questions from documents."""
        return {name or self._service.task_parameter: value for name, value in parameters.items()}

    def _check_open(self) -> None:
        if self._closed:
            raise unavailable(CallFailed("closed", "permanent"), self._name)

    def _no_question(self, reason: str) -> OpenVikingError:
        error = unavailable(CallFailed(reason, "malformed"), self._name)
        error.details["refused"] = True
        return error

    def _error(self, failure: CallFailed, deadline: float, timeout: float) -> OpenVikingError:
        if failure.kind == "late" and self._time.now() >= deadline - _LATE_S:
            return DeadlineExceededError(
                f"{self._name}: no vectors after {timeout:g} s", operation="embedding", timeout=timeout
            )
        return unavailable(failure, self._name)

    @functools.cached_property
    def _name(self) -> str:
        """What vectors are kept under: the port is not part of it, so that a service may move on its machine."""
        settings = self._settings
        host = urlsplit(self._base).hostname or ""
        name = settings.model_id or f"{settings.model}@{'localhost' if host in _LOOPBACK else host}"
        told = [self._bulk.parameters, self._questions.parameters, settings.extra_body]
        if self.sees:
            told.append({"input": "multimodal"})
        if not any(told):
            return name
        return f"{name}#{hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:8]}"


def _joined(pieces: Sequence[Vector | Refused]) -> Vector | Refused:
    """The vectors of a text from those of its pieces; it is refused if one of them is."""
    refused = next((piece for piece in pieces if isinstance(piece, Refused)), None)
    return refused or np.concatenate([piece for piece in pieces if not isinstance(piece, Refused)])


def _without_user(address: str) -> str:
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def _secrets(settings: EmbeddingSettings, base: str) -> list[str]:
    """What of the settings must never be shown: keys, also as parts of headers, passwords, texts in the body."""
    address = urlsplit(base)
    whole = [settings.api_key, *settings.extra_headers.values()]
    parts = [part for value in settings.extra_headers.values() for part in value.split()]
    bodily = [value for value in settings.extra_body.values() if isinstance(value, str)]
    return [one for one in (*whole, *parts, *bodily, address.username, address.password) if one]
