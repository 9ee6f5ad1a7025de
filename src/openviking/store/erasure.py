"""What an erasure tells: how far the bytes of what was removed are gone from the disk."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Erased:
    """``rewritten``: every page of the database was written anew, so that no byte of what was removed is left.

    Else free pages were overwritten and the index of words merged, and pages in use may still hold pieces in places
    that nothing refers to. Sizes are bytes of the database's file.
    """

    rewritten: bool
    bytes_before: int
    bytes_after: int
