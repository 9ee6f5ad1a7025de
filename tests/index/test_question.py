"""What kind of question a query is taken for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openviking.index.question import Question, question


@pytest.mark.parametrize(
    ("text", "words", "exact"),
    [
        ("ERR_TLS_0x8F", 1, 1),
        ("what did we decide about ERR_TLS_0x8F?", 2, 1),
        ("getUserByEmail", 1, 1),
        ("HTTPServer", 1, 1),
        ("os.path", 1, 1),
        ("v2.13.7-rc2", 1, 1),
        ("C++ or F#", 2, 2),
        ("snake_case", 1, 1),
        ("zorblax", 1, 0),
        ("naïveté", 1, 0),
        ("multi-line", 1, 0),
        ("the U.S. economy", 2, 0),
        ("on the 18th in the 1990s", 2, 0),
        ("a file and the files", 1, 0),
        ("who is it", 0, 0),
        ("?!", 0, 0),
        ("", 0, 0),
        ('who wrote "to be or not to be"', 1, 0),
        ('the "lost harbour pilot" story', 4, 3),
        ("what does `run job` do", 2, 2),
        ("项目北极星", 2.5, 0),
    ],
)
def test_words_and_exact_names(text: str, words: float, exact: float) -> None:
    asked = question(text)
    assert (asked.words, asked.exact) == (words, exact)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('"to be or not to be"', ("to be or not to be",)),
        ("“lost pilot” and 「北 極」", ("lost pilot", "北 極")),
        ('the "pilot"', ()),
        ("it's 5\" long", ()),
        ('"" ""', ()),
    ],
)
def test_quoted_parts_of_several_words_are_phrases(text: str, phrases: tuple[str, ...]) -> None:
    assert question(text).phrases == phrases


@pytest.mark.parametrize(
    ("text", "unspaced"),
    [
        ("戏曲锣鼓用什么乐器", True),
        ("图书馆在哪里 library", True),
        ("what does 锣 mean in English", False),
        ("도서관은 어디에", True),
        ("ห้องสมุด", True),
        ("where is the library", False),
        ("где библиотека", False),
        ("?!", False),
    ],
)
def test_scripts_without_blanks(text: str, unspaced: bool) -> None:
    assert question(text).unspaced is unspaced


def test_fullness_grows_with_words_and_falls_with_exact_names() -> None:
    assert question("zorblax").fullness == 0
    assert question("lost pilot").fullness == 0.5
    assert question("who found the lost harbour pilot").fullness == 1
    assert question("who is it").fullness == 0
    assert question("what does ERR_TLS_0x8F mean for the harbour pilot").fullness == 0.75
    assert question("ERR_TLS_0x8F E1001 v2.13").fullness == 0


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_any_text_is_a_question(text: str) -> None:
    asked = question(text)
    assert isinstance(asked, Question)
    assert 0 <= asked.exact <= asked.words
    assert 0 <= asked.fullness <= 1


@pytest.mark.cpu_budget(1)
@pytest.mark.parametrize("piece", ["x", "Ab", "x.", "9", "\u201c", "\u300c", '"', "`", "a_", "é", "+"])
def test_a_long_query_costs_no_more_than_its_length(piece: str) -> None:
    # Each of these takes many seconds where a pattern looks from every place to the end.
    question(piece * (32_000 // len(piece)))
