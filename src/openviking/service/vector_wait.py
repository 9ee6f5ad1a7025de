"""Waiting for vectors: whoever waits makes them too, is told what is missing, and never waits for ever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from openviking.errors import DeadlineExceededError, FailedPreconditionError, UnavailableError
from openviking.ingest.prepare import PREPARED
from openviking.model.embedding import EmbeddingModel
from openviking.model.imports import Progress
from openviking.service.vector_lane import Claims, VectorLane
from openviking.store.port import AccountStore
from openviking.text import counted, seconds_told

PATIENCE_S: Final = 600.0
"""After an outage of so long whoever waits without a limit is told."""

_FIRST_LOOK_S: Final = 0.02
_LAST_LOOK_S: Final = 0.5
_COUNTED_S: Final = 0.25
_COUNTED_SHARE: Final = 20
"""So many times as long as it took passes before what waits is counted again."""


class VectorWait:
    """One wait for vectors of a store, for ``limit`` seconds (None: without one) until ``deadline``."""

    def __init__(
        self,
        lane: VectorLane,
        store: AccountStore,
        limit: float | None,
        deadline: float | None,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._lane = lane
        self._store = store
        self._limit = limit
        self._deadline = deadline
        self._progress = progress
        self._most = 0
        self._told = (-1, "")
        self._began = lane.embedding.calls.now

    def until_made(self, below: str | None) -> None:
        """Make and await the vectors of all that is queued now, or of what is at and below ``below`` and tells of it.

        Raises `DeadlineExceededError` that says what is missing; without a limit `UnavailableError` for an error of
        the model that waiting does not mend, or that lasted ten minutes; `FailedPreconditionError` if the lane is
        stopped; what the store raises. Passages that the model refuses are not waited for.
        """
        model = self._model()
        if model is None:
            return
        while self._lane.look_through(self._store, model):
            self._check(None)
        # What others queue meanwhile is not waited for.
        up_to = self._store.vectors.newest(model.fingerprint)
        if up_to:
            self._until_made(Claims(self._store, True, up_to, below or "", self._deadline), model)

    def _until_made(self, claims: Claims, model: EmbeddingModel) -> None:
        look, count_at, waiting = _FIRST_LOOK_S, 0.0, 0
        while True:
            seen = self._lane.events
            began = time.monotonic()
            if began >= count_at:
                waiting = self._store.vectors.waiting(model.fingerprint, up_to=claims.up_to, below=claims.below)
                ended = time.monotonic()
                # Of a long queue that takes its time.
                count_at = ended + max(_COUNTED_SHARE * (ended - began), _COUNTED_S if look <= _FIRST_LOOK_S else 0.0)
                self._tell(waiting)
                if not waiting:
                    return
            self._check(waiting)
            if claims.failed is not None:
                raise claims.failed
            if self._lane.begin(claims, model):
                look = _FIRST_LOOK_S
                continue
            if claims.texts.away is not None and not self._lane.busy:
                raise claims.texts.away
            # Another holds them, all calls are taken, or the model is left alone for a while.
            left = look if self._deadline is None else min(look, max(self._deadline - time.monotonic(), 0.0))
            self._lane.pause(seen, left)
            look = min(2 * look, _LAST_LOOK_S)

    def _model(self) -> EmbeddingModel | None:
        """The model, once it is known; None if there is nothing that it could be asked for."""
        look = _FIRST_LOOK_S
        while (model := self._lane.ready_model(self._store)) is None:
            with self._store.read() as view:
                passages = view.stats(PREPARED).passages
            if not passages:
                return None
            seen = self._lane.events
            self._check(passages)
            left = look if self._deadline is None else min(look, max(self._deadline - time.monotonic(), 0.0))
            self._lane.pause(seen, left)
            look = min(2 * look, _LAST_LOOK_S)
        return model

    def _tell(self, waiting: int) -> None:
        outage = self._lane.embedding.calls.outage
        trouble = "" if outage is None else outage.error.message
        news = (waiting, trouble) != self._told
        self._told, self._most = (waiting, trouble), max(self._most, waiting)
        if self._progress is not None and self._most and news:
            self._progress(Progress("embedding", self._most - waiting, self._most, 0, trouble))

    def _check(self, waiting: int | None) -> None:
        """Raises if the wait is over although vectors are missing."""
        missing = {} if waiting is None else {"vectors": waiting}
        what = "vectors" if waiting is None else counted(waiting, "vectors")
        if self._lane.stopped:
            raise FailedPreconditionError("Closed before the queued work was done; nothing is lost", missing=missing)
        calls = self._lane.embedding.calls
        calls.hasten()
        outage = calls.outage
        why = "" if outage is None else f" (embedder: {outage.error.message})"
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise DeadlineExceededError(
                f"Still to be done after {seconds_told(self._limit or 0.0)}: {what}{why}",
                operation="wait",
                timeout=self._limit or 0.0,
                missing=missing,
            )
        if (
            outage is not None
            and self._limit is None
            and (calls.hopeless_since(self._began) or calls.lasts() > PATIENCE_S)
        ):
            error = UnavailableError(f"Still to be done: {what}{why}", service="embedding", reason=outage.error.message)
            error.details["missing"] = missing
            raise error
