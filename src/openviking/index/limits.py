"""How many a caller wants: the limits of find, search, grep, glob, ls and tree, checked and bounded."""

from __future__ import annotations

from typing import Final

from openviking.errors import InvalidArgumentError
from openviking.text import quoted

MAX_LIMIT: Final = 1_000_000
MAX_CONTEXT_LINES: Final = 1_000
MAX_POSITION: Final = 2**62
"""The greatest offset or line number that is told from others: more than there can be, and fit for every store."""


def whole_number(value: object, field: str, *, minimum: int, ceiling: int = MAX_LIMIT) -> int:
    """``value``, at most ``ceiling``; a greater one is quietly lowered to it, since nothing is lost by that.

    Raises `InvalidArgumentError` that names the field unless it is a whole number (True, 2.0 and "2" are none) of at
    least ``minimum``.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise InvalidArgumentError(
            f"{field} must be a whole number of at least {minimum}, not {quoted(value)}",
            field=field,
            value=quoted(value),
            minimum=minimum,
        )
    return min(value, ceiling)


def result_limit(limit: object, node_limit: object = None) -> int:
    """The number of hits that find and search give: ``node_limit`` if there is one, else ``limit``; both at least 1."""
    wanted = whole_number(limit, "limit", minimum=1)
    return wanted if node_limit is None else whole_number(node_limit, "node_limit", minimum=1)


def position(value: object, field: str, *, minimum: int = 0) -> int:
    """A place in a list or text, or a number of lines of one: no real one is lowered, however long the list is."""
    return whole_number(value, field, minimum=minimum, ceiling=MAX_POSITION)


def bounded(value: object, field: str, *, minimum: int, maximum: int) -> int:
    """``value``; raises `InvalidArgumentError` that names the field unless it is a whole number within both bounds."""
    number = whole_number(value, field, minimum=minimum, ceiling=MAX_POSITION)
    if number > maximum:
        raise InvalidArgumentError(
            f"{field} must be at most {maximum}, not {quoted(value)}",
            field=field,
            value=quoted(value),
            maximum=maximum,
        )
    return number


def context_lines(value: object, field: str) -> int:
    """The lines to show on one side of each match; more than 1,000 are refused, since every match carries its own."""
    return bounded(value, field, minimum=0, maximum=MAX_CONTEXT_LINES)


def optional_limit(value: object, field: str = "node_limit") -> int | None:
    """A limit of which None means none, as grep has it; else at least 1."""
    return None if value is None else whole_number(value, field, minimum=1)


def glob_limit(value: object, field: str = "node_limit") -> int | None:
    """The limit of glob, where None, 0 and less mean that there is none."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value <= 0):
        return None
    return whole_number(value, field, minimum=1)
