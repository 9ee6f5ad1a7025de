"""The filter dialect of find and search, from JSON to a tree of conditions (contract/retrieval.md §3.4).

It fails closed: what is not understood to the letter is an error that names it, never a part that is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import regex

from openviking.errors import InvalidArgumentError
from openviking.index.filter_fields import FIELDS, NOT_STORED, Field, instant
from openviking.index.unrolling import fault_of_size
from openviking.model.condition import AllOf, AnyOf, Below, Between, Condition, Constant, Not, OneOf, TextMatch
from openviking.text import quoted
from openviking.uri import SCHEME

MAX_DEPTH: Final = 32
MAX_NODES: Final = 256
MAX_VALUES: Final = 2_000
MAX_TEXT_CHARS: Final = 4_096

ACCOUNT_PATTERN_S: Final = 0.5
"""Seconds that a pattern may take for the name of the account."""

MAX_LEVELS_BELOW: Final = 50
"""Greater depths of ``para`` are lowered to it."""

_LARGEST: Final = 2**63 - 1
_SURROGATES = re.compile("[\ud800-\udfff]")
_PARA = re.compile(r"-d=([+-]?[0-9]{1,9})")
_BOUNDS: Final = ("gt", "gte", "lt", "lte")
_MEMBERS: Final[dict[str, frozenset[str]]] = {
    "and": frozenset({"conds"}),
    "or": frozenset({"conds"}),
    "must": frozenset({"field", "conds", "para"}),
    "must_not": frozenset({"field", "conds", "para"}),
    "label_in": frozenset({"field", "conds"}),
    "range": frozenset({"field", *_BOUNDS}),
    "range_out": frozenset({"field", *_BOUNDS}),
    "time_range": frozenset({"field", *_BOUNDS}),
    "prefix": frozenset({"field", "prefix"}),
    "contains": frozenset({"field", "substring"}),
    "regex": frozenset({"field", "pattern"}),
    "geo_range": frozenset({"field", "center", "radius"}),
}


def parse_filter(value: object, place: Callable[[str], str], account: str) -> Condition | None:
    """The conditions of a filter; None where there is none (None, ``{}``).

    ``place`` gives the store path of a URI that is spelled in it, ``account`` is the only one whose records there are.
    A tree has at most 32 levels and 256 nodes, 2,000 values altogether, and texts of at most 4,096 characters; each URI
    counts as a node. Raises
    `InvalidArgumentError` that names the operator, field or value at fault, and what ``place`` raises.
    """
    if value is None or value == {}:
        return None
    return _Parser(place, account).node(value, 1)


@dataclass(slots=True)
class _Parser:
    place: Callable[[str], str]
    account: str
    nodes: int = 0
    values: int = 0
    by_op: dict[str, Callable[[dict[str, Any], str, str], Condition]] = field(init=False)

    def __post_init__(self) -> None:
        self.by_op = {
            "must": self._one_of,
            "must_not": self._one_of,
            "label_in": self._one_of,
            "range": self._between,
            "range_out": self._between,
            "time_range": self._between,
            "prefix": self._text,
            "contains": self._text,
            "regex": self._text,
        }

    def node(self, value: object, depth: int) -> Condition:
        if not isinstance(value, dict):
            raise _wrong(f"a filter must be an object with 'op', not {quoted(value)}")
        op = value.get("op")
        if not isinstance(op, str) or op not in _MEMBERS:
            raise _wrong(f"op {quoted(op)} is not known; known are {', '.join(_MEMBERS)}")
        for name in value:
            if name != "op" and name not in _MEMBERS[op]:
                raise _wrong(f"op {op!r} has no member {quoted(name)}")
        if depth > MAX_DEPTH:
            raise _wrong(f"it is nested deeper than {MAX_DEPTH} levels")
        if op in {"and", "or"}:
            self._count()
            parts = tuple(self.node(one, depth + 1) for one in _list(value, op, "conds"))
            return AllOf(parts) if op == "and" else AnyOf(parts)
        names = _fields(value, op)
        if op == "geo_range":
            _field(names[0])
            raise _wrong(f"op {op!r} needs a field that is a point, and {names[0]!r} is none")
        leaves = []
        for name in names:
            self._count()
            leaves.append(self.by_op[op](value, op, name))
        found = leaves[0] if len(leaves) == 1 else AnyOf(tuple(leaves))
        return Not(found) if op == "must_not" else found

    def _count(self) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _wrong(f"it has more than {MAX_NODES} nodes")

    def _one_of(self, value: dict[str, Any], op: str, name: str) -> Condition:
        kind = _field(name)
        conds = _list(value, op, "conds")
        self.values += len(conds)
        if self.values > MAX_VALUES:
            raise _wrong(f"it has more than {MAX_VALUES} values")
        texts = [isinstance(one, str) for one in conds]
        if not all(texts) and (any(texts) or not all(isinstance(one, int) for one in conds)):
            raise _wrong(f"conds of {op!r} must be all strings or all whole numbers, not {quoted(conds)}")
        if value.get("para") is not None and kind is not Field.PATH:
            raise _wrong(f"para of {op!r} belongs to the field uri, not to {name!r}")
        if kind is Field.PATH:
            depth = _depth(value.get("para"), op)
            for _ in conds[1:]:
                self._count()
            return Below(tuple(self._path(one, op, name) for one in conds), depth)
        if kind is Field.NUMBER or kind is Field.TIME:
            numbers = [_number(one, kind, name) for one in conds]
            return OneOf(name, tuple(int(one) for one in numbers if one == int(one)))
        words = tuple(_string(one, op, name) for one in conds)
        return Constant(self.account in words) if kind is Field.ACCOUNT else OneOf(name, words)

    def _between(self, value: dict[str, Any], op: str, name: str) -> Condition:
        kind = _field(name)
        if kind is not Field.TIME and (op == "time_range" or kind is not Field.NUMBER):
            wanted = "a time" if op == "time_range" else "a number or a time"
            raise _wrong(f"op {op!r} needs a field that is {wanted}, and {name!r} is none")
        bounds = {bound: _number(value[bound], kind, name) for bound in _BOUNDS if value.get(bound) is not None}
        if not bounds:
            raise _wrong(f"op {op!r} needs at least one of {', '.join(_BOUNDS)}")
        return Between(
            name,
            bounds.get("gte", bounds.get("gt")),
            bounds.get("lte", bounds.get("lt")),
            above="gte" not in bounds,
            below="lte" not in bounds,
            outside=op == "range_out",
        )

    def _text(self, value: dict[str, Any], op: str, name: str) -> Condition:
        kind = _field(name)
        if kind is Field.NUMBER or kind is Field.TIME:
            raise _wrong(f"op {op!r} needs a field that is text, and {name!r} is none")
        member = {"prefix": "prefix", "contains": "substring", "regex": "pattern"}[op]
        text = _string(value.get(member), op, name, member)
        if op == "regex":
            pattern = _compiled(text)
            if kind is Field.ACCOUNT:
                return Constant(_has_match(pattern, self.account))
            return TextMatch(name, "regex", text)
        if kind is Field.ACCOUNT:
            return Constant(self.account.startswith(text) if op == "prefix" else text in self.account)
        if kind is Field.PATH and op == "prefix" and text.startswith("/"):
            text = SCHEME + text[1:]
        return TextMatch(name, "prefix" if op == "prefix" else "contains", text)

    def _path(self, value: object, op: str, name: str) -> str:
        text = _string(value, op, name)
        if text.startswith(SCHEME):
            return self.place(text)
        if text.startswith("/"):
            return text.strip("/")
        raise _wrong(f"{name} is {quoted(text)}, it must start with {SCHEME} or /")


def _compiled(source: str) -> regex.Pattern[str]:
    if fault := fault_of_size(source):
        raise _wrong(f"pattern {quoted(source)} does not compile: {fault}")
    try:
        return regex.compile(source)
    except RecursionError:
        fault = "its groups are nested too deeply"
    except (regex.error, OverflowError, ValueError) as error:
        fault = str(error)
    raise _wrong(f"pattern {quoted(source)} does not compile: {fault}")


def _has_match(pattern: regex.Pattern[str], text: str) -> bool:
    try:
        return pattern.search(text, timeout=ACCOUNT_PATTERN_S) is not None
    except (TimeoutError, MemoryError) as error:
        raise _wrong(f"pattern {quoted(pattern.pattern)} takes too long") from error


def _fields(value: dict[str, Any], op: str) -> Sequence[str]:
    named = value.get("field")
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
        raise _wrong(f"op {op!r} needs a field, or a list of fields, not {quoted(named)}")
    return names


def _field(name: str) -> Field:
    kind = FIELDS.get(name)
    if kind is None:
        hint = f"; {NOT_STORED[name]}" if name in NOT_STORED else f"; known are {', '.join(FIELDS)}"
        raise _wrong(f"field {quoted(name)} is not known{hint}")
    return kind


def _list(value: dict[str, Any], op: str, member: str) -> list[Any]:
    found = value.get(member)
    if not isinstance(found, list) or not found:
        raise _wrong(f"{member} of {op!r} must be a list that is not empty, not {quoted(found)}")
    return found


def _string(value: object, op: str, name: str, member: str = "conds") -> str:
    if not isinstance(value, str):
        raise _wrong(f"{member} of {op!r} on {name!r} must be text, not {quoted(value)}")
    if len(value) > MAX_TEXT_CHARS or _SURROGATES.search(value):
        raise _wrong(f"{member} of {op!r} on {name!r}: {quoted(value)} is too long or not Unicode")
    return value


def _number(value: object, kind: Field, name: str) -> float:
    """A whole number if it was one: a float has not all of them."""
    if isinstance(value, str) and kind is Field.TIME:
        found = instant(value)
        if found is not None:
            return found
    if isinstance(value, int):
        return max(min(int(value), _LARGEST), -_LARGEST)
    if isinstance(value, float) and math.isfinite(value):
        return max(min(value, 1e18), -1e18)
    wanted = "an ISO 8601 time or milliseconds since 1970" if kind is Field.TIME else "a number"
    raise _wrong(f"{name} is compared with {quoted(value)}, which must be {wanted}")


def _depth(para: object, op: str) -> int:
    if para is None:
        return -1
    found = _PARA.fullmatch(para) if isinstance(para, str) else None
    if found is None:
        raise _wrong(f"para of {op!r} must be such as '-d=1', not {quoted(para)}")
    return max(min(int(found[1]), MAX_LEVELS_BELOW), -1)


def _wrong(reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"filter: {reason}", field="filter")
