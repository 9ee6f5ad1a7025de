"""Vectors are made behind the writes: by a thread of its own for all open stores, and by whoever waits for them."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from openviking.errors import OpenVikingError
from openviking.ingest.embedding import PassageTexts, made_vectors, prove_alive, settle_failed
from openviking.ingest.picture_vectors import Readable
from openviking.model.embedding import EmbeddingModel
from openviking.providers.embedder import Embedder
from openviking.service.breaker import Ticket
from openviking.service.embedding import Embedding
from openviking.service.model_calls import begun, started, translated
from openviking.service.outages import Outages
from openviking.store.port import AccountStore
from openviking.store.vectors import LEASE_MS, MadeVector

BEHIND: Final = 1
"""Calls of the lane's own thread under way: an embedder keeps itself busy with one."""

AT_ONCE: Final = 2
"""Calls under way where somebody waits: the lane's own thread takes `BEHIND` of them, the rest is for whoever waits."""

TOO_MANY: Final = 429
"""The status of a service that wants fewer calls: it is asked no more, to prove anything neither."""

LOOKED_THROUGH: Final = 2_000
"""Older passages that are queued at once for a model that is new to them."""

END_S: Final = 0.8
"""So long closing lets calls come to an end by themselves, and again after the embedder was closed."""

RENEWED_S: Final = LEASE_MS / 1000 / 3
"""How often the leases of passages are renewed whose call takes long."""

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Call:
    """One call of the model that is under way for claimed passages."""

    store: AccountStore
    model: EmbeddingModel
    readable: list[Readable]
    ticket: Ticket
    left_behind: bool = False


@dataclass(eq=False)
class Claims:
    """Which part of a store's queue one thread claims passages from; ``failed`` is why vectors could not be stored.

    ``urgent`` is whoever waits, until ``deadline`` (on the monotonic clock) if there is one; it comes before the lane's
    own thread. `openviking.store.vectors.Vectors.claim` explains ``up_to`` and ``below``.
    """

    store: AccountStore
    urgent: bool = False
    up_to: int | None = None
    below: str = ""
    deadline: float | None = None
    texts: PassageTexts = field(default_factory=PassageTexts)
    failed: Exception | None = None


