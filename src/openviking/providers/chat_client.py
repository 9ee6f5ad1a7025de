"""Chat models over HTTP: every service that speaks the OpenAI chat completions protocol."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from openviking.config.settings import ChatSettings
from openviking.errors import OpenVikingError
from openviking.providers.addresses import bearer, without_user
from openviking.providers.chat import ROUTE, Completion
from openviking.providers.failures import CallFailed, shown
from openviking.providers.remote import Remote
from openviking.providers.retry import Timekeeper

MAX_ANSWER_BYTES: Final = 4_000_000


class ChatClient:
    """A `Chat` that asks the service ``provider`` at the address ``base`` over HTTP.

    ``timekeeper`` and ``jitter`` say how pauses between calls pass and vary.
    """

    def __init__(
        self,
        settings: ChatSettings,
        provider: str,
        base: str,
        *,
        timekeeper: Timekeeper | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._provider, self._base = provider, base
        secrets = [settings.api_key, *settings.extra_headers.values()]
        secrets += [value for value in settings.extra_request_body.values() if isinstance(value, str)]
        self._remote = Remote(
            "chat", settings.model, self._base + ROUTE, bearer(settings.api_key, settings.extra_headers), secrets,
            limit=settings.max_concurrent, timeout=settings.timeout, retries=settings.max_retries,
            timekeeper=timekeeper, jitter=jitter,
        )  # fmt: skip
        self._with_temperature = True

    def complete(self, messages: Sequence[Mapping[str, Any]], *, timeout: float, repeat: bool = True) -> Completion:
        """The model's answer to ``messages``; see `Chat.complete`. A temperature that the model refuses is left out."""
        began = time.monotonic()
        try:
            return self._asked(messages, timeout, repeat=repeat)
        except OpenVikingError as error:
            # Models that reason take no temperature.
            if not self._with_temperature or not error.details.get("refused") or "temperature" not in error.message:
                raise
        self._with_temperature = False
        return self._asked(messages, max(timeout - (time.monotonic() - began), 0.001), repeat=repeat)

    def describe(self) -> dict[str, Any]:
        """Provider, model and address."""
        return {"provider": self._provider, "model": self._settings.model, "address": without_user(self._base)}

    def close(self) -> None:
        """End the calls under way, and all connections."""
        self._remote.close()

    def _asked(self, messages: Sequence[Mapping[str, Any]], timeout: float, *, repeat: bool) -> Completion:
        return self._remote.ask(
            lambda: self._body(messages), read_completion, timeout=timeout, max_bytes=MAX_ANSWER_BYTES, repeat=repeat
        )

    def _body(self, messages: Sequence[Mapping[str, Any]]) -> bytes:
        settings = self._settings
        body: dict[str, Any] = {"model": settings.model, "messages": list(messages), "stream": False}
        if self._with_temperature:
            body["temperature"] = settings.temperature
        if settings.max_tokens:
            body["max_tokens"] = settings.max_tokens
        return json.dumps(body | dict(settings.extra_request_body), ensure_ascii=False).encode("utf-8", "replace")


def read_completion(body: bytes) -> Completion:
    """The answer in a chat completion. Raises `CallFailed` if there is none to read."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise CallFailed(
            f"the answer is not JSON: {shown(body[:80].decode('utf-8', 'replace'), ())}", "malformed"
        ) from None
    choices = told.get("choices") if isinstance(told, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        raise CallFailed(f"the answer has no message: {shown(json.dumps(told)[:400], ())}", "malformed")
    usage = told.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Completion(
        _text(message.get("content")), _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    )


def _text(content: Any) -> str:
    """A message's text, which some services give in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**12 else 0
