"""Checks of request values that are the same for every use case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from openviking.errors import InvalidArgumentError

T = TypeVar("T")


def one_of(name: str, value: T, allowed: Sequence[T]) -> T:
    """``value`` if it is allowed, else `InvalidArgumentError` that lists what is."""
    if value not in allowed:
        raise InvalidArgumentError(f"{name} is {value!r}, allowed are {', '.join(map(repr, allowed))}", field=name)
    return value
