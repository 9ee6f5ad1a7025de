"""One file for each use case, as in `service`."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from openviking.server.routes import (
    absent,
    admin,
    content,
    debug,
    fs,
    health,
    observer,
    relations,
    resources,
    search,
    sessions,
    skills,
    system,
    tasks,
    uploads,
    watches,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    health.router,
    system.router,
    fs.router,
    content.router,
    uploads.router,
    resources.router,
    search.router,
    sessions.router,
    skills.router,
    tasks.router,
    watches.router,
    relations.router,
    admin.router,
    observer.router,
    debug.router,
    absent.router,
)
