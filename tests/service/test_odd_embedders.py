"""An embedder of somebody else may give anything and raise anything: find answers by words, and a wait ends with a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.stubs.embedders import DIMENSION, HashEmbedder

from openviking import OpenViking
from openviking.errors import DeadlineExceededError, UnavailableError
from openviking.providers.embedder import Refused


class Unspeakable(Exception):  # noqa: N818
    """An error whose representation fails too."""

    def __repr__(self) -> str:
        raise ValueError("no")


class OddEmbedder(HashEmbedder):
    """Gives what the two functions give while they are set."""

    odd_passage: Callable[[], Any] | None = None
    odd_question: Callable[[], Any] | None = None

    def passages(self, texts: Sequence[str], *, timeout: float) -> list[Any]:
        made: list[Any] = super().passages(texts, timeout=timeout)
        return made if self.odd_passage is None else [self.odd_passage() for _ in made]

    def query(self, text: str, *, timeout: float) -> Any:
        made = super().query(text, timeout=timeout)
        return made if self.odd_question is None else self.odd_question()


def unspeakable() -> Any:
    raise Unspeakable


ODD: dict[str, Callable[[], Any]] = {
    "objects": lambda: np.array([object()] * DIMENSION),
    "texts": lambda: np.array(["one"] * DIMENSION),
    "complex numbers": lambda: np.full(DIMENSION, 1j),
    "nothing": lambda: None,
    "a ragged list": lambda: [[1.0], [1.0, 2.0]],
    "an error that can't be told": unspeakable,
}


@pytest.mark.parametrize("what", ODD)
def test_words_answer_where_a_question_has_an_odd_vector(tmp_path: Path, what: str) -> None:
    embedder = OddEmbedder()
    with OpenViking(tmp_path / "data", embedder=embedder, workers=0) as ov:
        ov.write("viking://resources/a.md", "A zebra.\n", "create", wait=True)
        embedder.odd_question = ODD[what]
        found = ov.find("zebra", level=2)
    assert [hit.uri for hit in found.hits] == ["viking://resources/a.md"]
    assert [one.stage for one in found.degraded] == ["vectors"]


@pytest.mark.slow
@pytest.mark.parametrize("what", ODD)
def test_odd_vectors_of_passages_are_not_stored_and_the_model_is_told_of(tmp_path: Path, what: str) -> None:
    embedder = OddEmbedder()
    embedder.odd_passage = ODD[what]
    with OpenViking(tmp_path / "data", embedder=embedder, workers=0) as ov:
        with pytest.raises((DeadlineExceededError, UnavailableError), match="embedding model"):
            ov.write("viking://resources/a.md", "A zebra.\n", "create", wait=True, timeout=1.0)
        assert ov.status()["embedding"]["have"] == 0
        embedder.odd_passage = None
        ov.wait_processed(60)
        assert ov.status()["embedding"]["waiting"] == 0
        assert ov.check() == []


def test_a_reason_that_is_no_text_can_be_stored(tmp_path: Path) -> None:
    embedder = OddEmbedder()
    embedder.odd_passage = lambda: Refused("half of a pair \ud800")
    with OpenViking(tmp_path / "data", embedder=embedder, workers=0) as ov:
        ov.write("viking://resources/a.md", "A zebra.\n", "create", wait=True)
        reasons = {one["error"] for one in ov.status()["embedding"]["refused"]}
    assert reasons == {"half of a pair ?"}
