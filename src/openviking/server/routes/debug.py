"""Looking into the index over HTTP (contract/core.md §3.12)."""

from __future__ import annotations

from fastapi import APIRouter

from openviking.errors import UnimplementedError
from openviking.server.edge import Caller
from openviking.server.envelope import Json

router = APIRouter(prefix="/api/v1/debug", tags=["debug"])


@router.get("/health")
async def health(edge: Caller) -> Json:
    """Whether store and disk work."""
    return await edge.answer(lambda: {"healthy": edge.services.observer.is_healthy(edge.caller)})


@router.get("/vector/count")
async def count(edge: Caller, filter: str | None = None, uri: str | None = None) -> Json:  # noqa: A002
    """How many records the caller may see at and below a place; a ``filter`` is not part of this version."""
    if filter is not None:
        raise UnimplementedError("filter is not part of this version", field="filter")
    return await edge.answer(lambda: {"count": edge.services.observer.count(edge.caller, uri)})
