"""A rerank service over HTTP, in whichever wire format it speaks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

from openviking.config.settings import RerankSettings
from openviking.providers.addresses import bearer, without_user
from openviking.providers.remote import Remote
from openviking.providers.rerank.wire import Score, Wire
from openviking.providers.retry import Timekeeper

MAX_DOCUMENTS: Final = 200
"""Of more candidates the best are sent: services refuse longer batches, and nobody reads so far."""

CALLS_AT_ONCE: Final = 8
_BYTES_AROUND: Final = 65_536
_BYTES_PER_DOCUMENT: Final = 65_536


class RerankService:
    """A `Reranker` that posts one batch to a service, once; ``wire`` is the format."""

    share = 1.0
    most = MAX_DOCUMENTS

    def __init__(
        self,
        provider: str,
        wire: Wire,
        settings: RerankSettings,
        *,
        timekeeper: Timekeeper | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._provider = provider
        self._wire = wire
        signs = provider == "vikingdb"
        headers = dict(settings.extra_headers) if signs else bearer(settings.api_key, settings.extra_headers)
        secrets = [settings.api_key, settings.api_secret, settings.ak, settings.sk, *settings.extra_headers.values()]
        self._remote = Remote(
            "rerank", wire.model, wire.url, headers, secrets, limit=CALLS_AT_ONCE, timeout=settings.timeout,
            retries=0, timekeeper=timekeeper, jitter=jitter,
        )  # fmt: skip

    def scores(self, query: str, documents: Sequence[str], *, timeout: float) -> list[Score]:
        """The service's scores; see `Reranker.scores`."""
        if not documents:
            return []
        count = len(documents)
        return self._remote.ask(
            lambda: self._wire.body(query, documents), lambda answer: self._wire.scores(answer, count),
            timeout=timeout, max_bytes=_BYTES_AROUND + count * _BYTES_PER_DOCUMENT, signed=self._wire.signed,
            repeat=False,
        )  # fmt: skip

    def describe(self) -> dict[str, Any]:
        """Provider, model and address."""
        return {"provider": self._provider, "model": self._wire.model, "address": without_user(self._wire.url)}

    def close(self) -> None:
        """End the calls under way, and all connections."""
        self._remote.close()
