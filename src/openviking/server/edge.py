"""What every route has at hand: the services, who is calling, and the hop into a thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from openviking.model.identity import Identity
from openviking.server.envelope import Json, success
from openviking.server.lanes import Lane
from openviking.service.services import Services

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lanes:
    """``quick`` is for calls that end by themselves soon, ``patient`` for those that wait for work behind a write."""

    quick: Lane
    patient: Lane

    def close(self) -> None:
        """End both."""
        self.quick.close()
        self.patient.close()


@dataclass(frozen=True, slots=True)
class Edge:
    """One authenticated request."""

    services: Services
    caller: Identity
    lanes: Lanes

    async def call(self, call: Callable[[], T], *, wait: bool = False) -> T:
        """What ``call`` gives, from a thread; ``wait`` for one that may wait for background work."""
        return await (self.lanes.patient if wait else self.lanes.quick).run(call)

    async def answer(self, call: Callable[[], Any], *, wait: bool = False, lean: bool = False) -> Json:
        """The envelope of what ``call`` gives."""
        return success(await self.call(call, wait=wait), lean=lean)


def _edge(request: Request) -> Edge:
    state = request.app.state
    return Edge(state.services, request.state.caller, state.lanes)


Caller = Annotated[Edge, Depends(_edge)]
"""The parameter of a route that needs a caller."""
