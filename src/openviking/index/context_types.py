"""The context types a caller asks for: memory, resource, skill (contract/retrieval.md §3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openviking.errors import InvalidArgumentError
from openviking.text import quoted

CONTEXT_TYPES: Final = ("memory", "resource", "skill")


def parse_context_types(value: object) -> tuple[str, ...] | None:
    """The context types wanted, each once, in the order given; None for no restriction (None, ``""``, ``[]``).

    A text may name several, separated by commas; blanks around them, case and empty parts do not matter. Raises
    `InvalidArgumentError` that names the three for anything else.
    """
    names: Sequence[object]
    if value is None:
        return None
    if isinstance(value, str):
        names = [part for part in value.split(",") if part.strip()]
    elif isinstance(value, (list, tuple)):
        names = value
    else:
        raise _unknown(value)
    found: list[str] = []
    for name in names:
        spelled = name.strip().lower() if isinstance(name, str) else ""
        if spelled not in CONTEXT_TYPES:
            raise _unknown(name)
        if spelled not in found:
            found.append(spelled)
    return tuple(found) or None


def _unknown(value: object) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"context_type must be among {', '.join(CONTEXT_TYPES)}, not {quoted(value)}",
        field="context_type",
        value=quoted(value),
    )
