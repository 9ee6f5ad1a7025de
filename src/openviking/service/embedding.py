"""The embedding model of one OpenViking: made when it is first needed, asked within deadlines, left alone when it fails."""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openviking.config.settings import EmbeddingSettings
from openviking.errors import InvalidArgumentError, OpenVikingError, UnavailableError
from openviking.model.embedding import EmbeddingModel
from openviking.model.hit import Degradation
from openviking.providers.embedder import Embedder, real_numbers
from openviking.service.breaker import Breaker
from openviking.service.kept_model import KeptModel
from openviking.service.model_calls import translated, unavailable, without_quotes
from openviking.service.question_calls import QuestionCalls
from openviking.store.port import AccountStore, QueryVector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STAGE: Final = "vectors"
"""The stage of find that an answer is without when the model does not answer."""

KEPT_QUESTIONS: Final = 1_000
ANYTHING: Final = "status"
"""What a service is asked that is only to show that it answers."""

PICTURE_S: Final = 10.0
"""So long, or as long as for a question, a vector of pictures is waited for."""

RENEWED_S: Final = 1_800.0
"""After so long a store is told again that the model is used."""

LONGEST_CALL_S: Final = 100.0
"""No call for passages may take longer."""

LENGTH_TOLERANCE: Final = 1e-3

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the model says of a question: its record, the vector, and why there is none although there should be one."""

    model: EmbeddingModel | None = None
    vector: QueryVector | None = None
    degraded: tuple[Degradation, ...] = ()


class Embedding:
    """The embedder that ``settings`` name, or ``given``, which stays its owner's to close."""

    def __init__(
        self,
        settings: EmbeddingSettings,
        make: Callable[[EmbeddingSettings], Embedder | None],
        given: Embedder | None = None,
    ) -> None:
        self._settings = settings
        self._kept = KeptModel[Embedder](lambda: make(settings), given, self._gone)
        self._lock = threading.Lock()
        self._model: EmbeddingModel | None = None
        self._used: dict[int, float] = {}
        self._filled: set[int] = set()
        self._questions: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self.calls = Breaker()
        """Of calls for passages."""
        breaker = settings.circuit_breaker
        self.questions = Breaker(breaker.failure_threshold, breaker.reset_timeout, breaker.max_reset_timeout)
        """Of calls for questions, whose deadline is much shorter."""
        self._asking = QuestionCalls(self.questions, settings.query_timeout)

    @property
    def enabled(self) -> bool:
        """Whether there is a model at all; without one words answer alone, and nothing is missing."""
        return self._kept.given is not None or self._settings.provider != "none"

    @property
    def embedder(self) -> Embedder:
        """The embedder, made at the first call. Raises `UnavailableError` after `close` and where there is none."""
        return self._kept.get()

    @property
    def call_timeout(self) -> float:
        """Seconds for one call for passages."""
        return min(self._settings.timeout, LONGEST_CALL_S)

    @property
    def has_model(self) -> bool:
        """Whether the model's record is known by now."""
        return self._model is not None

    def known_model(self) -> EmbeddingModel | None:
        """The model's record if nothing has to be asked for it, else None."""
        if self._model is None and self.enabled:
            embedder = self.embedder
            if embedder.describe().get("dimension"):
                self._model = embedder.model
        return self._model

    def asked_model(self) -> EmbeddingModel:
        """The model's record; the service is asked for its dimension if need be, under the breaker of `calls`.

        Raises `UnavailableError`, also while the service is left alone.
        """
        known = self.known_model()
        if known is not None:
            return known
        ticket = self.calls.admit()
        if ticket is None:
            outage = self.calls.outage
            raise unavailable("left alone" if outage is None else outage.error.message)
        try:
            self._model = self.embedder.model
        except Exception as error:
            found = translated(error)
            if self.calls.failed(ticket, found) and not self._kept.closed:
                _log.warning("vectors have to wait: %s", found.message)
            raise found from error
        except BaseException:
            self.calls.withdrawn(ticket)
            raise
        self.calls.succeeded(ticket)
        return self._model

    def model_in_time(self) -> EmbeddingModel:
        """The model's record, asked for like a question if need be.

        Raises `UnavailableError` or `DeadlineExceededError` if that gives no answer in time, `OpenVikingError` for a model
        that is configured wrongly.
        """
        known = self.known_model()
        if known is None:
            deadline = time.monotonic() + self._settings.query_timeout
            known = self._model = self._asking.within(deadline, lambda: self.embedder.model)
        return known

    def ask_once(self) -> None:
        """See to it that a service has answered once in this process: one that has not is asked, like a question.

        Raises as `model_in_time`.
        """
        here = self._kept.given is not None or self._settings.provider == "builtin"
        if here or self.calls.answered or self.questions.answered:
            return
        self._ask()

    def _ask(self) -> None:
        model = self.model_in_time()
        deadline = time.monotonic() + self._settings.query_timeout
        self._asking.within(deadline, lambda: self._answered(model, ANYTHING, deadline))

    def trouble(self) -> OpenVikingError | None:
        """Why the model can't be used, None if it works.

        A service that has not answered in this process is asked once; whether an outage of questions is over is tried.
        """
        try:
            self.describe()
            if (outage := self.calls.outage) is not None:
                return outage.error
            if self.questions.outage is not None:
                self._ask()
            self.ask_once()
        except OpenVikingError as error:
            return error
        return None

    def use(self, store: AccountStore, model: EmbeddingModel) -> bool:
        """Tell the store that the model is used, now and then again; whether it was told now."""
        last = self._used.get(id(store))
        if last is not None and time.monotonic() - last < RENEWED_S:
            return False
        store.vectors.use(model)
        self._used[id(store)] = time.monotonic()
        return True

    def introduce(self, store: AccountStore) -> None:
        """Tell a store that was just opened which model is used, if that costs nothing; an outage waits.

        A remote model's embedder is not made for that: what is written before is queued when the model is first used.
        """
        if self._kept.given is not None or self._settings.provider == "builtin":
            self.make_known(store)

    def make_known(self, store: AccountStore) -> None:
        """As `introduce`, for whatever model there is, before much is written."""
        if not self.enabled:
            return
        try:
            model = self.known_model()
            if model is not None:
                self.use(store, model)
        except OpenVikingError as error:
            _log.info("the embedding model can't be used yet: %s", error.message)

    def asked(self, store: AccountStore, question: str) -> Asked:
        """What the model says of ``question``, within the deadline for questions; it never raises for a model that fails.

        The model is not asked while no passage of the account has a vector of it.
        """
        if not self.enabled:
            return Asked()
        deadline = time.monotonic() + self._settings.query_timeout
        try:
            model = self.known_model() or self._asking.within(deadline, lambda: self.embedder.model)
            self._model = model
            if not self._has_vectors(store, model):
                return Asked(model)
            values = self._remembered(question)
            if values is None:
                values = self._asking.within(deadline, lambda: self._answered(model, question, deadline))
        except OpenVikingError as error:
            if error.details.get("service") == "store":
                raise
            return Asked(self._model, None, (Degradation(STAGE, without_quotes(error)),))
        return Asked(model, QueryVector(model.fingerprint, values))

    @property
    def sees(self) -> bool:
        """Whether the model makes vectors of pictures."""
        if self._kept.given is not None:
            return bool(getattr(self._kept.given, "sees", False))
        return self.enabled and self._settings.provider != "builtin" and self._settings.input == "multimodal"

    def looked_at(self, store: AccountStore, text: str, pictures: Sequence[str]) -> Asked:
        """What the model makes of ``pictures`` (``data:`` URIs) and ``text`` together; the model must be one that `sees`.

        No vector while no passage of the account has one. Words can't stand in for it, so it raises `UnavailableError` or
        `DeadlineExceededError` for a model that does not answer, `InvalidArgumentError` for pictures that it refuses.
        """
        seconds = max(self._settings.query_timeout, PICTURE_S)
        deadline = time.monotonic() + seconds
        try:
            model = self.model_in_time()
            if not self._has_vectors(store, model):
                return Asked(model)
            key = "\0" + hashlib.sha256("\0".join([text, *pictures]).encode("utf-8", "replace")).hexdigest()
            values = self._remembered(key)
            if values is None:
                values = self._asking.within(deadline, lambda: self._seen(model, key, text, pictures, deadline))
        except OpenVikingError as error:
            if error.details.get("refused"):
                raise InvalidArgumentError(error.message, field="image_url") from error
            raise
        return Asked(model, QueryVector(model.fingerprint, values))

    def _seen(
        self, model: EmbeddingModel, key: str, text: str, pictures: Sequence[str], deadline: float
    ) -> NDArray[np.float32]:
        given = self.embedder.picture(text, pictures, timeout=max(deadline - time.monotonic(), 0.001))  # type: ignore[attr-defined]
        return self._sound(model, key, given)

    def describe(self) -> dict[str, Any]:
        """What people may know of the model; raises `OpenVikingError` for one that is configured wrongly."""
        return {"provider": self._settings.provider, **self.embedder.describe()}

    def _gone(self) -> UnavailableError:
        reason = "closed" if self._kept.closed else "there is no embedding model"
        return UnavailableError(f"The embedding model is {reason}", service="embedding", reason=reason)

    def close(self) -> None:
        """Close the embedder unless it was given; calls under way come to an end."""
        self._kept.close()

    def _has_vectors(self, store: AccountStore, model: EmbeddingModel) -> bool:
        if id(store) in self._filled:
            return True
        if store.vectors.any_made(model.fingerprint):
            self._filled.add(id(store))
            return True
        return False

    def _remembered(self, question: str) -> NDArray[np.float32] | None:
        with self._lock:
            found = self._questions.get(question)
            if found is not None:
                self._questions.move_to_end(question)
            return found

    def _answered(self, model: EmbeddingModel, question: str, deadline: float) -> NDArray[np.float32]:
        given = self.embedder.query(question, timeout=max(deadline - time.monotonic(), 0.001))
        return self._sound(model, question, given)

    def _sound(self, model: EmbeddingModel, question: str, given: object) -> NDArray[np.float32]:
        """``given`` as a vector of the model, remembered as that of ``question``."""
        values = real_numbers(given)
        sound = values is not None and values.shape == (model.dimension,)
        length = math.sqrt(float(values @ values)) if values is not None and sound else math.nan
        if values is None or not 0 < length < math.inf:
            raise unavailable(f"its vector of a question is not {model.dimension} finite numbers")
        if abs(length - 1) > LENGTH_TOLERANCE:
            values = values / length
        self._remember(question, values)
        return values

    def _remember(self, question: str, values: NDArray[np.float32]) -> None:
        with self._lock:
            self._questions[question] = values
            while len(self._questions) > KEPT_QUESTIONS:
                self._questions.popitem(last=False)
