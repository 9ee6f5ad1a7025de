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
    recall,
    relations,
    resources,
    search,
    sessions,
    skills,
    stats,
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
    recall.router,
    sessions.router,
    stats.router,
    skills.router,
    tasks.router,
    watches.router,
    relations.router,
    admin.router,
    observer.router,
    debug.router,
    absent.router,
)
