"""The levels a caller asks for: 0 directory abstracts, 1 directory overviews, 2 files (contract/retrieval.md §3.7)."""

from __future__ import annotations

import re
from typing import Final

from openviking.errors import InvalidArgumentError
from openviking.text import quoted

LEVELS: Final = (0, 1, 2)

_NUMBER = re.compile(r"\+?0*([0-9])|[+-]?[0-9]+")


def parse_levels(value: object) -> tuple[int, ...] | None:
    """The levels wanted, ascending, or None for all of them.

    None, ``""``, ``[]`` and a text without any number mean all. A number, a text such as ``"0,2"`` (parts that are no
    number are skipped) or a list of numbers names them; numbers that are no level match nothing, so the result may be
    empty. Raises `InvalidArgumentError` for other types; True and 2.0 are no numbers here.
    """
    if value is None:
        return None
    if isinstance(value, str):
        found = [_NUMBER.fullmatch(part.strip()) for part in value.split(",")]
        numbers = [int(number[1] or "-1") for number in found if number]
    elif isinstance(value, (list, tuple)):
        numbers = [_number(element, value) for element in value]
    else:
        return _known([_number(value, value)])
    return _known(numbers) if numbers else None


def _known(numbers: list[int]) -> tuple[int, ...]:
    return tuple(level for level in LEVELS if level in numbers)


def _number(element: object, value: object) -> int:
    if isinstance(element, int) and not isinstance(element, bool):
        return element
    raise InvalidArgumentError(
        f"level must be a whole number, a text such as '0,2' or a list of whole numbers, not {quoted(value)}",
        field="level",
        value=quoted(value),
    )
