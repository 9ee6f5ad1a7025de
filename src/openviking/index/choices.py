"""One of several: the check of a request value that is chosen from a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from openviking.errors import InvalidArgumentError
from openviking.text import quoted

T = TypeVar("T")


def one_of(name: str, value: T, allowed: Sequence[T]) -> T:
    """``value`` if it is allowed, else `InvalidArgumentError` that lists what is."""
    if value not in allowed:
        raise InvalidArgumentError(
            f"{name} is {quoted(value)}, allowed are {', '.join(map(repr, allowed))}", field=name, value=quoted(value)
        )
    return value
