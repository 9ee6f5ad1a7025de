"""Work that goes on in the server."""

from __future__ import annotations

from typing import Any, Literal

from openviking_sdk.call import Call, Default, a_list, an_object, given
from openviking_sdk.uri import segment

Status = Literal["pending", "running", "cancelling", "completed", "failed", "cancelled"]


def get_task(task_id: str) -> Call[dict[str, Any] | None]:
    """A task's ``status``, ``stage``, ``result``, ``error`` and more; None if it is unknown, forgotten or another's."""
    return Call(
        method="GET",
        path=f"/api/v1/tasks/{segment(task_id, 'task_id')}",
        read=an_object,
        repeatable=True,
        absent=Default(None),
    )


def list_tasks(
    task_type: str | None = None,
    status: Status | None = None,
    resource_id: str | None = None,
    limit: int | None = None,
) -> Call[list[Any]]:
    """The caller's tasks, newest first, at most ``limit`` (50, up to 200); ``resource_id`` is what they work on."""
    return Call(
        method="GET",
        path="/api/v1/tasks",
        query=given(task_type=task_type, status=status, resource_id=resource_id, limit=limit),
        read=a_list,
        repeatable=True,
    )


def cancel_task(task_id: str) -> Call[dict[str, Any]]:
    """Stop a task; gives it, ``cancelling`` or ``cancelled``.

    Raises `NotFoundError`, and `FailedPreconditionError` for one that has ended or can't be stopped.
    """
    return Call(method="POST", path=f"/api/v1/tasks/{segment(task_id, 'task_id')}/cancel", read=an_object)
