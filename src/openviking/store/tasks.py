"""What the rooms above ask of the tasks of one account.

Every task belongs to a job and is made with it (`openviking.store.jobs.NewJob.task`). The queue tells its tasks, in
its own transactions: a job that is claimed makes its task ``running``, one that is given back or tried again
``pending``, one that is given up ``failed``, one that is over ``completed``; so none is ``running`` for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from openviking.model.task import Status, Task

FINISHED_MS: Final = 24 * 3_600_000
"""How long a completed or cancelled task is kept."""

FAILED_MS: Final = 7 * 24 * 3_600_000
"""How long a failed task is kept."""

Ending = Literal["completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Which tasks of an owner are meant; "" means any. ``text`` is part of an id, a type or a resource."""

    type: str = ""
    status: Status | Literal[""] = ""
    resource_id: str = ""
    text: str = ""
    internal: bool = False


class TaskStore(Protocol):
    """The tasks of one account; those whose time is over are gone for every reader."""

    def get(self, task_id: str, owner: str | None) -> Task | None:
        """A task of ``owner`` (None: of anybody)."""
        ...

    def find(self, owner: str, wanted: TaskFilter, limit: int, before: int | None = None) -> list[Task]:
        """Tasks of an owner, newest first; with ``before`` those with a smaller number only."""
        ...

    def under_way(self, kind: str, resource_id: str) -> Task | None:
        """A task of this type for this resource that is not over, whoever owns it."""
        ...

    def note(self, task_id: str, stage: str, progress: dict[str, Any] | None) -> Status | None:
        """Say how far a task is; its status, None if it is unknown. A task that is over stays as it is."""
        ...

    def status(self, task_id: str) -> Status | None:
        """The status of a task, None if it is unknown."""
        ...

    def end(self, task_id: str, ending: Ending, *, result: Any = None, error: str = "") -> bool:
        """End a task and its job, with what it made or why it failed; False if it is over already."""
        ...

    def cancel(self, task_id: str) -> Task:
        """Cancel a task: at once while its job waits or was left by a dead process, else by telling who works on it.

        Raises `NotFoundError`, `FailedPreconditionError` for a task that is over.
        """
        ...

    def cancel_all(self, owner: str, *, but: str) -> int:
        """Cancel every active task of an owner except ``but``; how many are still worked on."""
        ...

    def forget(self, owner: str, *, but: str) -> None:
        """Remove the tasks of an owner that are over, except ``but``."""
        ...
