"""Whether the server is there, and whether it can work (contract/core.md §3.1)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from openviking import __version__
from openviking.server.envelope import Json

router = APIRouter(tags=["health"])


@router.get("/health")
async def health(request: Request) -> Json:
    """Always 200 while the server answers; who sends a valid key is told who they are."""
    services = request.app.state.services
    told: dict[str, Any] = {"status": "ok", "healthy": True, "version": __version__, "auth_mode": services.rules.mode}
    caller = request.state.caller
    if caller is not None:
        told |= {"account_id": caller.account, "user_id": caller.user, "role": caller.role}
    return Json(told)
