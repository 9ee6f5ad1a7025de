"""How passages are cut: by structure, balanced, never inside of what belongs together."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.parse import cut, parse
from openviking.parse.measure import Scale
from openviking.text import estimate_tokens, token_weight

SENTENCE = "The quick brown fox jumps over the lazy dog near the river. "


def sizes(name: str, text: str) -> list[int]:
    return [estimate_tokens(passage.body) for passage in cut(parse(name, text), text)]


def test_empty_text_has_no_passages() -> None:
    assert cut(parse("a.md", ""), "") == ()


def test_blank_text_is_covered(checked: Any) -> None:
    (passage,) = checked(parse("a.txt", " \n\n"), " \n\n")
    assert passage.body == " \n\n"
    assert (passage.first_line, passage.last_line) == (1, 2)


def test_a_text_a_little_too_long_becomes_two_similar_halves() -> None:
    one, two = sizes("a.txt", SENTENCE * 23)
    assert abs(one - two) < 40


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.py"])
def test_long_prose_keeps_to_the_wanted_size(name: str) -> None:
    found = sizes(name, (SENTENCE * 4 + "\n\n") * 60)
    assert all(150 <= size <= 300 for size in found)


def test_cuts_fall_between_sentences(checked: Any) -> None:
    text = SENTENCE * 100
    assert all(passage.body.endswith(". ") for passage in checked(parse("a.txt", text), text))
    text = "今天天气很好，我们去公园散步。" * 100
    assert all(passage.body.endswith("。") for passage in checked(parse("a.txt", text), text))


def test_small_sections_share_a_passage_and_keep_their_common_heading(checked: Any) -> None:
    text = "# Guide\n\n" + "".join(f"## Step {number}\n\n{SENTENCE * 2}\n\n" for number in range(20))
    passages = checked(parse("a.md", text), text)
    assert len(passages) < 8
    assert all(passage.breadcrumb == "Guide" for passage in passages)
    assert all(passage.body.startswith("#") for passage in passages)


def test_a_long_section_carries_its_path_into_each_part(checked: Any) -> None:
    text = f"# Guide\n\nintro\n\n## Install\n\n{SENTENCE * 40}\n\n## Use\n\n{SENTENCE * 15}\n"
    crumbs = [passage.breadcrumb for passage in checked(parse("a.md", text), text)]
    assert crumbs[0] == "Guide > Install"
    assert crumbs[-1] == "Guide > Use"


def test_a_function_that_fits_stays_whole(checked: Any) -> None:
    body = "".join(f"    value_{number} = compute(value, {number})\n" for number in range(20))
    text = "".join(f"def function_{name}(value):\n{body}    return value\n\n\n" for name in "abcdef")
    passages = checked(parse("a.py", text), text)
    assert [passage.symbol for passage in passages] == [f"function_{name}" for name in "abcdef"]
    assert all(passage.body.startswith("def ") for passage in passages)


def test_a_long_function_is_cut_between_statements(checked: Any) -> None:
    body = "".join(f"    if value > {n}:\n        value = compute(value, {n})\n        log(value)\n" for n in range(60))
    text = f"def long(value):\n{body}    return value\n"
    passages = checked(parse("a.py", text), text)
    assert len(passages) > 3
    assert all(passage.body.startswith("    if ") for passage in passages[1:])
    assert [passage.symbol for passage in passages] == ["long"] + [""] * (len(passages) - 1)
    assert {passage.breadcrumb for passage in passages} == {"long"}


def test_a_grapheme_is_not_torn(checked: Any) -> None:
    family = "👩‍👩‍👧"
    text = family * 400
    assert all(
        passage.body.startswith("👩") and passage.body.endswith("👧") for passage in checked(parse("a.txt", text), text)
    )
    text = "e\u0301" * 3000
    assert all(not passage.body.startswith("\u0301") for passage in checked(parse("a.txt", text), text))


def test_only_newlines_separate_lines(checked: Any) -> None:
    text = "a\r\nb\u2028c\x0bd\re\nf"
    (passage,) = checked(parse("a.txt", text), text)
    assert (passage.first_line, passage.last_line) == (1, 3)


def test_table_passages_carry_the_header_row(checked: Any) -> None:
    text = "id,name,city\n" + "".join(f'{n},Name {n},"Berlin, Mitte"\n' for n in range(200))
    passages = checked(parse("a.csv", text), text)
    assert len(passages) > 4
    assert {passage.breadcrumb for passage in passages} == {"id, name, city"}
    assert all(passage.body.endswith("\n") for passage in passages)


@pytest.mark.cpu_budget(6)
@pytest.mark.parametrize(
    "text", ["plain words here. " * 60_000, "中文和 ascii 混排。" * 60_000], ids=["ascii", "mixed"]
)
def test_a_megabyte_is_cut_in_linear_time(text: str, checked: Any) -> None:
    assert len(checked(parse("a.txt", text), text)) > 900


@pytest.mark.parametrize("text", ["abc def " * 50, "中a文b" * 90, "😀é" * 80 + "z" * 100])
def test_scale_agrees_with_the_estimate(text: str) -> None:
    scale = Scale(text)
    for start in range(0, len(text), 17):
        for end in range(start, len(text), 41):
            assert scale.weight(start, end) == pytest.approx(token_weight(text[start:end]))
        place = scale.advance(start, 20, len(text))
        assert token_weight(text[start:place]) <= 20
        assert place == len(text) or token_weight(text[start : place + 1]) > 20
