"""The state of the system over HTTP (contract/core.md §3.1)."""

from __future__ import annotations

from fastapi import APIRouter

from openviking.server.bodies import Lenient, Strict
from openviking.server.edge import Caller
from openviking.server.envelope import Json, success

router = APIRouter(prefix="/api/v1/system", tags=["system"])


@router.get("/status")
async def status(edge: Caller) -> Json:
    """Whether the system is ready, and who is asking."""
    return success({"initialized": True, "user": edge.caller.user})


class Wait(Lenient):
    """How long to wait, in seconds; null: as long as it takes."""

    timeout: float | None = None


@router.post("/wait")
async def wait(edge: Caller, body: Wait | None = None) -> Json:
    """Wait for what was queued before; what each queue had to do."""
    timeout = None if body is None else body.timeout
    return await edge.answer(lambda: edge.services.observer.wait(edge.caller, timeout), wait=True)


class Erase(Strict):
    """Whether the whole database is written anew: true, false, or null for up to 512 MiB."""

    rewrite: bool | None = None


@router.post("/erase")
async def erase(edge: Caller, body: Erase | None = None) -> Json:
    """Begin to overwrite on the disk what was removed from the account; a task tells what was done."""
    return await edge.answer(
        lambda: edge.services.erasing.start(edge.caller, rewrite=None if body is None else body.rewrite)
    )


class Consistency(Lenient):
    """Which part of the tree to look at, for how many seconds (null: 30), and from where on an earlier call left it."""

    uri: str
    timeout: float | None = None
    cursor: str | None = None


@router.post("/consistency")
async def consistency(edge: Caller, body: Consistency) -> Json:
    """Compare the files at and below a place with what the index has of them; what is wrong, and what mends it."""
    call = lambda: edge.services.system.consistency(  # noqa: E731
        edge.caller, body.uri, timeout=body.timeout, cursor=body.cursor
    )
    return await edge.answer(call, wait=True)
