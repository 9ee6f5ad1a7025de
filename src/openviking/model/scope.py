"""What a search may look at: subtrees and conditions, combined outside of anything the caller can widen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from openviking.model.condition import Condition

TimeField = Literal["updated_at", "created_at"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Conditions that all must hold.

    ``roots`` are store paths of files or directories of which one must contain the record (None: the whole
    account); ``excluded`` subtrees are left out; ``context_types`` and ``levels`` are empty for all; ``tags`` must
    all be carried; ``since``/``until`` are inclusive milliseconds on ``time_field``; ``condition`` is the
    caller's filter. ``nothing`` says that no record can match at all (``level: [5]``). ``within`` is a directory: of it
    only its own record, its files and the records of the directories right in it; None for no such bound.
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
    condition: Condition | None = None
    within: str | None = None
