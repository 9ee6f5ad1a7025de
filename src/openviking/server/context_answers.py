"""The envelope of a context, for the routes that give one."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any, Final

from openviking.server.bodies import Telemetry
from openviking.server.edge import Edge
from openviking.server.envelope import Json, success
from openviking.service.context_search import ContextAnswer

MODEL_STAGES: Final = frozenset({"vectors", "rerank", "query_plan", "rewrite"})
"""Stages of a context that a model has a part in."""


async def context_answer(edge: Edge, call: Callable[[], ContextAnswer], telemetry: Telemetry, operation: str) -> Json:
    """The envelope of the context that ``call`` gives, with what it took if that is asked for."""

    def answered() -> Json:
        began = time.perf_counter()
        answer = call()
        told: dict[str, Any] | None = None
        if telemetry is not False:
            told = {"id": f"tm_{uuid.uuid4().hex}"}
            if telemetry is True or telemetry.summary:
                told["summary"] = {
                    "operation": operation,
                    "status": "ok",
                    "duration_ms": round((time.perf_counter() - began) * 1000, 3),
                    **answer.work.to_dict(len(answer.result.entries)),
                    **_errors(answer),
                }
        return success(answer.result.to_dict(), lean=True, telemetry=told)

    return await edge.call(answered, asks=True)


def _errors(answer: ContextAnswer) -> dict[str, Any]:
    """The first model that did not do its part, if there is one: the context is there all the same."""
    failed = next((one for one in answer.degraded if one.stage in MODEL_STAGES), None)
    return {"errors": {"stage": failed.stage, "error_code": "DEGRADED", "message": failed.reason}} if failed else {}
