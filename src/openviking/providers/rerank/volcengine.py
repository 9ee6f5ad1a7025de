"""The rerank format of Volcengine's VikingDB, whose requests are signed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from openviking.providers.failures import CallFailed
from openviking.providers.rerank.signature import signature
from openviking.providers.rerank.wire import Score, decoded, encoded, list_at, number

ROUTE: Final = "/api/vikingdb/rerank"
SERVICE: Final = "vikingdb"
REGION: Final = "cn-beijing"
INSTRUCTION: Final = "Say whether the document answers the query or fits what it looks for."


class Volcengine:
    """``POST https://{host}/api/vikingdb/rerank``; ``host`` may be an address with its scheme."""

    def __init__(
        self,
        host: str,
        model: str,
        version: str,
        *,
        ak: str,
        sk: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.url = (host if "://" in host else f"https://{host}") + ROUTE
        self.model = model
        self._version = version
        self._ak = ak
        self._sk = sk
        self._clock = clock

    def body(self, query: str, documents: Sequence[str]) -> bytes:
        """Each document is a list of one text, and so is the query."""
        return encoded(
            {
                "model_name": self.model, "model_version": self._version, "data": [[{"text": one}] for one in documents],
                "query": [{"text": query}], "instruction": INSTRUCTION,
            }
        )  # fmt: skip

    def signed(self, body: bytes) -> Mapping[str, str]:
        """The signature of this request, at this moment."""
        return signature(self.url, body, ak=self._ak, sk=self._sk, service=SERVICE, region=REGION, moment=self._clock())

    def scores(self, answer: bytes, count: int) -> list[Score]:
        """``result.data[].score``, one for each document in order."""
        data = list_at(decoded(answer), "result", "data")
        if len(data) != count:
            raise CallFailed(f"{len(data)} scores for {count} documents", "malformed")
        return [number(one.get("score")) if isinstance(one, dict) else None for one in data]
