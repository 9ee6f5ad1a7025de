"""The score of words and vectors together: absolute, below 1, and what it is made of."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.index.fusion import FOREIGN_WEIGHT, LOOKUP_WEIGHT, PENDING, Fusion, fusion
from openviking.index.question import question
from openviking.index.signals import PHRASE, phrases
from openviking.model.embedding import EmbeddingModel

ENGLISH = EmbeddingModel("english", 4, 0, "", "", "cls", 0.35, 0.95, multilingual=False)
ANY_LANGUAGE = EmbeddingModel("any", 4, 0, "", "", "cls", 0.35, 0.95, multilingual=True)
SENTENCE = "how long may a parcel wait in the depot"
CHINESE = "包裹可以在仓库里等多久"


def fused(text: str, model: EmbeddingModel | None = ENGLISH, dense_weight: float | None = None) -> Fusion:
    return fusion(question(text), has_terms=True, model=model, dense_weight=dense_weight)


def test_a_sentence_is_weighed_by_context_type() -> None:
    for kind, weight in (("memory", 0.35), ("resource", 0.7), ("skill", 0.7)):
        assert fused(SENTENCE).weight(kind) == pytest.approx(weight)
        assert fused(SENTENCE).score(kind, 0.5, 0.65) == pytest.approx((1 - weight) * 0.5 + weight * 0.5)


def test_without_a_vector_words_are_the_whole_score() -> None:
    assert fused(SENTENCE).score("resource", 0.42, None) == 0.42
    assert fused(SENTENCE, None).score("resource", 0.42, 0.9) == 0.42


def test_what_is_looked_up_is_left_to_the_words() -> None:
    for text in ("zorblax", "ERR_TLS_0x8F", "who is it"):
        assert fused(text).weight("resource") == fused(text).weight("memory") == LOOKUP_WEIGHT
    assert LOOKUP_WEIGHT < fused("lost parcel").weight("resource") < 0.7


def test_an_english_model_counts_little_for_other_scripts() -> None:
    assert fused(CHINESE).weight("resource") == fused(CHINESE).weight("memory") == FOREIGN_WEIGHT
    assert fused(CHINESE, ANY_LANGUAGE).weight("resource") == pytest.approx(0.7)


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_a_weight_that_is_set_counts_for_every_query(weight: float) -> None:
    for text in (SENTENCE, CHINESE, "zorblax"):
        assert fused(text, dense_weight=weight).weight("memory") == weight
        assert fused(text, dense_weight=weight).weight("resource") == weight
        assert fused(text, dense_weight=weight).score("resource", 0.42, None) == 0.42


def test_where_no_term_can_match_vectors_are_the_whole_score() -> None:
    smiley = fusion(question("🙂"), has_terms=False, model=ENGLISH)
    assert smiley.score("memory", 0.0, 0.65) == pytest.approx(0.5)


@given(
    st.sampled_from(["zorblax", SENTENCE, CHINESE, '"a phrase" here']),
    st.sampled_from([None, 0.0, 0.5, 1.0]),
    st.floats(0, 1, exclude_max=True),
    st.none() | st.floats(-1, 1),
    st.sampled_from(["memory", "resource", "skill"]),
)
def test_every_score_is_below_one_and_the_sum_of_its_parts(
    text: str, weight: float | None, words: float, cosine: float | None, kind: str
) -> None:
    one = fused(text, dense_weight=weight)
    score = one.score(kind, words, cosine)
    assert 0 <= score < 1
    parts = one.parts(kind, (("a", words / 4), ("b", words / 4 * 3)), cosine)
    assert math.isclose(math.fsum(value for _, value in parts), score, abs_tol=1e-12)
    assert ((PENDING, 0.0) in parts) is (cosine is None)


def test_parts_are_named_and_the_largest_words_come_first() -> None:
    names = [name for name, _ in fused(SENTENCE).parts("resource", (("a", 0.1), ("b", 0.3), ("c", 0.1)), 0.8)]
    assert names == ["words:b", "words:a", "words:c", "vectors"]
    assert [name for name, _ in fused(SENTENCE, None).parts("resource", (("a", 0.1),), None)] == ["words:a"]
    assert [name for name, _ in fused("x", dense_weight=1.0).parts("resource", (("a", 0.1),), 0.8)] == ["vectors"]


def test_a_phrase_gains_a_share_of_what_is_missing() -> None:
    two = phrases(("Lost  pilot", "the harbour", "lost pilot"))
    assert two.gain(0.5, "a LOST\npilot of the harbour") == pytest.approx(PHRASE * 0.5)
    assert two.gain(0.5, "a lost pilot") == pytest.approx(PHRASE * 0.25)
    assert two.gain(0.5, "pilot lost, harbour") == 0
    assert not phrases(())
    assert phrases(()).gain(0.5, "anything") == 0
    assert two.possible({"lost", "pilot"}, {"lost", "pilot", "harbour"})
    assert not two.possible({"lost"}, {"lost", "pilot", "harbour"})
    assert 0.99 + two.gain(0.99, "lost pilot, the harbour") < 1


def test_of_a_settled_passage_no_vector_is_awaited() -> None:
    assert fused(SENTENCE).parts("resource", [("depot", 0.4)], None) == [("words:depot", 0.4), (PENDING, 0.0)]
    assert fused(SENTENCE).parts("resource", [("depot", 0.4)], None, settled=True) == [("words:depot", 0.4)]


@given(
    st.sampled_from([SENTENCE, CHINESE, "zorblax", "ERR_TLS_0x8F and more", "lost parcel"]),
    st.sampled_from([None, ENGLISH, ANY_LANGUAGE]),
    st.sampled_from([None, 0.0, 0.3, 1.0]),
    st.sampled_from(["memory", "resource", "skill"]),
    st.booleans(),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
    st.none() | st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(sorted),
)
def test_no_score_falls_where_words_or_cosine_grow(
    text: str,
    model: EmbeddingModel | None,
    weight: float | None,
    kind: str,
    has_terms: bool,
    words: list[float],
    cosines: list[float] | None,
) -> None:
    one = fusion(question(text), has_terms=has_terms, model=model, dense_weight=weight)
    low, high = (None, None) if cosines is None else cosines
    assert one.score(kind, words[0], low) <= one.score(kind, words[1], low) + 1e-12
    assert one.score(kind, words[0], low) <= one.score(kind, words[0], high) + 1e-12
