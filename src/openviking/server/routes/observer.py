"""The state of the system's parts over HTTP (contract/core.md §3.11)."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from openviking.server.edge import Caller
from openviking.server.envelope import Json

router = APIRouter(prefix="/api/v1/observer", tags=["observer"])

Format = Annotated[Literal["text", "json"] | None, Query(description="``status`` is a text in either.")]


@router.get("/queue")
async def queue(edge: Caller, format: Format = None) -> Json:  # noqa: A002, ARG001
    """What is waiting and what was given up, as a table."""
    return await edge.answer(lambda: edge.services.observer.queue(edge.caller))


@router.get("/vikingdb")
async def vikingdb(edge: Caller, format: Format = None) -> Json:  # noqa: A002, ARG001
    """Records, passages and vectors, as a table."""
    return await edge.answer(lambda: edge.services.observer.vikingdb(edge.caller))


@router.get("/models")
async def models(edge: Caller, format: Format = None) -> Json:  # noqa: A002, ARG001
    """The models and whether they answer, as a table."""
    return await edge.answer(lambda: edge.services.observer.models(edge.caller))


@router.get("/lock")
async def lock(edge: Caller, format: Format = None) -> Json:  # noqa: A002, ARG001
    """Locks, of which there are none."""
    return await edge.answer(lambda: edge.services.observer.lock(edge.caller))


@router.get("/retrieval")
async def retrieval(edge: Caller, format: Format = None) -> Json:  # noqa: A002, ARG001
    """What find searches with at this moment."""
    return await edge.answer(lambda: edge.services.observer.retrieval(edge.caller))


@router.get("/filesystem")
async def filesystem(edge: Caller, format: Format = None) -> Json:  # noqa: A002, ARG001
    """Files, directories and the disk, as a table."""
    return await edge.answer(lambda: edge.services.observer.filesystem(edge.caller))


@router.get("/system")
async def system(edge: Caller, format: Format = None) -> Json:  # noqa: A002, ARG001
    """All parts, and whether they are well together."""
    return await edge.answer(lambda: edge.services.observer.system(edge.caller))
