"""Which part of a filter a record does not meet, and that part in the dialect of filters (contract/retrieval.md §3.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openviking.model.condition import AllOf, AnyOf, Below, Between, Condition, Constant, Not, OneOf, TextMatch
from openviking.uri import from_path

_TEXT = {"prefix": "prefix", "contains": "substring", "regex": "pattern"}


def unmet(condition: Condition, holds: Callable[[Condition], bool]) -> Condition:
    """The smallest part of ``condition`` that is the reason why it does not hold; ``holds`` says it of any part.

    Of parts that must all hold it is the first that does not; of alternatives, all together.
    """
    while isinstance(condition, AllOf):
        failing = next((part for part in condition.conditions if not holds(part)), None)
        if failing is None:
            # Each level of a record meets a part, and none meets all of them.
            return condition
        condition = failing
    return condition


def spelled(condition: Condition) -> dict[str, Any]:
    """``condition`` as a filter that means the same."""
    match condition:
        case AllOf(parts):
            return {"op": "and", "conds": [spelled(one) for one in parts]}
        case AnyOf(parts):
            return {"op": "or", "conds": [spelled(one) for one in parts]}
        case Not(OneOf() | Below() as part):
            return {**spelled(part), "op": "must_not"}
        case Not(AnyOf(parts)):
            return {"op": "and", "conds": [spelled(Not(one)) for one in parts]}
        case Not(part):
            return {"op": "not", "conds": [spelled(part)]}
        case Constant(value):
            return {"op": "always" if value else "never"}
        case OneOf(field, values):
            return {"op": "must", "field": field, "conds": list(values)}
        case Below(paths, depth):
            below: dict[str, Any] = {"op": "must", "field": "uri", "conds": [str(from_path(path)) for path in paths]}
            return below if depth < 0 else {**below, "para": f"-d={depth}"}
        case Between():
            return _interval(condition)
        case TextMatch(field, kind, text):
            return {"op": kind, "field": field, _TEXT[kind]: text}


def _interval(one: Between) -> dict[str, Any]:
    told: dict[str, Any] = {"op": "range_out" if one.outside else "range", "field": one.field}
    if one.lower is not None:
        told["gt" if one.above else "gte"] = one.lower
    if one.upper is not None:
        told["lt" if one.below else "lte"] = one.upper
    return told
