"""Routes whose path has no parameters, found by their name instead of by trying the pattern of every route."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send


class FixedPaths(BaseRoute):
    """A route that stands for all of ``routes`` with a fixed path; it matches nothing else, so that others follow it.

    With a hundred routes the patterns cost as much as the rest of a small request.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._routes: dict[tuple[str, str], APIRoute] = {}
        for route in routes:
            if isinstance(route, APIRoute) and "{" not in route.path:
                for method in route.methods or ():
                    self._routes.setdefault((method, route.path), route)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether one of the routes serves this method at this path, and what it says about itself."""
        route = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        return (Match.NONE, {}) if route is None else route.matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that matched."""
        await self._routes[scope["method"], scope["path"]].handle(scope, receive, send)