class VectorLane:
    """Claims passages and has the model make their vectors; any process with a lane does the work of all.

    Calls run in threads of their own, a few at once. Whoever waits is served before the lane's own thread. With
    ``running`` False there is no such thread.
    """

    def __init__(
        self, stores: Callable[[], list[AccountStore]], embedding: Embedding, *, running: bool, interval: float
    ) -> None:
        self._stores = stores
        self.embedding = embedding
        self._interval = interval
        self._changed = threading.Condition()
        self._events = 0
        self._stopped = False
        self._calls: set[_Call] = set()
        self._outages = Outages()
        self._told_away: set[str] = set()
        self._looked_through: set[int] = set()
        self._idle: set[int] = set()
        self._asking = False
        self._keeping = False
        self._thread: threading.Thread | None = None
        if running and embedding.enabled:
            self._thread = threading.Thread(target=self._run, name="openviking-vectors", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Look for work now rather than at the next interval."""
        with self._changed:
            self._events += 1
            self._changed.notify_all()

    def waiting(self, store: AccountStore, below: str = "") -> int:
        """How many passages wait for a vector, so far as the model is known."""
        model = self._known()
        if model is None:
            return 0
        self.embedding.use(store, model)
        return store.vectors.waiting(model.fingerprint, below=below)

    def _known(self) -> EmbeddingModel | None:
        """The model if nobody has to be asked, None also for one that is configured wrongly: whoever waits is told."""
        with contextlib.suppress(OpenVikingError):
            return self.embedding.known_model()
        return None

    def stop(self) -> None:
        """End the thread and the calls under way; passages whose vectors are not made by then are queued again."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._calls, END_S)
            hanging = bool(self._calls)
        if hanging:
            begun(self.embedding.close, "openviking-closing")
        with self._changed:
            self._changed.wait_for(lambda: not self._calls, END_S)
            left, self._calls = self._calls, set()
            for call in left:
                call.left_behind = True
        for call in left:
            self._give_back(call)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def begin(self, claims: Claims, model: EmbeddingModel) -> bool:
        """Begin one call for passages that can be claimed; whether there was anything to do and leave to do it."""
        if not self._has_room(claims):
            return False
        ticket = self.embedding.calls.admit()
        if ticket is None:
            return False
        begun_one = False
        try:
            embedder = self.embedding.embedder
            size = max(embedder.batch, 1)
            claimed = claims.store.vectors.claim(model.fingerprint, size, up_to=claims.up_to, below=claims.below)
            if not claimed:
                return False
            try:
                readable = claims.texts.settle(claims.store, model, claimed, sees=self.embedding.sees)
            except BaseException:
                with contextlib.suppress(OpenVikingError):
                    claims.store.vectors.give_back(model.fingerprint, claimed)
                raise
            if claims.texts.away is not None and not claims.urgent:
                self._tell_away(claims)
            if readable:
                begun_one = self._begin_call(_Call(claims.store, model, readable, ticket), claims, embedder)
            return True
        finally:
            if not begun_one:
                self.embedding.calls.withdrawn(ticket)

    def _tell_away(self, claims: Claims) -> None:
        """Log once why the store can't read a text; whoever waits is told when nothing else is left."""
        away, claims.texts.away = claims.texts.away, None
        if away is not None and away.message not in self._told_away:
            self._told_away.add(away.message)
            _log.warning("vectors can't be made: %s", away.message)

    def _has_room(self, claims: Claims) -> bool:
        with self._changed:
            if self._stopped:
                return False
            return len(self._calls) < (AT_ONCE if claims.urgent else BEHIND)

    def _begin_call(self, call: _Call, claims: Claims, embedder: Embedder) -> bool:
        with self._changed:
            stopped = self._stopped
            if not stopped:
                self._calls.add(call)
                # Without a thread for it leases are not renewed: whoever claims a passage then makes it once more.
                self._keeping = self._keeping or started(self._keep_leases, "openviking-vectors-leases")
        if stopped:
            self._give_back(call)
            return False
        timeout = self.embedding.call_timeout
        if not started(lambda: self._carry_out(call, claims, embedder, timeout), "openviking-vectors-call"):
            # The system has no thread left: the caller does it, for as long as they would wait.
            left = timeout if claims.deadline is None else max(claims.deadline - time.monotonic(), 0.001)
            self._carry_out(call, claims, embedder, min(timeout, left))
        return True

    def _carry_out(self, call: _Call, claims: Claims, embedder: Embedder, timeout: float) -> None:
        """Have the model make the vectors and store them; nothing of the store is held while the model works."""
        try:
            made: list[MadeVector] = []
            error: OpenVikingError | None = None
            alive = not call.ticket.probe or self._answers(call, embedder, timeout)
            if alive:
                made, error = self._made(call, embedder, timeout)
                alive = error is None or self._answers(call, embedder, timeout, error)
            if alive:
                self.embedding.calls.succeeded(call.ticket)
            if not call.left_behind:
                call.store.vectors.put(call.model.fingerprint, made)
                settled = {one.hash for one in made}
                rest = [one.passage for one in call.readable if one.passage.hash not in settled]
                if rest and error is not None and alive:
                    settle_failed(call.store, call.model.fingerprint, rest, error)
                elif rest:
                    call.store.vectors.give_back(call.model.fingerprint, rest)
                with self._changed:
                    self._outages.end(call.store)
        except Exception as error:  # noqa: BLE001
            # The edge of the thread: whoever waits is told, and the store is left alone for a while.
            claims.failed = error
            self._note(call.store, error)
            self._give_back(call)
        finally:
            with self._changed:
                self._calls.discard(call)
                self._events += 1
                self._changed.notify_all()

    def _made(self, call: _Call, embedder: Embedder, timeout: float) -> tuple[list[MadeVector], OpenVikingError | None]:
        """What the model makes of the passages, and why not of all."""
        try:
            return made_vectors(call.store, embedder, call.model, call.readable, timeout)
        except Exception as error:  # noqa: BLE001
            # The edge of the call: whatever an embedder raises ends nothing else.
            return [], translated(error)

    def _answers(self, call: _Call, embedder: Embedder, timeout: float, error: OpenVikingError | None = None) -> bool:
        """Whether the model answers, so that ``error`` is the passages' doing; if not, it is left alone for a while."""
        if error is None or (error.details.get("upstream_status_code") != TOO_MANY and not self._stopped):
            try:
                prove_alive(embedder, call.model, timeout)
            except Exception as again:  # noqa: BLE001
                # The edge of the call once more.
                error = translated(again)
            else:
                return True
        if self._stopped:
            self.embedding.calls.withdrawn(call.ticket)
        elif self.embedding.calls.failed(call.ticket, error):
            _log.warning("vectors have to wait: %s", error.message)
        return False

    def _keep_leases(self) -> None:
        """Renew the leases of calls that take long, while there are any."""
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: not self._calls, RENEWED_S):
                    self._keeping = False
                    return
                held = list(self._calls)
            for call in held:
                with contextlib.suppress(OpenVikingError):
                    call.store.vectors.renew(call.model.fingerprint, [one.passage for one in call.readable])

    @staticmethod
    def _give_back(call: _Call) -> None:
        with contextlib.suppress(OpenVikingError):
            call.store.vectors.give_back(call.model.fingerprint, [one.passage for one in call.readable])

    def _note(self, store: AccountStore, error: Exception) -> None:
        """Leave a store alone that failed; what is news is logged."""
        told = error.message if isinstance(error, OpenVikingError) else repr(error)
        with self._changed:
            new = self._outages.note(store, told) and not self._stopped
        if new:
            _log.warning("vectors can't be made: %s", told, exc_info=not isinstance(error, OpenVikingError))

    def _run(self) -> None:
        claims: dict[int, Claims] = {}
        turn = 0
        while not self._stopped:
            seen = self._events
            worked = False
            stores = self._stores()
            # Each has its turn: one with a long backlog keeps no other waiting.
            for number in range(len(stores)):
                store = stores[(turn + number) % len(stores)]
                with self._changed:
                    ready = self._outages.over(store)
                if ready and self._one(store, claims.setdefault(id(store), Claims(store))):
                    worked = True
                    turn += number + 1
                    break
            if not worked:
                self.pause(seen, self._until_due())

    def _one(self, store: AccountStore, claims: Claims) -> bool:
        """Do the next piece for a store; whether there may be more."""
        try:
            model = self.ready_model(store)
            if model is None:
                return False
            more = self.look_through(store, model)
            worked = self.begin(claims, model) or more
            if worked:
                self._idle.discard(id(store))
            elif not self._calls and id(store) not in self._idle:
                self._idle.add(id(store))
                store.vectors.keep_cache()
        except Exception as error:  # noqa: BLE001
            # The edge of the thread: a fault must not end the work for all.
            self._note(store, error)
            return False
        return worked

    def ready_model(self, store: AccountStore) -> EmbeddingModel | None:
        """The model, once the store knows that it is used; None while its service is yet to tell its dimension.

        Raises what the store raises.
        """
        model = self.embedding.known_model()
        if model is None:
            self._ask()
            return None
        if self.embedding.use(store, model):
            self._looked_through.discard(id(store))
        return model

    def _ask(self) -> None:
        """Have the service asked what its vectors are like, unless it is being asked or is to be left alone."""
        with self._changed:
            if self._asking or self._stopped or self.embedding.calls.left() > 0:
                return
            self._asking = True

        def ask() -> None:
            try:
                with contextlib.suppress(OpenVikingError):
                    self.embedding.asked_model()
            finally:
                with self._changed:
                    self._asking = False
                    self._events += 1
                    self._changed.notify_all()

        begun(ask, "openviking-vectors-model")

    def look_through(self, store: AccountStore, model: EmbeddingModel) -> bool:
        """Queue some of the passages that were stored before the model was used; whether there may be more."""
        if id(store) in self._looked_through:
            return False
        if store.vectors.enqueue_missing(model.fingerprint, LOOKED_THROUGH):
            return True
        self._looked_through.add(id(store))
        return False

    @property
    def events(self) -> int:
        """Counts what may have changed what there is to do."""
        return self._events

    @property
    def busy(self) -> bool:
        """Whether calls are under way."""
        return bool(self._calls)

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def pause(self, seen: int, seconds: float) -> None:
        """Wait until something happens after `events` was ``seen``, or the lane is stopped, for ``seconds`` at most."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._events != seen, seconds)

    def _until_due(self) -> float:
        """Seconds until there may be work, unless something happens."""
        wait, left = self._interval, self.embedding.calls.left()
        model = self._known()
        with self._changed:
            pauses = {id(store): self._outages.left(store) for store in self._stores()}
            if len(self._calls) >= BEHIND:
                return wait
        for store in self._stores():
            if pause := pauses.get(id(store), 0.0):
                wait = min(wait, pause)
            elif model is None:
                wait = min(wait, left) if left else wait
            else:
                with contextlib.suppress(OpenVikingError):
                    due = store.vectors.next_due(model.fingerprint)
                    if due is not None:
                        wait = min(wait, max(due / 1000 - time.time(), left, 0.05))
        return wait
