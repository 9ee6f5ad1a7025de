"""Work that a caller can watch: what a task is, and its states (contract/core.md §3.8)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from openviking.clock import iso

Status = Literal["pending", "running", "cancelling", "completed", "failed", "cancelled"]
STATUSES: Final[tuple[Status, ...]] = get_args(Status)
ACTIVE: Final[frozenset[Status]] = frozenset({"pending", "running", "cancelling"})

TASK_TYPES: Final = (
    "add_resource", "add_skill", "session_commit", "admin_reindex", "snapshot_restore_reindex", "legacy_migration",
    "legacy_cleanup", "user_delete", "erase",
)  # fmt: skip
CANCELLABLE: Final = frozenset({"add_resource", "session_commit", "admin_reindex", "snapshot_restore_reindex"})


def new_task_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to be made together with its job; ``owner`` is the user who alone may see it ("": no user).

    ``internal`` ones, which nobody asked for by name, are listed on demand only.
    """

    type: str
    owner: str
    resource_id: str = ""
    meta: dict[str, Any] = field(default_factory=dict)
    internal: bool = False
    id: str = field(default_factory=new_task_id)


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it is now; times in milliseconds since the epoch.

    ``progress`` says how far the present ``stage`` is (None: unknown). ``error`` is the reason of a failed task, of
    one that waits for another attempt that of the last.
    """

    number: int
    id: str
    type: str
    owner: str
    status: Status
    created_at: int
    updated_at: int
    resource_id: str
    meta: dict[str, Any]
    stage: str
    progress: dict[str, Any] | None
    result: Any
    error: str
    internal: bool

    @property
    def over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status not in ACTIVE

    def to_dict(self) -> dict[str, Any]:
        """The record of contract/core.md §3.8, with ``progress`` beside its fields."""
        return {
            "task_id": self.id,
            "task_type": self.type,
            "status": self.status,
            "created_at": self.created_at / 1000,
            "updated_at": self.updated_at / 1000,
            "created_at_iso": iso(self.created_at),
            "updated_at_iso": iso(self.updated_at),
            "resource_id": self.resource_id or None,
            "meta": self.meta,
            "stage": self.stage or None,
            "progress": self.progress,
            "result": self.result,
            "error": self.error or None,
        }
