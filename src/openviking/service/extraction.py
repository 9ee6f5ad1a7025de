"""What is learned from conversations: the chat model that finds it, its deadline and its breaker, and the server's policy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, Final

from openviking.config.settings import ChatSettings, MemorySettings
from openviking.errors import InvalidArgumentError
from openviking.model.session import memory_policy
from openviking.providers.chat import Chat, Completion
from openviking.providers.chat_selection import chat_of
from openviking.service.breaker import Breaker
from openviking.service.guarded import Guarded
from openviking.service.kept_model import KeptModel
from openviking.service.model_calls import begun
from openviking.session.commit import KIND
from openviking.session.memories.learning import NO_MODEL, OFF, Learned, Talk, by_itself, by_model
from openviking.session.memories.policy import Policy, effective
from openviking.store.port import AccountStore

FAILURES: Final = 2
FIRST_PAUSE_S: Final = 10.0
LONGEST_PAUSE_S: Final = 600.0

LOOK_S: Final = 0.05
"""How often a caller that waits for the model looks whether anybody waits for the caller."""

CLOSING_S: Final = 5.0
"""So long closing waits for calls to end whose connection was closed."""

DISABLED: Final = "memory.extraction_enabled is false"
UNWANTED: Final = "the memory policy wants no memories"

_MODEL: Final = Guarded("chat", "memories are made without a model")


class Extraction:
    """The `openviking.session.memories.learning.Learner`: with the chat model ``vlm``, or ``given``, its owner's to close.

    Raises `InvalidArgumentError` for a configured policy that can't be one.
    """

    def __init__(
        self, memory: MemorySettings | None = None, vlm: ChatSettings | None = None, given: Chat | None = None
    ) -> None:
        self._memory = memory or MemorySettings()
        self._vlm = vlm or ChatSettings()
        self._default = checked_policy(self._memory)
        self._model = KeptModel[Chat](lambda: chat_of(self._vlm, "vlm"), given, lambda: _MODEL.unavailable("closed"))
        self._lock = threading.Lock()
        self._calls: set[Future[Completion]] = set()
        self.calls = Breaker(FAILURES, FIRST_PAUSE_S, LONGEST_PAUSE_S)

    @property
    def enabled(self) -> bool:
        """Whether a model is asked."""
        return self._memory.extraction_enabled and (self._model.given is not None or self._vlm != ChatSettings())

    @property
    def slow(self) -> tuple[str, ...]:
        """The kinds of jobs in which a model is asked."""
        return (KIND,) if self.enabled else ()

    def policy(self, told: Mapping[str, Any] | None) -> Policy:
        """The policy of a session that says ``told``; no user has settings of this kind in this version."""
        return effective([told, self._default])

    def learned(self, store: AccountStore, talk: Talk, policy: Policy, stopped: Callable[[], bool]) -> Learned:
        """What is to be done; never raises for a model that fails."""
        if not self._memory.extraction_enabled:
            return Learned(way=OFF, reason=DISABLED)
        if not policy.wants_any:
            return Learned(way=OFF, reason=UNWANTED)
        if not self.enabled:
            return by_itself(talk, policy, NO_MODEL)
        shown = self._memory.prefetch_search_topn
        return by_model(store, talk, policy, lambda messages: self._answer(messages, stopped), shown, stopped)

    def close(self) -> None:
        """Close the model's client unless it was given; calls under way come to an end."""
        self._model.close()
        with self._lock:
            calls, self._calls = self._calls, set()
        if self._model.given is None:
            wait(calls, CLOSING_S)

    def _answer(self, messages: Sequence[Mapping[str, str]], stopped: Callable[[], bool]) -> Completion:
        """The model's answer, waited for as long as somebody waits: whoever drains a queue has a deadline of their own."""
        with self._lock:
            future = begun(lambda: self._asked(messages), "openviking-extraction")
            self._calls = {future, *(one for one in self._calls if not one.done())}
        while not wait([future], LOOK_S).done:
            if stopped():
                raise _MODEL.unavailable("nobody waits for it any more")
        return future.result()

    def _asked(self, messages: Sequence[Mapping[str, str]]) -> Completion:
        chat = self._chat()
        allowed = min(self._memory.extraction_timeout, self._vlm.timeout)
        return _MODEL.ask(self.calls, lambda: chat.complete(messages, timeout=allowed, repeat=False))

    def _chat(self) -> Chat:
        return self._model.get()


def checked_policy(memory: MemorySettings) -> dict[str, Any] | None:
    """The configured policy. Raises `InvalidArgumentError` that names the key."""
    try:
        return memory_policy(dict(memory.policy) or None)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            f"server.user_config_defaults.{error.message}", field="server.user_config_defaults.memory_policy"
        ) from error
