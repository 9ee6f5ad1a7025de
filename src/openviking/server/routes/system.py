"""The state of the system over HTTP (contract/core.md §3.1)."""

from __future__ import annotations

from fastapi import APIRouter

from openviking.server.bodies import Lenient
from openviking.server.edge import Caller
from openviking.server.envelope import Json, success

router = APIRouter(prefix="/api/v1/system", tags=["system"])


@router.get("/status")
async def status(edge: Caller) -> Json:
    """Whether the system is ready, and who is asking."""
    return success({"initialized": True, "user": edge.caller.user})


class Wait(Lenient):
    """How long to wait, in seconds; null: as long as it takes."""

    timeout: float | None = None
