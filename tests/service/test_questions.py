"""The vector of a question: asked once, only where it is of use, and never waited for beyond its deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.stubs.embedders import HashEmbedder, Vector, unavailable

from openviking import OpenViking
from openviking.errors import DeadlineExceededError, InvalidArgumentError
from openviking.model.hit import FindResult
from openviking.service import embedding as embedding_module
from openviking.service.question_calls import QUESTIONS_AT_ONCE

ROOT = "viking://resources"


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def ov(place: Path, embedder: HashEmbedder) -> Iterator[OpenViking]:
    with OpenViking(place, embedder=embedder, workers=0) as door:
        for number in range(5):
            door.write(f"{ROOT}/d/f{number}.md", f"zorblax{number} lives in the ice\n", "create")
        door.wait_processed(60)
        yield door


def test_a_question_is_asked_once(ov: OpenViking, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ov.find("who lives in the ice", explain=True).to_dict()
    for limit in (1, 5):
        assert ov.find("  who lives in the ice ", limit=limit).degraded == ()
    assert ov.find("who lives in the ice", explain=True).to_dict() == first
    assert embedder.questions == ["who lives in the ice"]
    monkeypatch.setattr(embedding_module, "KEPT_QUESTIONS", 2)
    for question in ("one", "two", "one", "three", "one", "two"):
        ov.find(question)
    assert embedder.questions[1:] == ["one", "two", "three", "two"]


def test_the_model_is_not_asked_in_vain(place: Path, embedder: HashEmbedder, tmp_path: Path) -> None:
    config = tmp_path / "ov.conf"
    config.write_text('{"retrieval": {"dense_weight": 0}}')
    with OpenViking(place, embedder=embedder, config=config, workers=0) as ov:
        ov.write(f"{ROOT}/a.md", "zorblax\n", "create", wait=True)
        ov.wait_processed(60)
        found = ov.find("zorblax", level=2)
        assert (found.degraded, found.vectors.have) == ((), 1)
        assert len(ov.find("", context_type="resource")) > 0
        ov.grep(ROOT, "zorblax")
    assert embedder.questions == []


@pytest.mark.parametrize("wrong", [-0.1, 1.1, True, "0.5", float("nan")])
def test_a_share_that_is_none_is_refused(place: Path, wrong: float) -> None:
    with pytest.raises(InvalidArgumentError, match=r"dense_weight is .* from 0 to 1"):
        OpenViking(place, dense_weight=wrong)
    assert not place.exists()


@pytest.mark.usefixtures("ov")
def test_the_share_is_the_callers(place: Path, embedder: HashEmbedder) -> None:
    with OpenViking(place, embedder=embedder, dense_weight=1, workers=0) as vectors:
        best = vectors.find("zorblax3 lives", level=2, explain=True).hits[0]
        assert best.uri == f"{ROOT}/d/f3.md"
        assert [name for name, value in best.explain or () if value] == ["vectors"]
    with OpenViking(place, embedder=embedder, dense_weight=0, workers=0) as words:
        best = words.find("zorblax3 lives", level=2, explain=True).hits[0]
        assert {name.partition(":")[0] for name, _ in best.explain or ()} == {"words"}


@pytest.mark.slow
def test_many_questions_at_once_end_in_time(ov: OpenViking, embedder: HashEmbedder) -> None:
    embedder.hang = True
    took: list[float] = []
    results: list[FindResult] = []

    def ask(number: int) -> None:
        start = time.monotonic()
        results.append(ov.find(f"zorblax{number % 5} {number}", level=2))
        took.append(time.monotonic() - start)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(took) == 40
    assert max(took) < 4
    assert all(found.hits and [one.stage for one in found.degraded] == ["vectors"] for found in results)
    # Those that got a turn, and a few that got one at the last moment.
    assert len(embedder.questions) <= QUESTIONS_AT_ONCE + 8
    embedder.hang = False


@pytest.mark.parametrize("details", [{}, {"upstream_status_code": 429, "retry_after": 120.0}], ids=str)
def test_a_trouble_of_passages_is_none_of_questions(
    ov: OpenViking, embedder: HashEmbedder, details: dict[str, float]
) -> None:
    def busy(_: Sequence[str]) -> None:
        raise unavailable("too many passages", **details)

    embedder.before = busy
    before = embedder.calls
    ov.write(f"{ROOT}/a.md", "gulls\n", "create")
    with pytest.raises(DeadlineExceededError, match="too many passages"):
        ov.wait_processed(0.3)
    calls = embedder.calls
    for number in range(3):
        assert ov.find(f"gulls {number}").degraded == ()
    # And an answer to a question ends no pause that passages were told to make.
    with pytest.raises(DeadlineExceededError, match="too many passages"):
        ov.wait_processed(0.3)
    assert embedder.calls == calls
    assert calls - before == (1 if details else 2)


@pytest.mark.slow
def test_questions_whose_calls_hang_keep_no_other_waiting(ov: OpenViking, embedder: HashEmbedder) -> None:
    """An embedder that does not keep to its deadline holds all the calls there may be."""
    released = threading.Event()
    asked: list[str] = []

    def stuck(text: str, *, timeout: float) -> Vector:
        asked.append(text)
        assert released.wait(60)
        raise unavailable(f"at last, after {timeout} s")

    embedder.query = stuck  # type: ignore[method-assign]
    threads = [threading.Thread(target=ov.find, args=(f"zorblax {number}",)) for number in range(QUESTIONS_AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(asked) == QUESTIONS_AT_ONCE
    start = time.monotonic()
    assert ov.find("one more zorblax").degraded
    assert time.monotonic() - start < 1
    released.set()


def test_a_question_that_is_refused_closes_the_model_to_nobody(ov: OpenViking, embedder: HashEmbedder) -> None:
    embedder.error = unavailable("the question is refused", refused=True)
    for number in range(5):
        assert ov.find(f"odd {number}").degraded
    embedder.error = None
    assert ov.find("even").degraded == ()


def test_a_question_that_fails_is_asked_again(ov: OpenViking, embedder: HashEmbedder) -> None:
    embedder.error = unavailable("a moment")
    assert ov.find("who is there").degraded
    embedder.error = None
    assert ov.find("who is there").degraded == ()
    assert embedder.questions == ["who is there"] * 2


@pytest.mark.parametrize("odd", [np.zeros(64), np.full(64, np.nan), np.ones(63), np.ones((1, 64))])
def test_a_vector_that_is_none_is_not_searched_with(
    ov: OpenViking, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch, odd: NDArray[np.float64]
) -> None:
    monkeypatch.setattr(embedder, "query", lambda *_, **__: odd.astype(np.float32))
    found = ov.find("zorblax3", level=2)
    assert found.hits[0].uri == f"{ROOT}/d/f3.md"
    assert "64 finite numbers" in found.degraded[0].reason


def test_a_system_without_threads_to_spare_asks_all_the_same(
    ov: OpenViking, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    assert ov.find("who lives in the ice").degraded == ()
    ov.write(f"{ROOT}/a.md", "gulls\n", "create")
    monkeypatch.undo()
    assert embedder.questions == ["who lives in the ice"]
