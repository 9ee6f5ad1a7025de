"""How `ov find --explain` draws what a score is made of, and how much of the place has vectors."""

from __future__ import annotations

import io
import re

import pytest

from openviking.cli.screen import Screen
from openviking.cli.views.hits import draw_hits
from openviking.model.embedding import Coverage
from openviking.model.hit import FindResult, Hit
from openviking.model.missing import Missing

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.TextIOWrapper):
    """A stream in memory that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def hit(*parts: tuple[str, float], explained: bool = True) -> Hit:
    score = sum(value for _, value in parts)
    return Hit("viking://r/a.md", "resource", 2, score, "", (), (1, 2), "text", explain=parts if explained else None)


def piped(found: FindResult) -> list[str]:
    stream = io.StringIO()
    draw_hits(Screen(stream), "q", found)
    return stream.getvalue().splitlines()


def on_terminal(found: FindResult, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal(io.BytesIO(), encoding="utf-8")
    draw_hits(Screen(stream), "q", found)
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return ESCAPE.sub("", stream.buffer.getvalue().decode()).splitlines()


def test_words_vectors_and_what_is_taken_away() -> None:
    parts = (("words:roll", 0.1), ("vectors", 0.4), ("phrase", 0.2), ("directory_behind_files", -0.05))
    assert piped(FindResult((hit(*parts),), vectors=Coverage(3, 3)))[3:] == [
        "    words:roll              +0.100",
        "    vectors                 +0.400",
        "    phrase                  +0.200",
        "    directory_behind_files  -0.050",
        "vectors of 3 of 3 passages",
    ]


def test_a_vector_that_is_not_there_yet() -> None:
    lines = piped(FindResult((hit(("words:roll", 0.3), ("vectors:pending", 0.0)),), vectors=Coverage(120, 1300)))
    assert lines[4] == "    vectors:pending  no vector yet: the words are the whole score"
    assert lines[5] == "vectors of 120 of 1,300 passages; the rest answers by its words"


def test_coverage_is_told_where_it_matters() -> None:
    plain = hit(("words:roll", 0.3), explained=False)
    assert piped(FindResult((plain,), vectors=Coverage(2, 3)))[-1].startswith("vectors of 2 of 3 passages")
    for coverage in (Coverage(0, 3), Coverage(3, 3), Coverage(0, 0)):
        assert piped(FindResult((plain,), vectors=coverage))[-1] == "    text"
    explained = hit(("words:roll", 0.3))
    told = piped(FindResult((explained,), vectors=Coverage(0, 3)))[-1]
    assert told == "no vectors of 3 passages: the words answer alone"
    assert piped(FindResult((explained,), vectors=Coverage(0, 0)))[-1] == "    words:roll  +0.300"


def test_a_long_question_shows_its_largest_words_and_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = tuple((f"words:term{number:02}", 0.02) for number in range(30))
    lines = on_terminal(FindResult((hit(*parts, ("vectors", 0.3)),), vectors=Coverage(1, 2)), monkeypatch)
    assert sum(line.startswith("    words:") for line in lines) == 8
    assert re.search(r"22 other words +[█·]+ +\+0\.440$", lines[-3])
    assert re.search(r"vectors +[█·]+ +\+0\.300$", lines[-2])
    assert all(len(line) <= 80 for line in lines)
    nine = piped(FindResult((hit(*parts[:9]),)))
    assert sum(line.startswith("    words:") for line in nine) == 9


def test_why_a_record_is_not_among_the_hits() -> None:
    told = Missing("viking://r/b.md", "below_cut", "it has rank 37 of 212 with a score of 0.1200, cut at 10")
    assert piped(FindResult((), missing=(told,)))[-2:] == [
        "viking://r/b.md  below_cut", "    it has rank 37 of 212 with a score of 0.1200, cut at 10"
    ]  # fmt: skip
