"""Levels, context types and limits of a request (contract/retrieval.md §3.2, §3.7, §6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.errors import InvalidArgumentError
from openviking.index.context_types import parse_context_types
from openviking.index.levels import parse_levels
from openviking.index.limits import MAX_LIMIT, glob_limit, optional_limit, result_limit, whole_number

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=6)
    | st.text("0123,-+ ", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("value", "levels"),
    [
        (None, None),
        ("", None),
        ([], None),
        ((), None),
        (2, (2,)),
        (0, (0,)),
        ("2", (2,)),
        (" 1 ", (1,)),
        ("0,2", (0, 2)),
        ("2,0,2", (0, 2)),
        ("0,x,2", (0, 2)),
        ("x", None),
        ("02", (2,)),
        ("²", None),
        ("٢", None),
        ([0, 1], (0, 1)),
        ([1, 0, 1], (0, 1)),
        ([5], ()),
        (5, ()),
        (-1, ()),
        ("5", ()),
        ("-1", ()),
        ("12", ()),
        ("9" * 10_000, ()),
        (10**30, ()),
        ([5, 2], (2,)),
    ],
)
def test_levels(value: object, levels: tuple[int, ...] | None) -> None:
    assert parse_levels(value) == levels


@pytest.mark.parametrize("value", [True, 2.0, {}, [True], ["0"], [1.0], [None], [[0]], b"0"])
def test_levels_of_other_types_are_refused(value: object) -> None:
    with pytest.raises(InvalidArgumentError, match="level must be"):
        parse_levels(value)


@pytest.mark.parametrize(
    ("value", "types"),
    [
        (None, None),
        ("", None),
        (" , ", None),
        ([], None),
        ("memory", ("memory",)),
        ("memory, Resource,memory", ("memory", "resource")),
        ([" SKILL ", "memory"], ("skill", "memory")),
        (("resource",), ("resource",)),
    ],
)
def test_context_types(value: object, types: tuple[str, ...] | None) -> None:
    assert parse_context_types(value) == types


@pytest.mark.parametrize(
    "value", ["documents", "memory,documents", "memories", ["memory", ""], ["memory,skill"], [5], 5, True, {}, "\ud800"]
)
def test_other_context_types_are_refused_with_the_three(value: object) -> None:
    with pytest.raises(InvalidArgumentError, match="memory, resource, skill") as caught:
        parse_context_types(value)
    caught.value.message.encode()


@pytest.mark.parametrize(
    ("limit", "node_limit", "wanted"),
    [(10, None, 10), (5, 2, 2), (2, 5, 5), (1, None, 1), (10**9, None, MAX_LIMIT), (10**30, 10**30, MAX_LIMIT)],
)
def test_the_limit_of_hits(limit: object, node_limit: object, wanted: int) -> None:
    assert result_limit(limit, node_limit) == wanted


@pytest.mark.parametrize(
    ("limit", "node_limit", "field"),
    [
        (0, None, "limit"),
        (-1, None, "limit"),
        (10, 0, "node_limit"),
        (10, -1, "node_limit"),
        (0, 5, "limit"),
        (True, None, "limit"),
        (2.0, None, "limit"),
        ("x", None, "limit"),
        ("5", None, "limit"),
        (None, None, "limit"),
        (10, "x", "node_limit"),
        (10, False, "node_limit"),
    ],
)
def test_a_limit_that_is_none_is_refused(limit: object, node_limit: object, field: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{field} must be a whole number of at least 1") as caught:
        result_limit(limit, node_limit)
    assert caught.value.details["field"] == field


def test_the_limits_of_grep_and_glob() -> None:
    assert [optional_limit(value) for value in (None, 1, 10**9)] == [None, 1, MAX_LIMIT]
    assert [glob_limit(value) for value in (None, 0, -5, 7, 10**9)] == [None, None, None, 7, MAX_LIMIT]
    for value in (0, -1, True, "5", 1.0):
        with pytest.raises(InvalidArgumentError):
            optional_limit(value)
    for value in (True, False, "5", 1.0, float("nan")):
        with pytest.raises(InvalidArgumentError):
            glob_limit(value)


def test_whole_numbers() -> None:
    assert whole_number(0, "before_context", minimum=0) == 0
    assert whole_number(500, "level_limit", minimum=1, ceiling=100) == 100
    with pytest.raises(InvalidArgumentError, match="before_context must be a whole number of at least 0, not -1"):
        whole_number(-1, "before_context", minimum=0)


@given(ANYTHING)
def test_no_value_fails_but_with_a_reason(value: object) -> None:
    for check in (parse_levels, parse_context_types, result_limit, optional_limit, glob_limit):
        try:
            check(value)
        except InvalidArgumentError as error:
            error.message.encode()
