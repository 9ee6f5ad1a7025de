"""What was done when the wait for what follows from it failed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from openviking.errors import OpenVikingError


@contextlib.contextmanager
def done_before(result: Callable[[], dict[str, Any]]) -> Iterator[None]:
    """Errors inside tell in ``details["done"]`` what the call has done all the same: its ``result``, as it stands."""
    try:
        yield
    except OpenVikingError as error:
        with contextlib.suppress(OpenVikingError):
            error.details["done"] = result()
        raise
