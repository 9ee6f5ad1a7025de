"""What ls and tree return: a list that knows whether it was cut."""

from __future__ import annotations

from typing import Any


class Listing(list[Any]):
    """Entries (or URIs, if simple) in order; ``total`` counts all that there are, ``has_more`` that some follow."""

    def __init__(self, entries: list[Any], *, total: int, has_more: bool) -> None:
        super().__init__(entries)
        self.total = total
        self.has_more = has_more
