"""What a caller's filter asks of a record, as a tree of conditions on the record's fields.

Every value is hashable, so that a scope with a condition can be the key of a cache. What the nodes mean where a record
lacks a field: every leaf is false then, and so `Not` of it is true.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TextKind = Literal["prefix", "contains", "regex"]


@dataclass(frozen=True, slots=True)
class AllOf:
    """True where all ``conditions`` are."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True where one of ``conditions`` is."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True where ``condition`` is false."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Constant:
    """The same for every record."""

    value: bool


@dataclass(frozen=True, slots=True)
class OneOf:
    """``field`` has one of ``values``; of a field with several values one does."""

    field: str
    values: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Below:
    """The record lies at one of ``paths`` or at most ``depth`` levels below it; -1 for the whole subtree."""

    paths: tuple[str, ...]
    depth: int = -1


@dataclass(frozen=True, slots=True)
class Between:
    """The number in ``field`` is in an interval, or ``outside`` of it; a bound that is None is not there."""

    field: str
    lower: float | None = None
    upper: float | None = None
    above: bool = False
    """Whether ``lower`` itself is not part of the interval."""
    below: bool = False
    """Whether ``upper`` itself is not part of the interval."""
    outside: bool = False


@dataclass(frozen=True, slots=True)
class TextMatch:
    """The text in ``field`` starts with ``text``, contains it, or has a match of it as a regular expression."""

    field: str
    kind: TextKind
    text: str


Condition = AllOf | AnyOf | Not | Constant | OneOf | Below | Between | TextMatch


def leaves(condition: Condition) -> Iterator[Condition]:
    """The leaves of a tree, from left to right."""
    if isinstance(condition, AllOf | AnyOf):
        for one in condition.conditions:
            yield from leaves(one)
    elif isinstance(condition, Not):
        yield from leaves(condition.condition)
    else:
        yield condition


def both(first: Condition | None, second: Condition | None) -> Condition | None:
    """What asks for both; None asks for nothing."""
    if first is None or second is None:
        return second if first is None else first
    return AllOf((first, second))
