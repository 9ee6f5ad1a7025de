"""A scripted rerank service, and settings that name it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.stubs.scripted import Scripted

from openviking.config.settings import RerankSettings
from openviking.service.reranking import Reranking


@pytest.fixture(scope="session")
def running() -> Iterator[Scripted]:
    with Scripted() as stub:
        yield stub


@pytest.fixture
def stub(running: Scripted) -> Scripted:
    running.behave()
    return running


@pytest.fixture
def reranking(stub: Scripted) -> Iterator[Callable[..., Reranking]]:
    """``reranking(setting=…)``: a use of the scripted service; closed at the end."""
    made: list[Reranking] = []

    def making(**settings: Any) -> Reranking:
        given = {"provider": "openai", "api_base": stub.rerank_url, "api_key": "k", **settings}
        made.append(Reranking(RerankSettings(**given)))
        return made[-1]

    yield making
    stub.behave()
    for one in made:
        one.close()
