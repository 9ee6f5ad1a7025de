"""The short way to a route leads to the same route, and a call is worth one thread."""

from __future__ import annotations

import threading
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import Match

from openviking.server.fixed_paths import FixedPaths
from openviking.server.routes import ROUTERS

ROUTES = [route for router in ROUTERS for route in router.routes]


def scope(method: str, path: str) -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path, "headers": [], "path_params": {}}


def test_every_route_is_reached_by_the_short_way_or_by_none() -> None:
    short = FixedPaths(ROUTES)
    for route in ROUTES:
        assert isinstance(route, APIRoute)
        for method in route.methods or ():
            match, told = short.matches(scope(method, route.path))
            if "{" in route.path:
                assert match == Match.NONE, route.path
            else:
                asked = scope(method, route.path)
                first = next(one for one in ROUTES if one.matches(asked)[0] == Match.FULL)
                assert (match, told["endpoint"]) == (Match.FULL, first.matches(asked)[1]["endpoint"]), route.path


def test_what_no_fixed_path_serves_is_answered_as_before(api: Any) -> None:
    assert api.call("GET", "search/find").status_code == 405
    assert api.call("POST", "search/find/").status_code == 404
    assert api.call("GET", "sessions/none").status_code == 404


def test_a_call_hops_into_one_thread_and_none_besides(api: Any) -> None:
    others = set(threading.enumerate())
    api.write("viking://resources/a.md", "zebra")
    assert api.post("search/find", query="zebra", level=2)["total"] == 1
    assert api.get("content/read", uri="viking://resources/a.md") == "zebra"
    names = {thread.name for thread in set(threading.enumerate()) - others}
    assert any(name.startswith("openviking-quick") for name in names)
    assert not [name for name in names if "worker thread" in name]
