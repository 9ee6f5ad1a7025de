"""The chat model that says what pictures show: asked within a deadline, left alone during an outage."""

from __future__ import annotations

import logging
from typing import Any, Final

from openviking.config.settings import ChatSettings
from openviking.errors import DeadlineExceededError, OpenVikingError
from openviking.ingest.describing import NoDescription, messages_for, read_description
from openviking.providers.chat import Chat
from openviking.providers.chat_selection import chat_of
from openviking.providers.embedder import HARMLESS
from openviking.service.breaker import Breaker
from openviking.service.guarded import Guarded
from openviking.service.kept_model import KeptModel

DESCRIBE_S: Final = 60.0
"""So long, or for ``vlm.timeout``, a model may look at one picture."""

PROOF_S: Final = 20.0
"""So long it may take for the text that tells an outage from a picture that it can't do anything with."""

FIRST_PAUSE_S: Final = 5.0
LONGEST_PAUSE_S: Final = 600.0
TOO_MANY: Final = 429

_MODEL: Final = Guarded("chat", "pictures are not described")
_log = logging.getLogger(__name__)


class Refusal(Exception):  # noqa: N818
    """That the model answers and does not take this picture: it is not to be asked about it again."""


class Describing:
    """The model ``vlm`` as far as it describes pictures; or ``given``, its owner's to close."""

    def __init__(self, vlm: ChatSettings, given: Chat | None = None) -> None:
        self._settings = vlm
        self._model = KeptModel[Chat](lambda: chat_of(vlm, "vlm"), given, lambda: _MODEL.unavailable("closed"))
        self.calls = Breaker(first=FIRST_PAUSE_S, longest=LONGEST_PAUSE_S)

    @property
    def enabled(self) -> bool:
        """Whether there is a model, and it may look at pictures (``vlm.describe_images``)."""
        there = self._model.given is not None or bool(self._settings.model)
        return there and self._settings.describe_images

    @property
    def timeout(self) -> float:
        """Seconds that it has for a picture."""
        return min(self._settings.timeout, DESCRIBE_S)

    @property
    def longest(self) -> float:
        """Seconds after which one picture is settled in any case, with the proof that the model works."""
        return self.timeout + min(self.timeout, PROOF_S)

    @property
    def model(self) -> str:
        """The model's name, which is kept with what it says."""
        return self._settings.model or str(self._chat().describe().get("model", ""))

    def described(self, picture: str, timeout: float) -> str | None:
        """What ``picture`` (a ``data:`` URI) shows; None while the model is left alone.

        Raises `NoDescription` for an answer that is none and for a call that failed although the model works, `Refusal`
        for a picture that it does not take, `OpenVikingError` for a model that does not answer.
        """
        ticket = self.calls.admit()
        if ticket is None:
            return None
        try:
            answer = self._chat().complete(messages_for(picture), timeout=timeout, repeat=False)
        except Exception as error:
            found = error if isinstance(error, OpenVikingError) else _MODEL.unavailable(repr(error))
            if found is not error:
                _log.exception("the chat model failed")
            if found.details.get("refused"):
                self.calls.succeeded(ticket)
                raise Refusal(found.message) from error
            hurried = timeout < self.timeout and isinstance(found, DeadlineExceededError)
            if self._model.closed or hurried:
                # It was ended from here: that says nothing of the model.
                self.calls.withdrawn(ticket)
                raise found from error
            if self._works(found):
                self.calls.succeeded(ticket)
                raise NoDescription(found.message) from error
            if self.calls.failed(ticket, found):
                _log.warning("%s: %s", _MODEL.loss, found.message)
            raise found from error
        except BaseException:
            self.calls.withdrawn(ticket)
            raise
        self.calls.succeeded(ticket)
        return read_description(answer.text)

    def _works(self, error: OpenVikingError) -> bool:
        """Whether the model answers a text, so that ``error`` has to do with the picture."""
        if (
            self._model.closed
            or error.details.get("permanent")
            or error.details.get("upstream_status_code") == TOO_MANY
        ):
            return False
        try:
            self._chat().complete(
                [{"role": "user", "content": HARMLESS}], timeout=min(self.timeout, PROOF_S), repeat=False
            )
        except Exception:  # noqa: BLE001
            # The edge of the call: whatever it raises, the model does not work.
            return False
        return True

    def describe(self) -> dict[str, Any]:
        """What people may know of the model, and ``error`` during an outage. Raises for one that is configured wrongly."""
        if not self.enabled:
            return {"provider": "none"}
        outage = self.calls.outage
        return self._chat().describe() | ({} if outage is None else {"error": outage.error.message})

    def close(self) -> None:
        """Close the model's client unless it was given; calls under way come to an end."""
        self._model.close()

    def _chat(self) -> Chat:
        return self._model.get()
