"""Planning of queries: what of a session a chat model gets to see, and a plan within a deadline or none (§4.2, §4.3)."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from openviking.config.settings import ChatSettings, RetrievalSettings
from openviking.errors import InvalidArgumentError, OpenVikingError
from openviking.model.hit import Degradation
from openviking.model.identity import Identity
from openviking.model.query_plan import Plan
from openviking.model.session import session_uri
from openviking.providers.chat import Chat, Completion
from openviking.providers.chat_selection import chat_of
from openviking.retrieve.intent import Conversation, confined, messages_for
from openviking.retrieve.intent_answer import NoPlan, read_plan
from openviking.service.breaker import Breaker
from openviking.service.guarded import Guarded
from openviking.service.kept_model import KeptModel
from openviking.store.port import AccountStore

STAGE: Final = "query_plan"
"""The stage of a search that an answer is without when there is no plan although one was due."""

LOADED: Final = 20
"""The live messages that are looked at."""

FAILURES: Final = 2
FIRST_PAUSE_S: Final = 10.0
LONGEST_PAUSE_S: Final = 600.0

_MODEL: Final = Guarded("chat", "queries are not planned")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan of a search; None where the query itself is to be searched for, and ``degraded`` says if it should not.

    ``tokens`` are those of prompt and answer as the model counted them, ``seconds`` what the model took, ``reading``
    what it took to read what the target is about.
    """

    plan: Plan | None = None
    degraded: tuple[Degradation, ...] = ()
    tokens: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    reading: float = 0.0


class Planning:
    """The chat model that plans: ``planner`` if anything is said of it, else ``vlm``; or ``given``, its owner's to close.

    ``dedicated`` says that it is the former.
    """

    def __init__(
        self,
        retrieval: RetrievalSettings,
        planner: ChatSettings,
        vlm: ChatSettings,
        given: Chat | None = None,
    ) -> None:
        self.dedicated = planner != ChatSettings()
        self._settings, self._section = (planner, "query_planner") if self.dedicated else (vlm, "vlm")
        self._retrieval = retrieval
        self._model = KeptModel[Chat](
            lambda: chat_of(self._settings, self._section), given, lambda: _MODEL.unavailable("closed")
        )
        self.calls = Breaker(FAILURES, FIRST_PAUSE_S, LONGEST_PAUSE_S)

    @property
    def enabled(self) -> bool:
        """Whether there is a model that plans, and it may."""
        return self.has_model and self._retrieval.enable_intent

    @property
    def has_model(self) -> bool:
        """Whether there is a model, for planning or for what else it is good at."""
        return self._model.given is not None or self._settings != ChatSettings()

    @property
    def timeout(self) -> float:
        """Seconds for one call of the model, whoever asks it."""
        return self._settings.timeout

    def planned(
        self,
        store: AccountStore,
        identity: Identity,
        query: str,
        session_id: str | None,
        *,
        context_types: Sequence[str] = (),
        target: str | None = None,
    ) -> Planned:
        """The queries for ``query`` within the caller's ``context_types``, from what was said in the session.

        ``target`` is the path of the first directory that the caller named. There is no plan without a model, with
        ``retrieval.enable_intent`` off, and for a session in which nothing was said; one that fails or can't be read is
        said in ``degraded``. It never raises for a model that fails, nor for a session that is not there.
        """
        if not self.enabled or session_id is None:
            return Planned()
        try:
            conversation = self._conversation(store, identity, session_id)
        except InvalidArgumentError as error:
            return Planned(degraded=(Degradation(STAGE, f"there is no such session: {error.message}"),))
        if not conversation:
            return Planned()
        reads = time.monotonic()
        place = self._abstract(store, target) if target and len(context_types) == 1 else ""
        began = time.monotonic()
        reading = began - reads if place else 0.0
        try:
            answer = self._asked(messages_for(conversation, query, context_types, place))
        except OpenVikingError as error:
            return Planned(
                degraded=(Degradation(STAGE, error.message),), seconds=time.monotonic() - began, reading=reading
            )
        spent = (answer.input_tokens, answer.output_tokens)
        seconds = time.monotonic() - began
        try:
            plan = confined(read_plan(answer.text), context_types)
        except NoPlan as error:
            _log.info("a plan can't be read: %s", error)
            return Planned(None, (Degradation(STAGE, str(error)),), spent, seconds, reading)
        return Planned(plan, (), spent, seconds, reading)

    def describe(self) -> dict[str, Any]:
        """What people may know of the model. Raises `OpenVikingError` for one that is configured wrongly."""
        return self.chat().describe() if self.enabled else {"provider": "none"}

    def close(self) -> None:
        """Close the model's client unless it was given; calls under way come to an end."""
        self._model.close()

    def _conversation(self, store: AccountStore, identity: Identity, session_id: str) -> Conversation:
        path = session_uri(identity.user, session_id).path
        with store.read():
            if store.sessions.get(path) is None:
                return Conversation()
            done = [one for one in store.sessions.archives(path) if one.state == "done"]
            live = store.sessions.live(path)[-LOADED:]
        summary = done[-1].overview if done else ""
        return Conversation(summary, tuple((one.message.role, one.message.text) for one in live))

    def _abstract(self, store: AccountStore, target: str) -> str:
        # What a place is about is a help; a search does not fail for want of it.
        with contextlib.suppress(OpenVikingError), store.read() as view:
            sidecars = view.sidecars(target)
            return "" if sidecars is None else sidecars.abstract
        return ""

    def chat(self) -> Chat:
        """The model, made when it is first needed. Raises `OpenVikingError` for one that is configured wrongly, or closed."""
        return self._model.get()

    def _asked(self, messages: Sequence[dict[str, str]]) -> Completion:
        chat = self.chat()
        allowed = min(self._retrieval.recall_intent_timeout_s, self.timeout)
        return _MODEL.ask(self.calls, lambda: chat.complete(messages, timeout=allowed, repeat=False))
