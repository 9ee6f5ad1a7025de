"""The reranker without a service: late interaction with the built-in model (decisions on `rerank.local`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openviking.config.settings import RerankSettings
from openviking.errors import DeadlineExceededError, UnavailableError
from openviking.providers.builtin import BuiltinEmbedder
from openviking.providers.late import CACHE_BYTES, MOST, SHARE, LateReranker
from openviking.service.reranking import Reranking

QUERY = "when does the ferry leave"
DOCUMENTS = ["The boat to the island departs at nine o'clock.", "Whisk the butter with sugar.", QUERY]


@pytest.fixture(scope="module")
def embedder() -> Iterator[BuiltinEmbedder]:
    one = BuiltinEmbedder(threads=1)
    yield one
    one.close()


def test_what_says_the_same_is_near(embedder: BuiltinEmbedder) -> None:
    one = LateReranker(embedder)
    near, far, same = one.scores(QUERY, DOCUMENTS, timeout=60)
    assert near is not None
    assert far is not None
    assert 0 <= far < near < 1
    assert same == pytest.approx(1.0, abs=0.01)
    # What was compared is remembered, and gives the same.
    held = one._bytes
    assert one.scores(QUERY, DOCUMENTS, timeout=60) == [near, far, same]
    assert one._bytes == held > 0
    one.close()
    assert embedder.token_vectors("still there")[1].shape[1] == 384


def test_a_text_longer_than_the_window_counts_by_its_beginning(embedder: BuiltinEmbedder) -> None:
    ids, vectors = embedder.token_vectors("word " * 9_000)
    assert len(ids) == len(vectors) == 510
    assert LateReranker(embedder).scores("", ["x", ""], timeout=60) == [None, None]


def test_what_is_kept_is_bounded(embedder: BuiltinEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openviking.providers.late.CACHE_BYTES", 20_000)
    one = LateReranker(embedder)
    one.scores("q", [f"a document with the number {number}" for number in range(20)], timeout=60)
    assert 0 < one._bytes <= 20_000 < CACHE_BYTES
    assert one._bytes == sum(kept.nbytes for kept in one._kept.values())


def test_the_deadline_holds(embedder: BuiltinEmbedder) -> None:
    with pytest.raises(DeadlineExceededError, match="0 of 3"):
        LateReranker(embedder).scores(QUERY, DOCUMENTS, timeout=0)


def test_it_is_added_to_the_score_of_twenty(embedder: BuiltinEmbedder) -> None:
    one = Reranking(RerankSettings(provider="local", timeout=60.0), lambda: embedder)
    documents = [DOCUMENTS[1]] * MOST + DOCUMENTS
    own = [0.5] * len(documents)
    found = one.reranked(QUERY + " ?", [*DOCUMENTS, *documents], [0.5, 0.5, 0.5, *own])
    assert found.applied
    assert found.scores[0] > found.scores[1] >= 0.5 * (1 - SHARE)
    assert max(found.scores[MOST:]) < min(found.scores[:MOST]), "what is not read stays behind"
    # The built-in model reads no Chinese.
    assert one.reranked("渡轮什么时候开", DOCUMENTS, own[:3]).scores == (0.5, 0.5, 0.5)
    one.close()


def test_it_loads_a_model_of_its_own_if_need_be() -> None:
    one = LateReranker()
    one.close()
    with pytest.raises(UnavailableError, match="closed"):
        one.scores(QUERY, DOCUMENTS, timeout=1)
