"""What a search may look at: subtrees and conditions, combined outside of anything the caller can widen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TimeField = Literal["updated_at", "created_at"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Conditions that all must hold.

    ``roots`` are store paths of files or directories of which one must contain the record (None: the whole
    account); ``excluded`` subtrees are left out; ``context_types`` and ``levels`` are empty for all; ``tags`` must
    all be carried; ``since``/``until`` are inclusive milliseconds on ``time_field``. ``nothing`` says that no
    record can match at all (``level: [5]``).
    """

    roots: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    context_types: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    time_field: TimeField = "updated_at"
    since: int | None = None
    until: int | None = None
    nothing: bool = False
