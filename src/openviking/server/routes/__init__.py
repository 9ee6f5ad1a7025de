"""One file for each use case, as in `service`."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from openviking.server.routes import content, fs, health, search, system

ROUTERS: Final[tuple[APIRouter, ...]] = (
    health.router,
    system.router,
    fs.router,
    content.router,
    search.router,
)
