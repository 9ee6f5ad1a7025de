"""Asks a chat model for the digest of a context, within a deadline; without an answer there is none (contract/retrieval.md §5.10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from openviking.config.settings import RetrievalSettings
from openviking.context.answer import ContextResult
from openviking.context.digest import Digest, digest_messages, read_digest
from openviking.context.rendering import defused
from openviking.errors import DeadlineExceededError, OpenVikingError
from openviking.model.hit import Degradation
from openviking.providers.chat import Completion
from openviking.service.breaker import Breaker
from openviking.service.guarded import Guarded
from openviking.service.planning import FAILURES, FIRST_PAUSE_S, LONGEST_PAUSE_S, Planning

STAGE: Final = "rewrite"
"""The stage of an answer that is without its digest."""

_MODEL: Final = Guarded("chat", "contexts are not digested")


class Digests:
    """The model that plans queries, condensing what was found."""

    def __init__(self, planning: Planning, retrieval: RetrievalSettings) -> None:
        self._planning = planning
        self._seconds = retrieval.recall_rewrite_timeout_s
        # A digest has more time than a plan: that the model is too slow for the one says nothing of the other.
        self.calls = Breaker(FAILURES, FIRST_PAUSE_S, LONGEST_PAUSE_S)

    def digest(self, result: ContextResult) -> tuple[Digest, tuple[Degradation, ...]]:
        """The digest that the request of ``result`` wants, and why it is without one; it never raises for a model that fails."""
        request, wanted = result.request, result.request.rewrite
        if not result.entries or wanted is False or (wanted == "auto" and not self._planning.dedicated):
            return Digest(), ()
        if not self._planning.has_model:
            return Digest("failed"), (Degradation(STAGE, "no chat model is configured that could write it"),)
        messages = digest_messages(request.query, result.rendered, request.rewrite_max_bullets)

        allowed = min(self._seconds, self._planning.timeout)

        def asked() -> Completion:
            return self._planning.chat().complete(messages, timeout=allowed, repeat=False)

        try:
            answer = _MODEL.ask(self.calls, asked)
        except DeadlineExceededError as error:
            return Digest("timeout"), (Degradation(STAGE, error.message),)
        except OpenVikingError as error:
            return Digest("failed"), (Degradation(STAGE, error.message),)
        served = [entry.uri for entry in result.entries]
        digest = read_digest(answer.text, served, request.rewrite_max_bullets)
        # It is put into a prompt as the block is: a tag that the model copied would begin or end an entry there.
        text = defused(digest.text.encode("utf-8", "replace").decode())
        spent = {"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens}
        return replace(digest, text=text, usage=spent if any(spent.values()) else None), ()
