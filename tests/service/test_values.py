"""Values that callers give: far too great ones, wrong ones, and what is said of a query that was cut."""

from __future__ import annotations

from typing import Any

import pytest

from openviking import OpenViking
from openviking.errors import InvalidArgumentError, InvalidURIError

ROOT = "viking://resources"
HUGE = 10**20


@pytest.fixture
def filled(ov: OpenViking) -> OpenViking:
    for number in range(3):
        ov.write(f"{ROOT}/d/a{number}.md", f"# Zorblax\n\nline {number}\nend\n", "create")
    return ov


@pytest.mark.parametrize("size", [10**9, HUGE, 10**400])
def test_a_limit_may_be_greater_than_any_number_of_things(filled: OpenViking, size: int) -> None:
    assert len(filled.ls(ROOT, node_limit=size, abs_limit=size)) == 1
    assert len(filled.ls(ROOT, recursive=True, node_limit=size)) == 4
    assert len(filled.tree(ROOT, node_limit=size, level_limit=size, abs_limit=size)) == 4
    assert filled.grep(ROOT, "line", node_limit=size, level_limit=size).total == 3
    assert filled.glob("**/*.md", ROOT, node_limit=size).total == 3
    assert len(filled.find("zorblax", ROOT, limit=size, level=2)) == 3
    assert len(filled.find("zorblax", ROOT, node_limit=size, level=2)) == 3
    assert filled.read(f"{ROOT}/d/a1.md", 2, size) == "line 1\nend\n"


@pytest.mark.parametrize("size", [10**9, HUGE, 10**400])
def test_behind_the_end_there_is_nothing(filled: OpenViking, size: int) -> None:
    for listing in (filled.ls(ROOT, offset=size), filled.tree(ROOT, offset=size), filled.ls("viking://", offset=size)):
        assert (list(listing), listing.has_more) == ([], False)
        assert listing.total
    assert filled.read(f"{ROOT}/d/a1.md", size) == ""


def test_an_offset_is_never_lowered() -> None:
    from openviking.index.limits import position

    assert position(5_000_000, "offset") == 5_000_000


@pytest.mark.parametrize("field", ["before_context", "after_context"])
def test_context_lines_have_a_greatest_number(filled: OpenViking, field: str) -> None:
    assert filled.grep(ROOT, "line", **{field: 1000}).total == 3  # type: ignore[arg-type]
    for wrong in (1001, HUGE, -1):
        with pytest.raises(InvalidArgumentError, match=field):
            filled.grep(ROOT, "line", **{field: wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [10**400, float("nan"), float("inf"), True, "0.5"])
def test_a_threshold_is_a_finite_number(filled: OpenViking, wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="score_threshold"):
        filled.find("zorblax", score_threshold=wrong)


def test_what_is_no_text_is_refused(filled: OpenViking) -> None:
    wrong: Any = 7
    for call in (filled.read, filled.download, filled.ls, filled.abstract):
        with pytest.raises(InvalidURIError):
            call(wrong)
    for description in (wrong, "\ud800"):
        with pytest.raises(InvalidArgumentError, match="description"):
            filled.mkdir(f"{ROOT}/new", description)
    with pytest.raises(InvalidArgumentError, match="output"):
        filled.ls(ROOT, output="\ud800" * 1000)


def test_a_query_that_was_cut_says_so(filled: OpenViking) -> None:
    words = [f"word{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(70)]
    cut = filled.find(" ".join(["zorblax", *words]))
    assert cut.total
    [one] = cut.degraded
    assert one.stage == "query"
    assert "7 others" in one.reason
    assert cut.to_dict()["retrieval"]["degraded"][0]["stage"] == "query"
    whole = filled.find(" ".join(["zorblax", *words[:60]]))
    assert whole.degraded == ()
    # Repetitions and stop words ask for nothing more.
    assert filled.find("zorblax the " * 100).degraded == ()


def test_a_very_long_query_says_so(filled: OpenViking) -> None:
    result = filled.find("zorblax " + "the " * 10_000)
    assert result.total
    assert [one.stage for one in result.degraded] == ["query"]
    assert "40007" in result.degraded[0].reason
    assert filled.find("zorblax " + "the " * 7_000).degraded == ()


def test_blanks_before_a_query_do_not_hide_it(filled: OpenViking) -> None:
    hits = filled.find(" " * 40_000 + "zorblax", level=2)
    assert hits.total == 3
    assert hits.hits[0].score > 0
    assert hits.degraded == ()


def test_a_target_that_is_not_there_is_said(ov: OpenViking) -> None:
    result = ov.find("anything", "viking://resources/none")
    assert not result.hits
    assert [(one.stage, one.reason) for one in result.degraded] == [
        ("target", "viking://resources/none does not exist")
    ]
    assert not ov.find("anything", "viking://resources").degraded


def test_a_directory_that_was_found_can_be_a_target(ov: OpenViking) -> None:
    ov.write("viking://resources/d/a.md", "krill", mode="create")
    result = ov.find("krill", "viking://resources/d/.overview.md", level=2)
    assert [hit.uri for hit in result] == ["viking://resources/d/a.md"]
    assert not result.degraded
