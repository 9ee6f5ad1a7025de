"""A stub of a model service, embedders that ask it, and a time that passes without waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.stubs.models import StubModels

from openviking.config.settings import EmbeddingSettings
from openviking.providers.openai import OpenAIEmbedder
from openviking.providers.retry import Timekeeper
from openviking.providers.services import SERVICES


class QuickTime(Timekeeper):
    """A clock that only waiting moves: ``waits`` are the pauses that were made."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def now(self) -> float:
        return 1000.0 + sum(self.waits)

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return super().wait(0)


@pytest.fixture
def stub() -> Iterator[StubModels]:
    with StubModels(dimension=64) as running:
        yield running


@pytest.fixture
def quick() -> QuickTime:
    return QuickTime()


@pytest.fixture
def remote(stub: StubModels) -> Iterator[Callable[..., OpenAIEmbedder]]:
    """``remote(provider="openai", time=…, setting=…)``: an embedder that asks the stub; closed at the end."""
    made: list[OpenAIEmbedder] = []

    def making(provider: str = "openai", *, time: Timekeeper | None = None, **settings: Any) -> OpenAIEmbedder:
        given = {"model": "stub", "api_base": stub.url, "dimension": 64, "timeout": 30.0, **settings}
        made.append(OpenAIEmbedder(EmbeddingSettings(**given), SERVICES[provider], timekeeper=time, jitter=lambda: 0.5))
        return made[-1]

    yield making
    for one in made:
        one.close()
