"""Watches over HTTP (contract/core.md §3.13)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from openviking.server.bodies import Strict
from openviking.server.edge import Caller
from openviking.server.envelope import Json

router = APIRouter(prefix="/api/v1/watches", tags=["watches"])


class UpdateWatch(Strict):
    """What is to be changed; what is absent or null stays."""

    watch_interval: float | None = None
    is_active: bool | None = None
    reason: str | None = None
    instruction: str | None = None


@router.get("")
async def find(edge: Caller, active_only: bool = False, to_uri: str | None = None) -> Json:
    """The caller's watches, the oldest first; with ``to_uri`` the record of the one that fills it."""

    def call() -> dict[str, Any]:
        if to_uri is not None:
            return edge.services.watches.get(edge.caller, None, to_uri, active_only=active_only)
        return edge.services.watches.find(edge.caller, active_only=active_only)

    return await edge.answer(call)


@router.patch("")
async def update_by_uri(edge: Caller, to_uri: str, body: UpdateWatch) -> Json:
    """Change the watch that fills ``to_uri``."""
    return await edge.answer(lambda: edge.services.watches.update(edge.caller, None, to_uri, **body.model_dump()))


@router.delete("")
async def delete_by_uri(edge: Caller, to_uri: str) -> Json:
    """Forget the watch that fills ``to_uri``, not what is there."""
    return await edge.answer(lambda: edge.services.watches.delete(edge.caller, None, to_uri))


@router.post("/trigger")
async def trigger_by_uri(edge: Caller, to_uri: str) -> Json:
    """Look now at the source that fills ``to_uri``; ``run_task_id`` is the import."""
    return await edge.answer(lambda: edge.services.watches.trigger(edge.caller, None, to_uri))


@router.get("/{task_id}")
async def get(edge: Caller, task_id: str, to_uri: str | None = None) -> Json:
    """The record of a watch."""
    return await edge.answer(lambda: edge.services.watches.get(edge.caller, task_id, to_uri))


@router.patch("/{task_id}")
async def update(edge: Caller, task_id: str, body: UpdateWatch, to_uri: str | None = None) -> Json:
    """Change a watch."""
    return await edge.answer(lambda: edge.services.watches.update(edge.caller, task_id, to_uri, **body.model_dump()))


@router.delete("/{task_id}")
async def delete(edge: Caller, task_id: str, to_uri: str | None = None) -> Json:
    """Forget a watch, not what it filled."""
    return await edge.answer(lambda: edge.services.watches.delete(edge.caller, task_id, to_uri))


@router.post("/{task_id}/trigger")
async def trigger(edge: Caller, task_id: str, to_uri: str | None = None) -> Json:
    """Look now at the source of a watch; ``run_task_id`` is the import."""
    return await edge.answer(lambda: edge.services.watches.trigger(edge.caller, task_id, to_uri))
