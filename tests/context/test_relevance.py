"""The floor of a context: what is too weak to be told, and what an answer says of it."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from openviking.config.file import load_settings
from openviking.config.settings import Settings
from openviking.context.candidates import Candidate
from openviking.context.exclusion import excluded
from openviking.context.parameters import checked_context
from openviking.context.relevance import BESIDE_BEST, COVERED, FOLLOWS, MEASURED, UNKNOWN, WORDS, Floor, Scale, floor_of
from openviking.context.selection import select
from openviking.errors import InvalidArgumentError
from openviking.model.embedding import EmbeddingModel
from openviking.model.evidence import Evidence
from openviking.providers.builtin import BUILTIN

from .conftest import ME, World

FLOOR = Floor(Scale(0.43, 0.46, 0.54))
NEEDED = 0.7 * 0.43 + 0.3 * WORDS
"""The floor of a passage with a word of the query, for a whole sentence."""
OTHER_MODEL = EmbeddingModel("other@1", 4, 0, "", "", "remote", 0.2, 0.9, multilingual=True)


def one(name: str, evidence: Evidence | None, kind: str = "resource", score: float | None = None) -> Candidate:
    given = score if score is not None else evidence.score if evidence else 0.0
    return Candidate(f"viking://resources/{name}", "resources", given, context_type=kind, evidence=evidence)


def sentence(words: float, similarity: float, covered: float = 0.1) -> Evidence:
    return Evidence(words, covered, similarity, 0.7)


CASES: dict[str, tuple[Evidence | None, bool]] = {
    "words and vector reach it together": (sentence(0.2, 0.41), True),
    "neither is enough": (sentence(0.05, 0.42), False),
    "a word, hardly said, counts": (sentence(0.001, 0.47), True),
    "without any word more likeness is asked for": (sentence(0.0, 0.47, 0.0), False),
    "it reads alike, without a word": (Evidence(0.0, 0.0, 0.55, 0.35), True),
    "a name in a sentence is there": (sentence(0.2, 0.1, COVERED), True),
    "a name in a sentence is hardly there": (sentence(0.2, 0.1, COVERED - 0.01), False),
    "no vector, and words": (Evidence(WORDS, 0.1), True),
    "no vector, and next to no words": (Evidence(WORDS - 0.01, 0.1), False),
    "nothing was weighed": (None, True),
}


@pytest.mark.parametrize("name", CASES)
def test_what_reaches_the_floor(name: str) -> None:
    evidence, relevant = CASES[name]
    kept, held = FLOOR.sifted([one("a.md", evidence)])
    assert (bool(kept), held.below) == (relevant, 0 if relevant else 1)


def test_weaker_ones_follow_one_of_their_kind() -> None:
    strong, tail = one("a.md", sentence(0.3, 0.4)), one("b.md", sentence(0.0, FOLLOWS * NEEDED / 0.7 + 0.01))
    weak = one("c.md", sentence(0.0, FOLLOWS * NEEDED / 0.7 - 0.01))
    memory = one("d.md", Evidence(0.05, 0.0, 0.42, 0.35), "memory")
    assert FLOOR.sifted([strong, tail, weak, memory])[0] == [strong, tail]
    assert FLOOR.sifted([tail, weak, memory])[0] == []


def test_beside_a_clear_answer_what_scores_far_below_it_is_left_out() -> None:
    clear, beside = one("a.md", sentence(0.5, 0.8)), one("b.md", sentence(0.2, 0.5))
    far = one("c.md", sentence(0.2, 0.42))
    assert far.score < BESIDE_BEST * clear.score < beside.score
    kept, held = FLOOR.sifted([clear, beside, far])
    assert (kept, held.below) == ([clear, beside], 1)
    assert FLOOR.sifted([beside, far])[0] == [beside, far]
    unweighed = one("d.md", None, score=0.01)
    assert FLOOR.sifted([clear, unweighed])[0] == [clear, unweighed]


def test_an_address_stays_with_any_of_its_finds() -> None:
    finds = [one("a.md", sentence(0.0, 0.1)), one("a.md", sentence(0.4, 0.8))]
    kept, held = FLOOR.sifted(finds)
    assert (kept, held.below) == (finds, 0)


def test_age_and_rerank_say_nothing_about_relevance() -> None:
    assert FLOOR.sifted([one("a.md", sentence(0.4, 0.8), score=0.01)])[0]
    assert not FLOOR.sifted([one("a.md", sentence(0.0, 0.2), score=0.9)])[0]


def test_a_fixed_floor_is_a_plain_score() -> None:
    found = [one("a.md", sentence(0.0, 0.1), score=0.5), one("b.md", sentence(0.4, 0.8), score=0.49), one("c.md", None)]
    kept, held = Floor(fixed=0.5).sifted(found)
    assert (kept, held.floor, held.below, held.best) == ([found[0], found[2]], 0.5, 1, 0.5)


def test_the_setting_and_the_model_choose_the_floor() -> None:
    assert (floor_of(False, BUILTIN), floor_of(0.3, BUILTIN)) == (None, Floor(fixed=0.3))
    built_in, other, none = (floor_of(True, model) for model in (BUILTIN, OTHER_MODEL, None))
    assert built_in == Floor(MEASURED["bge-small-en-v1.5-int8"])
    assert other == none == Floor(Scale(UNKNOWN, UNKNOWN))


def test_an_answer_tells_of_the_floor() -> None:
    request = checked_context(query="a")
    weak = [one("a.md", sentence(0.0, 0.3)), one("b.md", sentence(0.0, 0.4)), one("x.md", sentence(0.4, 0.8))]
    exclusion = excluded(["viking://resources/x.md"], user="ann", today=date(2026, 3, 15))
    chosen = select(request, weak, exclusion, FLOOR)
    assert (chosen.candidates, chosen.excluded, chosen.held.below) == ((), 1, 2)
    assert chosen.held.floor == pytest.approx(NEEDED)
    assert chosen.held.best == pytest.approx(0.28)


WEAK: dict[str, Any] = {"query": "quetzalcoatl lattice chromodynamics sourdough zeppelin"}


def test_a_context_has_no_weak_entry_and_recall_has(world: World) -> None:
    empty = world.services.context.context(ME, **WEAK).result
    assert (empty.entries, empty.rendered, empty.stats["floor"]) == ((), "", WORDS)
    assert empty.stats["below_floor"] > 0
    assert "nothing relevant" in empty.stats["empty"]
    assert "0.080" in empty.stats["empty"]
    asked = world.services.context.context(ME, **WEAK, score_threshold=0.0).result
    assert asked.entries
    assert "floor" not in asked.stats
    recalled = world.services.context.recall(ME, query="zeppelin", score_threshold=0.0).result
    assert recalled.entries
    assert "below_floor" not in recalled.stats


@pytest.mark.parametrize("value", [True, False, 0.3])
def test_what_can_be_configured(tmp_path: Path, value: bool | float) -> None:
    assert configured(tmp_path, value).retrieval.context_floor == value


@pytest.mark.parametrize("value", [0, 1.5, "on"])
def test_what_can_not_be_configured(tmp_path: Path, value: object) -> None:
    with pytest.raises(InvalidArgumentError, match="between 0 and 1"):
        configured(tmp_path, value)


def configured(folder: Path, value: object) -> Settings:
    path = folder / "ov.conf"
    path.write_text(json.dumps({"retrieval": {"context_floor": value}}), "utf-8")
    return load_settings(path, env={}, home=folder, system=folder)
