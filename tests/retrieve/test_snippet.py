"""The snippet of a hit: at most 300 characters on one line, where the words are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.index.analyse import TermFinder, analyse_query
from openviking.retrieve.snippet import LENGTH, snippet, without_tags

FILLER = "\n".join(f"Line {number} is about something else entirely." for number in range(60))


def of(text: str, query: str) -> str:
    return snippet(text, TermFinder(analyse_query(query)))


def test_starts_with_the_line_that_has_the_words() -> None:
    found = of(f"{FILLER}\nThe ferry sails at noon.\n{FILLER}", "ferry noon")
    assert found.startswith("The ferry sails at noon. Line 0")
    assert len(found) <= LENGTH


def test_prefers_different_words_to_one_word_often() -> None:
    text = f"ferry ferry ferry ferry\n{FILLER}\nThe ferry\nsails at noon.\n{FILLER}"
    assert of(text, "ferry noon").startswith("The ferry sails at noon.")


def test_without_any_word_it_is_the_beginning() -> None:
    assert of("First.\n\n  Second   line.", "absent") == "First. Second line."
    assert of("", "absent") == ""
    assert of("\n \n", "absent") == ""


@pytest.mark.parametrize("blank", [" ", ""])
def test_long_lines_are_cut_to_where_the_words_are(blank: str) -> None:
    text = f"{blank.join(['abcde'] * 2000)} needle {blank.join(['fghij'] * 2000)}"
    found = of(text, "needle")
    assert "needle" in found
    assert len(found) <= LENGTH


def test_many_short_lines_take_linear_time() -> None:
    assert "needle" in of("a\n" * 100_000 + "needle\n" + "b\n" * 100_000, "needle")


@given(
    st.lists(st.sampled_from(["ferry", "noon", "ferry noon", "x" * 90, "y" * 150, "ferry " + "z" * 120]), max_size=30)
)
def test_no_other_window_is_better(lines: list[str]) -> None:
    """Of the runs of whole lines with at most 300 characters, none has more different words, nor as many and more."""

    def gain(shown: str) -> tuple[int, int]:
        found = [word for word in shown.split() if word in {"ferry", "noon"}]
        return len(set(found)), len(found)

    def from_line(start: int) -> str:
        shown = lines[start]
        for line in lines[start + 1 :]:
            if len(shown) + 1 + len(line) > LENGTH:
                break
            shown += f" {line}"
        return shown

    found = of("\n".join(lines), "ferry noon")
    # The snippet may have a part of the line behind in addition.
    assert gain(found) >= max((gain(from_line(start)) for start in range(len(lines))), default=(0, 0))


@given(st.text(max_size=700), st.text(max_size=20))
def test_any_text_and_query(text: str, query: str) -> None:
    found = of(text, query)
    assert len(found) <= LENGTH
    assert "\n" not in found


def test_markup_is_shown_as_it_is_read() -> None:
    markup = '<p class="x">Salt &amp; <b>krill</b> drift<!-- not shown --> by.</p><br'
    assert of(without_tags(markup), "krill") == "Salt & krill drift by."
    assert without_tags("a < b and c > d") == "a < b and c > d"


def test_a_heading_does_not_stand_at_the_end() -> None:
    answer = "Twenty-six weeks at full pay for each parent, " + "and so on " * 40
    text = "# Leave\n\nParental matters are below.\n\n" + "x" * 150 + "\n\n## Parental leave\n\n" + answer
    assert "Twenty-six weeks" in of(text, "parental leave")
    crowded = "Parental leave. " + "y" * 250 + "\n\n## Next\n\n" + answer
    assert not of(crowded, "parental leave").endswith("## Next")
