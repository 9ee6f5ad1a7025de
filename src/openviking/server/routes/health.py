"""Whether the server is there, and whether it can work (contract/core.md §3.1)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse

from openviking import __version__
from openviking.server.envelope import Json
from openviking.service.services import Services

router = APIRouter(tags=["health"])


@router.get("/health")
async def health(request: Request) -> Json:
    """Always 200 while the server answers; who sends a valid key is told who they are."""
    services: Services = request.app.state.services
    told: dict[str, Any] = {"status": "ok", "healthy": True, "version": __version__, "auth_mode": services.rules.mode}
    caller = request.state.caller
    if caller is not None:
        told |= {"account_id": caller.account, "user_id": caller.user, "role": caller.role}
    return Json(told)


@router.get("/ready")
async def ready(request: Request) -> Json:
    """Whether calls can be served: 200, or 503 with the reason."""
    services: Services = request.app.state.services
    told = await request.app.state.lanes.quick.run(services.readiness.checks)
    return Json(told, status_code=200 if told["status"] == "ready" else 503)


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics() -> PlainTextResponse:
    """Always 404: this version counts nothing."""
    return PlainTextResponse("metrics are not part of this version\n", status_code=404)
