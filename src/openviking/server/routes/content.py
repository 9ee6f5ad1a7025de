"""Reading and writing files over HTTP (contract/core.md §3.3)."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import Response

from openviking.server.bodies import Strict, Telemetry
from openviking.server.edge import Caller
from openviking.server.envelope import Json
from openviking.server.routes.fs import SetTags, set_tags

router = APIRouter(prefix="/api/v1/content", tags=["content"])


@router.get("/read")
async def read(edge: Caller, uri: str, offset: int = 0, limit: int = -1, raw: bool = False) -> Json:
    """The text of a file, or ``limit`` lines of it from line ``offset``; ``uri#L3-L9`` gives those lines."""
    return await edge.answer(lambda: edge.services.content.read(edge.caller, uri, offset, limit, raw=raw))


@router.get("/abstract")
async def abstract(edge: Caller, uri: str) -> Json:
    """The L0 of a directory, for a file that of its parent."""
    return await edge.answer(lambda: edge.services.content.abstract(edge.caller, uri))


@router.get("/overview")
async def overview(edge: Caller, uri: str) -> Json:
    """The L1 of a directory, for a file that of its parent."""
    return await edge.answer(lambda: edge.services.content.overview(edge.caller, uri))


@router.get("/download", response_class=Response)
async def download(edge: Caller, uri: str) -> Response:
    """The original bytes of a file."""
    data = await edge.call(lambda: edge.services.content.download(edge.caller, uri))
    name = quote(uri.rstrip("/").rpartition("/")[2], safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}", "X-Content-Type-Options": "nosniff"}
    return Response(data, media_type="application/octet-stream", headers=headers)


class Write(Strict):
    """The text of a file."""

    uri: str
    content: str
    mode: str = "replace"
    wait: bool = False
    timeout: float | None = None
    processing_mode: Literal["semantic_and_vectors", "vectors_only"] = "semantic_and_vectors"
    tags: list[str] | None = None
    tag_mode: Literal["replace", "append"] = "replace"
    edit_source: str | None = None
    telemetry: Telemetry = False


@router.post("/write")
async def write(edge: Caller, body: Write) -> Json:
    """Write a file; what it says is found when this returns."""

    def call() -> dict[str, object]:
        content, fs = edge.services.content, edge.services.fs
        result = content.write(edge.caller, body.uri, body.content, body.mode, wait=body.wait, timeout=body.timeout)
        if body.tags is not None:
            fs.set_tags(edge.caller, body.uri, body.tags, mode=body.tag_mode)
        return result

    return await edge.answer(call, wait=body.wait, lean=True)


@router.post("/set_tags")
async def set_content_tags(edge: Caller, body: SetTags) -> Json:
    """Change the tags of a node, or of all below it."""
    return await set_tags(edge, body)
