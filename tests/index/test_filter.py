"""The filter dialect: every operator becomes the tree it should, and whatever is not understood is an error that names it."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.errors import InvalidArgumentError
from openviking.index.decay import HALVED_MS, Decay, parse_protection, time_score
from openviking.index.filter import MAX_NODES, parse_filter
from openviking.index.hidden_fields import visible
from openviking.model.condition import AllOf, AnyOf, Below, Between, Condition, Constant, Not, OneOf, TextMatch

DAY = 86_400_000
LEVEL_2 = {"op": "must", "field": "level", "conds": [2]}


def parsed(tree: object) -> Condition | None:
    return parse_filter(tree, lambda uri: uri.removeprefix("viking://").strip("/"), "acme")


@pytest.mark.parametrize(
    ("tree", "wanted"),
    [
        (None, None),
        ({}, None),
        (LEVEL_2, OneOf("level", (2,))),
        ({"op": "must", "field": "level", "conds": [True, 0]}, OneOf("level", (1, 0))),
        ({"op": "must_not", "field": "context_type", "conds": ["skill"]}, Not(OneOf("context_type", ("skill",)))),
        ({"op": "label_in", "field": "search_tags", "conds": ["a=b"]}, OneOf("search_tags", ("a=b",))),
        (
            {"op": "must", "field": ["name", "owner_user_id"], "conds": ["x"]},
            AnyOf((OneOf("name", ("x",)), OneOf("owner_user_id", ("x",)))),
        ),
        (
            {"op": "must", "field": "uri", "conds": ["viking://resources/docs/", "/a/b"], "para": "-d=1"},
            Below(("resources/docs", "a/b"), 1),
        ),
        ({"op": "must", "field": "uri", "conds": ["/a"], "para": "-d=-9"}, Below(("a",))),
        ({"op": "must", "field": "uri", "conds": ["/a"], "para": "-d=99"}, Below(("a",), 50)),
        ({"op": "range", "field": "active_count", "gte": 3}, Between("active_count", 3, None, below=True)),
        (
            {"op": "range", "field": "level", "gt": 0, "gte": 1, "lt": 9, "lte": 2},
            Between("level", 1, 2),
        ),
        (
            {"op": "range_out", "field": "active_count", "gte": 3000, "lte": 8000},
            Between("active_count", 3000, 8000, outside=True),
        ),
        (
            {"op": "time_range", "field": "updated_at", "gte": "1970-01-02", "lt": 2 * DAY},
            Between("updated_at", DAY, 2 * DAY, below=True),
        ),
        (
            {"op": "range", "field": "created_at", "gt": "1970-01-01T01:00:00+01:00"},
            Between("created_at", 0, None, above=True, below=True),
        ),
        (
            {"op": "prefix", "field": "uri", "prefix": "/resources/d"},
            TextMatch("uri", "prefix", "viking://resources/d"),
        ),
        ({"op": "contains", "field": "name", "substring": "%_'"}, TextMatch("name", "contains", "%_'")),
        ({"op": "regex", "field": "search_tags", "pattern": "^a="}, TextMatch("search_tags", "regex", "^a=")),
        ({"op": "must", "field": "account_id", "conds": ["acme"]}, Constant(True)),
        ({"op": "must_not", "field": "account_id", "conds": ["acme"]}, Not(Constant(True))),
        ({"op": "prefix", "field": "account_id", "prefix": "x"}, Constant(False)),
        (
            {"op": "or", "conds": [{"op": "and", "conds": [LEVEL_2, LEVEL_2]}, LEVEL_2]},
            AnyOf((AllOf((OneOf("level", (2,)), OneOf("level", (2,)))), OneOf("level", (2,)))),
        ),
    ],
)
def test_what_a_filter_means(tree: Any, wanted: Condition | None) -> None:
    assert parsed(tree) == wanted


def deep(levels: int) -> dict[str, Any]:
    tree: dict[str, Any] = LEVEL_2
    for _ in range(levels):
        tree = {"op": "and", "conds": [tree]}
    return tree


@pytest.mark.parametrize(
    ("tree", "named"),
    [
        ([], "object"),
        ("level = 2", "object"),
        ({"field": "level", "conds": [2]}, "op None"),
        ({"op": "is", "field": "level", "conds": [2]}, "'is'"),
        ({"op": ["and"], "conds": []}, "op ["),
        ({"op": "and", "conds": []}, "'and'"),
        ({"op": "or"}, "'or'"),
        ({"op": "and", "conds": [LEVEL_2, {"op": "xor"}]}, "'xor'"),
        ({"op": "must", "field": "level", "conds": []}, "conds"),
        ({"op": "must", "field": "level", "conds": [2, "2"]}, "all strings or all whole numbers"),
        ({"op": "must", "field": "level", "conds": [2.0]}, "all strings or all whole numbers"),
        ({"op": "must", "field": "level", "conds": ["2"]}, "level is compared with '2'"),
        ({"op": "must", "field": "context_type", "conds": [1]}, "must be text"),
        ({"op": "must", "field": "nothing", "conds": [1]}, "'nothing'"),
        ({"op": "must", "field": "tags", "conds": ["a=b"]}, "search_tags"),
        ({"op": "must", "field": "md5", "conds": ["x"]}, "'md5'"),
        ({"op": "must", "field": [], "conds": [1]}, "field"),
        ({"op": "must", "field": ["level", 3], "conds": [1]}, "field"),
        ({"op": "must", "conds": [1]}, "field"),
        ({**LEVEL_2, "negate": True}, "'negate'"),
        ({**LEVEL_2, "para": "-d=1"}, "para"),
        ({"op": "must", "field": "uri", "conds": ["/a"], "para": "1"}, "para"),
        ({"op": "must", "field": "uri", "conds": ["a/b"]}, "viking://"),
        ({"op": "range", "field": "level"}, "gt, gte, lt, lte"),
        ({"op": "range", "field": "level", "gt": None}, "gt, gte, lt, lte"),
        ({"op": "range", "field": "name", "gt": 1}, "'name'"),
        ({"op": "range", "field": "level", "gt": "1"}, "level is compared with '1'"),
        ({"op": "range", "field": "level", "gt": float("nan")}, "nan"),
        ({"op": "range", "field": "updated_at", "gt": "yesterday"}, "ISO 8601"),
        ({"op": "time_range", "field": "level", "gt": 1}, "'time_range'"),
        ({"op": "prefix", "field": "level", "prefix": "1"}, "'level'"),
        ({"op": "prefix", "field": "name"}, "prefix"),
        ({"op": "contains", "field": "name", "substring": "\ud800"}, "Unicode"),
        ({"op": "contains", "field": "name", "substring": "x" * 5000}, "too long"),
        ({"op": "regex", "field": "name", "pattern": "("}, "does not compile"),
        ({"op": "geo_range", "field": "uri", "center": "1,2", "radius": "1km"}, "point"),
        ({"op": "geo_range", "field": "place", "center": "1,2", "radius": "1km"}, "'place'"),
        (deep(40), "nested"),
        ({"op": "or", "conds": [LEVEL_2] * MAX_NODES}, "nodes"),
        ({"op": "must", "field": "level", "conds": list(range(3000))}, "values"),
        ({"op": "must", "field": "uri", "conds": ["/a"] * 257}, "nodes"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_named(tree: Any, named: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        parsed(tree)
    assert named in raised.value.message
    assert raised.value.message.startswith("filter: ")


def test_the_path_of_a_uri_is_the_callers() -> None:
    def refuse(uri: str) -> str:
        raise InvalidArgumentError(uri)

    with pytest.raises(InvalidArgumentError, match="viking://skills"):
        parse_filter({"op": "must", "field": "uri", "conds": ["viking://skills"]}, refuse, "acme")


@pytest.mark.parametrize(
    ("days", "protected", "factor", "score"),
    [
        (0, "0", 1.0, 0.8),
        (3.5, "0", 0.7071, 0.5657),
        (7, "0", 0.5, 0.4),
        (7, "2d", 0.6095, 0.4876),
        (7, "7d", 1.0, 0.8),
        (14, "0", 0.25, 0.2),
        (30, "7d", 0.1025, 0.0820),
        (-7, "0", 0.5, 0.4),
        (7, "48h", 0.6095, 0.4876),
        (7, "2880m", 0.6095, 0.4876),
    ],
)
def test_the_worked_numbers_of_decay(days: float, protected: str, factor: float, score: float) -> None:
    protection = parse_protection(protected)
    assert protection is not None
    left = time_score(int(days * DAY), protection)
    assert (round(left, 4), round(0.8 * left, 4)) == (factor, score)


def test_decay_at_its_edges() -> None:
    assert [parse_protection(text) for text in (None, "0", "0m", "0h", "0d")] == [None, 0, 0, 0, 0]
    assert parse_protection("1095000d") == 1_095_000 * DAY
    assert Decay(0, 0).time_score(1 << 60) is None
    assert 0 <= time_score(1 << 62, 0) < 1e-300
    assert time_score(HALVED_MS, 0) == 0.5


@pytest.mark.parametrize(
    "value",
    ["7", "1w", "-1d", "1.5d", "1.5h", "", " 1d", "1d ", "d", 7, 0, True, "1095001d", "9" * 16 + "d", "١d", ["0"]],
)
def test_what_is_no_protection(value: object) -> None:
    with pytest.raises(InvalidArgumentError, match="events_time_decay_protection"):
        parse_protection(value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n", "plain\n"),
        ('# A\nb\n\n<!-- MEMORY_FIELDS\n{"a": 1}\n-->', "# A\nb\n"),
        ('b\n<!-- MEMORY_FIELDS\n{"a": "x --> y"}\n-->\n\n', "b\n"),
        ("<!-- MEMORY_FIELDS\n{}\n-->", ""),
        ("<!-- MEMORY_FIELDS {} -->\nbehind it\n", "<!-- MEMORY_FIELDS {} -->\nbehind it\n"),
        ("about `<!-- MEMORY_FIELDS -->", "about `<!-- MEMORY_FIELDS -->"),
    ],
)
def test_fields_behind_the_text_of_a_memory_are_out_of_sight(text: str, shown: str) -> None:
    assert visible(text) == shown
