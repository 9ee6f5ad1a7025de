"""What every route has at hand: the services, who is calling, and the hop into a thread."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from openviking.errors import FailedPreconditionError, InvalidArgumentError, UnavailableError
from openviking.model.identity import Identity
from openviking.server.bodies import Telemetry
from openviking.server.envelope import Json, success
from openviking.server.lanes import Lanes
from openviking.service.services import Services

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edge:
    """One authenticated request."""

    services: Services
    caller: Identity
    lanes: Lanes

    async def call(self, call: Callable[[], T], *, wait: bool = False, asks: bool = False) -> T:
        """What ``call`` gives, from a thread; ``wait`` for one that may wait for background work, ``asks`` for a model."""
        lane = self.lanes.patient if wait else self.lanes.asking if asks else self.lanes.quick
        try:
            return await lane.run(call)
        except (FailedPreconditionError, UnavailableError) as error:
            if self.services.stopping() and isinstance(error, FailedPreconditionError):
                raise UnavailableError(
                    f"The server is stopping: {error.message}", service="server", reason="stopping"
                ) from error
            if "store" in (error.details.get("resource"), error.details.get("service")):
                # Its store may be gone because its account is.
                await lane.run(lambda: self.services.check_caller(self.caller))
            raise
        except UnicodeEncodeError as error:
            # Only half of a surrogate pair has no bytes, and only JSON can bring one.
            raise InvalidArgumentError(
                "A text of the call is not valid Unicode: it has half of a surrogate pair"
            ) from error

    async def answer(
        self,
        call: Callable[[], Any],
        *,
        wait: bool = False,
        asks: bool = False,
        lean: bool = False,
        status: int = 200,
        operation: str = "",
        telemetry: Telemetry = False,
    ) -> Json:
        """The envelope of what ``call`` gives, with the time it took if ``telemetry`` is asked for.

        It is made in the thread too: a long list must not keep the loop from serving others.
        """

        def answered() -> Json:
            if telemetry is False:
                return success(call(), lean=lean, status=status)
            began = time.perf_counter()
            result = call()
            told: dict[str, Any] = {"id": f"tm_{uuid.uuid4().hex}"}
            if telemetry is True or telemetry.summary:
                taken = round((time.perf_counter() - began) * 1000, 3)
                told["summary"] = {"operation": operation, "status": "ok", "duration_ms": taken}
            return success(result, lean=lean, status=status, telemetry=told)

        return await self.call(answered, wait=wait, asks=asks)


async def _edge(request: Request) -> Edge:
    # Not a plain function: those cost a hop into a thread each.
    state = request.app.state
    return Edge(state.services, request.state.caller, state.lanes)


Caller = Annotated[Edge, Depends(_edge)]
"""The parameter of a route that needs a caller."""
