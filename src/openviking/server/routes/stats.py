"""Counters over HTTP (contract/core.md §3.12)."""

from __future__ import annotations

from fastapi import APIRouter

from openviking.server.edge import Caller
from openviking.server.envelope import Json

router = APIRouter(prefix="/api/v1/stats", tags=["stats"])


@router.get("/memories")
async def memories(edge: Caller, category: str | None = None) -> Json:
    """How many memories there are, by type and by partner."""
    return await edge.answer(lambda: edge.services.stats.memories(edge.caller, category))


@router.get("/sessions/{session_id}")
async def session(edge: Caller, session_id: str) -> Json:
    """What is counted of a session."""
    return await edge.answer(lambda: edge.services.stats.session(edge.caller, session_id))
