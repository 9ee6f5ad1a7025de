"""Tasks over HTTP (contract/core.md §3.8)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from openviking.server.edge import Caller
from openviking.server.envelope import Json, success

router = APIRouter(prefix="/api/v1/tasks", tags=["tasks"])


@router.get("")
async def find(
    edge: Caller,
    task_type: str | None = None,
    status: str | None = None,
    resource_id: str | None = None,
    include_internal: bool = False,
    limit: int = 50,
    pagination: bool = False,
    cursor: str | None = None,
    q: str | None = None,
) -> Json:
    """The caller's tasks, newest first; ``pagination`` gives an object with ``tasks`` and ``next_cursor``."""
    found = await edge.call(
        lambda: edge.services.tasks.find(
            edge.caller, task_type=task_type, status=status, resource_id=resource_id, q=q,
            include_internal=include_internal, limit=limit, cursor=cursor,
        )
    )  # fmt: skip
    page: dict[str, Any] = {"next_cursor": found.next_cursor, "has_more": found.has_more}
    if pagination or cursor is not None:
        return success({"tasks": list(found), "total": len(found), **page})
    return success(list(found), beside=page)


@router.get("/{task_id}")
async def get(edge: Caller, task_id: str, include_events: bool = False) -> Json:
    """The record of a task; ``events`` are an empty list if asked for: this version keeps none."""

    def call() -> dict[str, Any]:
        record = edge.services.tasks.get(edge.caller, task_id)
        return {**record, "events": []} if include_events else record

    return await edge.answer(call)


@router.post("/{task_id}/cancel")
async def cancel(edge: Caller, task_id: str) -> Json:
    """Cancel a task; it is ``cancelling`` until who works on it has stopped."""
    return await edge.answer(lambda: edge.services.tasks.cancel(edge.caller, task_id))
