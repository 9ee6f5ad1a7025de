"""A source that is looked at again and again: what a watch is, and how it is told (contract/core.md §3.13)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from openviking.clock import iso
from openviking.errors import InvalidArgumentError
from openviking.text import quoted
from openviking.uri import from_path

MINUTE_MS: Final = 60_000
MAX_MINUTES: Final = 10 * 366 * 24 * 60
"""The longest interval: ten years."""

HIDDEN: Final = "***"
"""Stands in a record for what is nobody's to read."""

_SECRET: Final = re.compile(r"(?i)auth|token|secret|passw|api_?key|cookie|credential|headers")
_USER_INFO: Final = re.compile(r"(?<=://)[^/?#@]*@")


def new_watch_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_hex(16)


def interval_ms(minutes: object) -> int:
    """``minutes`` between two looks as milliseconds, at least 1.

    Raises `InvalidArgumentError` unless it is a number above 0 and of at most `MAX_MINUTES`.
    """
    # Not a number compares with nothing.
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes <= MAX_MINUTES:
        raise InvalidArgumentError(
            f"watch_interval must be a number of minutes above 0, at most {MAX_MINUTES}, not {quoted(minutes)}",
            field="watch_interval",
            value=quoted(minutes),
        )
    return max(round(minutes * MINUTE_MS), 1)


@dataclass(frozen=True, slots=True)
class NewWatch:
    """A watch to be made: the source at ``location`` (a URL) fills the store path ``path`` for the user ``owner``.

    ``role`` is the owner's at that time. ``request`` is what else an import is to be asked for, fit for JSON. ``task``
    is the import that begins it ("": none does). A watch that is not ``active`` is paused.
    """

    path: str
    owner: str
    role: str
    location: str
    interval: int
    reason: str = ""
    instruction: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    active: bool = True
    task: str = ""
    id: str = field(default_factory=new_watch_id)


@dataclass(frozen=True, slots=True)
class WatchChange:
    """What is to be changed of a watch; None leaves it as it is. ``interval`` in milliseconds."""

    interval: int | None = None
    active: bool | None = None
    reason: str | None = None
    instruction: str | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """A watch as it is now; times and ``interval`` in milliseconds.

    ``due`` is when the source is looked at next, None of a paused watch. ``task`` is the import of the last look, and
    ``running`` says that it is not over. ``status`` and ``error`` say what became of the last one that is, ``failures``
    how many have failed in a row.
    """

    number: int
    id: str
    path: str
    owner: str
    role: str
    location: str
    interval: int
    reason: str
    instruction: str
    request: dict[str, Any]
    active: bool
    created_at: int
    due: int | None
    task: str
    looked_at: int | None
    status: str
    error: str
    failures: int
    running: bool

    @property
    def uri(self) -> str:
        """What it fills."""
        return str(from_path(self.path))

    def to_dict(self, account: str) -> dict[str, Any]:
        """The record of contract/core.md §3.13, and beside its fields what became of the last looks; no secrets."""
        mode = self.request.get("processing_mode", "semantic_and_vectors")
        return {
            "task_id": self.id,
            "path": without_secrets(self.location),
            "to_uri": self.uri,
            "parent_uri": None,
            "reason": self.reason,
            "instruction": self.instruction,
            "watch_interval": self.interval / MINUTE_MS,
            "build_index": True,
            "summarize": mode != "vectors_only",
            "processing_mode": mode,
            "processor_kwargs": _shown(self.request.get("args", {})),
            "created_at": iso(self.created_at),
            "last_execution_time": None if self.looked_at is None else iso(self.looked_at),
            "next_execution_time": None if self.due is None else iso(self.due),
            "is_active": self.active,
            "account_id": account,
            "user_id": self.owner,
            "original_role": self.role,
            "run_task_id": self.task or None,
            "is_running": self.running,
            "last_status": self.status or None,
            "last_error": self.error or None,
            "failures": self.failures,
        }


def without_secrets(location: str) -> str:
    """A URL without the name and password that may stand in it."""
    return _USER_INFO.sub(f"{HIDDEN}@", location, count=1)


def _shown(value: Any) -> Any:
    """``value`` with `HIDDEN` in place of everything whose name sounds like a secret."""
    if isinstance(value, Mapping):
        return {name: HIDDEN if _SECRET.search(str(name)) else _shown(held) for name, held in value.items()}
    return [_shown(one) for one in value] if isinstance(value, list) else value
