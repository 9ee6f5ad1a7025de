"""Links between directories and what belongs to them, over HTTP (contract/retrieval.md §8.8)."""

from __future__ import annotations

from fastapi import APIRouter

from openviking.server.bodies import Strict
from openviking.server.edge import Caller
from openviking.server.envelope import Json

router = APIRouter(prefix="/api/v1/relations", tags=["relations"])


class Link(Strict):
    """A directory, what it is linked to, and why."""

    from_uri: str
    to_uris: str | list[str]
    reason: str = ""


class Unlink(Strict):
    """A directory, and what it is no longer linked to."""

    from_uri: str
    to_uri: str


@router.get("")
async def relations(edge: Caller, uri: str) -> Json:
    """What a directory is linked to."""
    return await edge.answer(lambda: edge.services.relations.relations(edge.caller, uri))


@router.post("/link")
async def link(edge: Caller, body: Link) -> Json:
    """Link a directory to one or more places."""
    return await edge.answer(
        lambda: edge.services.relations.link(edge.caller, body.from_uri, body.to_uris, body.reason)
    )


@router.delete("/link")
async def unlink(edge: Caller, body: Unlink) -> Json:
    """Undo a link; one that is not there is no error."""
    return await edge.answer(lambda: edge.services.relations.unlink(edge.caller, body.from_uri, body.to_uri))
