"""Reading and writing files over HTTP (contract/core.md §3.3)."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from openviking.errors import InvalidArgumentError, UnimplementedError
from openviking.server.bodies import Strict, Telemetry, refuse_acl
from openviking.server.edge import Caller
from openviking.server.envelope import Json
from openviking.server.routes.fs import SetTags, set_tags
from openviking.service.content import Sent

ProcessingMode = Literal["semantic_and_vectors", "vectors_only"]
"""Accepted for what it asks; summaries cost no model here, so both are made in either."""

TagMode = Literal["replace", "append"]

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
async def download(edge: Caller, uri: str | None = None, token: str | None = None) -> Response:
    """The original bytes of a file."""
    if token is not None:
        raise UnimplementedError("Downloads by token are not part of this version", field="token")
    if uri is None:
        raise InvalidArgumentError("uri is missing", field="uri")
    sent = await edge.call(lambda: edge.services.content.sent(edge.caller, uri))
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(sent.name, safe='')}",
        "Content-Length": str(sent.size),
        "X-Content-Type-Options": "nosniff",
    }
    return Sending(sent, headers)


class Sending(StreamingResponse):
    """A file sent in pieces, which are read in threads; it is closed whatever becomes of the client."""

    media_type = "application/octet-stream"

    def __init__(self, sent: Sent, headers: dict[str, str]) -> None:
        super().__init__(sent.pieces(), headers=headers)
        self._sent = sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._sent.file.close()


class Write(Strict):
    """The text of a file."""

    uri: str
    content: str
    mode: str = "replace"
    wait: bool = False
    timeout: float | None = None
    processing_mode: ProcessingMode = "semantic_and_vectors"
    tags: list[str] | None = None
    tag_mode: TagMode = "replace"
    acl: Any = None
    edit_source: str | None = None
    telemetry: Telemetry = False


@router.post("/write")
async def write(edge: Caller, body: Write) -> Json:
    """Write a file; what it says is found when this returns."""

    def call() -> dict[str, Any]:
        refuse_acl(body.acl)
        return edge.services.content.write(
            edge.caller, body.uri, body.content, body.mode, wait=body.wait, timeout=body.timeout, tags=body.tags,
            tag_mode=body.tag_mode,
        )  # fmt: skip

    return await edge.answer(call, wait=body.wait, lean=True, operation="content.write", telemetry=body.telemetry)


class BatchOperation(Strict):
    """One file of a batch: its text, or its bytes in base64."""

    uri: str
    content: str | None = None
    content_base64: str | None = None
    mode: str = "replace"


class BatchWrite(Strict):
    """Files below an existing directory, written all or none."""

    root_uri: str
    operations: list[BatchOperation]
    wait: bool = True
    timeout: float | None = None
    skip_conflicts: bool = False
    defer_processing: bool = False
    processing_mode: ProcessingMode = "semantic_and_vectors"
    edit_source: str | None = None
    telemetry: Telemetry = False


@router.post("/batch-write")
async def batch_write(edge: Caller, body: BatchWrite) -> Json:
    """Write up to 256 files in one transaction; ``skip_conflicts`` leaves out those whose mode does not fit."""
    wait = body.wait and not body.defer_processing
    call = lambda: edge.services.batches.write(  # noqa: E731
        edge.caller, body.root_uri, [one.model_dump() for one in body.operations], wait=wait, timeout=body.timeout,
        skip_conflicts=body.skip_conflicts,
    )  # fmt: skip
    return await edge.answer(call, wait=wait, lean=True, operation="content.batch_write", telemetry=body.telemetry)


class Reindex(Strict):
    """What is to be indexed anew, and how."""

    uri: str
    mode: str = "vectors_only"
    force: bool = False
    wait: bool = True
    timeout: float | None = None
    dry_run: bool = False
    recursive: bool = True
    tags: list[str] | None = None
    tag_mode: TagMode = "replace"


@router.post("/reindex")
async def reindex(edge: Caller, body: Reindex) -> Json:
    """Index what is at and below a place anew; without ``wait`` as a task."""
    call = lambda: edge.services.reindexing.start(  # noqa: E731
        edge.caller, body.uri, body.mode, wait=body.wait, timeout=body.timeout, dry_run=body.dry_run,
        force=body.force, recursive=body.recursive, tags=body.tags, tag_mode=body.tag_mode,
    )  # fmt: skip
    return await edge.answer(call, wait=body.wait)


@router.post("/set_tags")
async def set_content_tags(edge: Caller, body: SetTags) -> Json:
    """Change the tags of a node, or of all below it."""
    return await set_tags(edge, body)
