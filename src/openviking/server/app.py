"""The application: routes, what stands around them, and their life."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from openviking import __version__
from openviking.mcp.links import Tickets
from openviking.server import failures, reference, schema
from openviking.server.addresses import Addresses
from openviking.server.body_limit import BodyLimit
from openviking.server.fixed_paths import FixedPaths
from openviking.server.guard import Guard
from openviking.server.headers import RequestHeaders
from openviking.server.lanes import Lane, Lanes
from openviking.server.origin import OwnPages
from openviking.server.routes import ROUTERS
from openviking.server.routes.mcp import MCP_ROUTES, RpcFailures
from openviking.server.signed_links import SignedLinks
from openviking.service.services import Services

PATIENT_THREADS: Final = 32
PATIENT_QUEUE: Final = 0
"""Calls that wait hold a thread each; one that found none would wait for the waiting."""


def create_app(services: Services) -> FastAPI:
    """The application on ``services``, which it starts and closes with itself."""
    settings = services.settings.server

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        lanes = Lanes(
            Lane("quick", settings.threads, settings.queue),
            Lane("asking", settings.threads, settings.queue),
            Lane("waiting", PATIENT_THREADS, PATIENT_QUEUE),
        )
        app.state.services = services
        app.state.lanes = lanes
        app.state.tickets = Tickets(settings.upload_signed_ttl_seconds)
        services.start()
        try:
            yield
        finally:
            # Calls that wait for background work end with it.
            services.begin_to_stop()
            lanes.close()
            services.close()

    routes = [route for router in ROUTERS for route in router.routes]
    app = FastAPI(
        title="OpenViking",
        version=__version__,
        lifespan=life,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        routes=[FixedPaths(routes), *routes, *MCP_ROUTES],
    )
    failures.install(app)
    schema.install(app)
    reference.install(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(Guard, services=services)
    app.add_middleware(SignedLinks, services=services)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=list(settings.cors_origins),
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=["X-Request-ID"],
    )
    app.add_middleware(Addresses)
    app.add_middleware(OwnPages, rules=services.rules, origins=settings.cors_origins)
    app.add_middleware(RpcFailures)
    app.add_middleware(RequestHeaders)
    return app
