"""The use of a reranker: well, badly, slowly and never, and what a search keeps each time (contract/retrieval.md §4.6, §9.3)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.stubs.scripted import Script, Scripted

from openviking.config.settings import RerankSettings
from openviking.errors import UnavailableError
from openviking.service.breaker import Breaker
from openviking.service.reranking import Reranking

Making = Callable[..., Reranking]

DOCUMENTS = ["ferry times", "", "  \n", "bread"]
OWN = [0.2, 0.8, 0.7, 0.4]


def test_blank_documents_are_not_sent_and_keep_their_score(reranking: Making, stub: Scripted) -> None:
    """Case 47."""
    stub.behave(Script(scores=[0.95, 0.05]))
    found = reranking().reranked("q", DOCUMENTS, OWN)
    assert found.scores == (0.95, 0.8, 0.7, 0.05)
    assert found.applied
    assert not found.degraded
    assert [call.documents for call in stub.calls] == [["ferry times", "bread"]]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (Script(mood="badly"), "not JSON"),
        (Script(mood="never"), "no answer after 0.2 s"),
        (Script(status=400, message="too long"), "HTTP 400: too long"),
        (Script(status=401), "HTTP 401"),
        (Script(body="null"), "no results"),
        (Script(body='{"results": [{"index": 9, "relevance_score": 1}]}'), "index 9"),
        (Script(scores=[0.5, 0.5]), "the same score"),
        (Script(scores=[]), "no score that can be used"),
        (Script(scores=[None, None]), "no score that can be used"),
    ],
)
def test_without_a_usable_answer_all_keep_their_scores(
    reranking: Making, stub: Scripted, script: Script, says: str
) -> None:
    """Case 46, and reports of services that misbehave."""
    stub.behave(script)
    began = time.monotonic()
    found = reranking(timeout=0.2).reranked("q", DOCUMENTS, OWN)
    assert time.monotonic() - began < 2
    assert found.scores == tuple(OWN)
    assert [one.stage for one in found.degraded] == ["rerank"]
    assert says in found.degraded[0].reason
    assert len(stub.calls) == 1


def test_after_two_failures_a_service_is_left_alone(reranking: Making, stub: Scripted) -> None:
    stub.behave(Script(status=503, message="down"))
    one = reranking(timeout=5.0)
    for _ in range(5):
        assert "down" in one.reranked("q", DOCUMENTS, OWN).degraded[0].reason
    assert len(stub.calls) == 2


def test_a_refusal_is_no_outage(reranking: Making, stub: Scripted) -> None:
    stub.behave(Script(status=400))
    one = reranking()
    for _ in range(3):
        assert one.reranked("q", DOCUMENTS, OWN).degraded
    assert len(stub.calls) == 3


def test_an_outage_ends(reranking: Making, stub: Scripted) -> None:
    now = [0.0]
    one = reranking(timeout=0.1)
    one.calls = Breaker(1, 10.0, 600.0, clock=lambda: now[0])
    stub.behave(Script(mood="never"))
    assert one.reranked("q", DOCUMENTS, OWN).degraded
    stub.behave()
    assert one.reranked("ferry", DOCUMENTS, OWN).degraded
    assert not stub.calls
    now[0] = 11.0
    assert one.reranked("ferry", DOCUMENTS, OWN).scores == (1.0, 0.8, 0.7, 0.0)


def test_the_window_holds_query_and_document(reranking: Making, stub: Scripted) -> None:
    reranking(max_input_tokens=128).reranked("what " * 300, ["begin " + "x " * 50_000 + "end"], [0.5])
    (call,) = stub.calls
    assert (len(call.query) + len(call.documents[0])) / 4 <= 128
    assert call.documents[0].endswith("end")


def test_a_batch_has_a_limit(reranking: Making, stub: Scripted) -> None:
    own = [1 - number / 1000 for number in range(500)]
    found = reranking().reranked("ferry", [f"ferry {number}" for number in range(500)], own)
    (call,) = stub.calls
    assert len(call.documents) == 200
    assert found.scores[200:] == tuple(own[200:])


def test_what_was_not_read_stays_behind_what_was(reranking: Making, stub: Scripted) -> None:
    """The model's low scores must not bring to the front what the search had behind all that it read."""
    own = [0.9 - number / 1000 for number in range(300)]
    documents = [f"ferry {number}" for number in range(300)]
    stub.behave(Script(scores=[0.05, 0.4, 0.3] + [0.02] * 197))
    found = reranking().reranked("ferry", documents, own, shown=0.1)
    assert found.scores[:3] == (0.05, 0.4, 0.3)
    assert all(0.2999 < score < 0.3 for score in found.scores[200:]), "behind the last that is shown"
    stub.behave(Script(scores=[0.9, 0.05] + [0.8] * 198))
    found = reranking().reranked("ferry", documents, own)
    assert all(score < 0.05 for score in found.scores[200:])
    stub.behave(Script(scores=[0.05, 0.04] + [0.02] * 198))
    found = reranking().reranked("ferry", documents, own, shown=0.1)
    assert found.scores[200:] == tuple(own[200:]), "of those read none is shown: nothing can be behind one"


class Failing:
    """A reranker with a fault of its own."""

    share = 1.0
    most = 10

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def scores(self, query: str, documents: Sequence[str], *, timeout: float) -> list[float | None]:
        assert timeout > 0
        assert bool(query) is bool(documents)
        if isinstance(self.answer, Exception):
            raise self.answer
        return list(self.answer)

    def describe(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        raise AssertionError("it stays its owner's")


@pytest.mark.parametrize(
    "answer", [ZeroDivisionError("oops"), [0.5], [0.5] * 3, UnavailableError("x", service="rerank", reason="x")]
)
def test_a_fault_of_a_reranker_fails_no_search(answer: Any) -> None:
    one = Reranking(RerankSettings(), given=Failing(answer))
    found = one.reranked("q", DOCUMENTS, OWN)
    assert found.scores == tuple(OWN)
    assert found.degraded
    one.close()


def test_closing_ends_a_call_under_way(reranking: Making, stub: Scripted) -> None:
    stub.behave(Script(mood="never"))
    one = reranking(timeout=30.0)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(one.reranked("q", DOCUMENTS, OWN)))
    thread.start()
    stub.wait(lambda calls: len(calls) == 1)
    one.close()
    thread.join(10)
    assert found[0].scores == tuple(OWN)
    assert one.reranked("q", DOCUMENTS, OWN).degraded


@pytest.mark.parametrize(
    ("settings", "threshold"),
    [
        ({}, 0.0), ({"timeout": 3.0}, 0.0), ({"provider": "local"}, 0.0), ({"provider": "local", "threshold": 0.2}, 0.2),
        ({"api_key": "k"}, 0.1), ({"api_key": "k", "threshold": 0.0}, 0.0), ({"threshold": 0.3}, 0.3),
    ],
)  # fmt: skip
def test_the_threshold_of_requests_that_name_none(settings: dict[str, Any], threshold: float) -> None:
    assert Reranking(RerankSettings(**settings)).threshold == threshold


def test_nothing_is_asked_without_need(reranking: Making, stub: Scripted) -> None:
    assert reranking().reranked("q", [], []).scores == ()
    assert reranking().reranked("  ", ["x"], [0.5]).scores == (0.5,)
    assert reranking().reranked("q", [" "], [0.5]).scores == (0.5,)
    assert Reranking(RerankSettings()).reranked("q", ["x"], [0.5]).scores == (0.5,)
    assert not stub.calls
