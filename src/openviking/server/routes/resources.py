"""Adding resources over HTTP (contract/core.md §3.4)."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import Field

from openviking.server.bodies import Strict, Telemetry, refuse_acl
from openviking.server.edge import Caller
from openviking.server.envelope import Json
from openviking.service.imports import Addition

router = APIRouter(prefix="/api/v1/resources", tags=["resources"])


class AddResource(Strict):
    """What is to be added: an upload (``temp_file_id``) or a URL (``path``), and where it goes."""

    path: str | None = None
    temp_file_id: str | None = None
    add_type: str | None = None
    to: str | None = None
    parent: str | None = None
    create_parent: bool = False
    reason: str = ""
    instruction: str = ""
    wait: bool = False
    timeout: float | None = Field(default=None, ge=0)
    strict: bool = False
    internal_task: bool = False
    source_name: str | None = None
    ignore_dirs: str | None = None
    include: str | None = None
    exclude: str | None = None
    directly_upload_media: bool = True
    preserve_structure: bool | None = None
    args: dict[str, Any] = Field(default_factory=dict)
    telemetry: Telemetry = False
    watch_interval: float | None = None
    is_active: bool | None = None
    processing_mode: Literal["semantic_and_vectors", "vectors_only"] = "semantic_and_vectors"
    tags: list[str] | None = None
    tag_mode: Literal["replace", "append"] = "replace"
    acl: Any = None


@router.post("")
async def add_resource(edge: Caller, body: AddResource) -> Json:
    """Import an upload or what a URL names as a task; with ``wait`` the answer says what became of it."""

    def call() -> dict[str, Any]:
        refuse_acl(body.acl)
        addition = Addition(
            path=body.path, temp_file_id=body.temp_file_id, source_name=body.source_name, to=body.to,
            parent=body.parent, create_parent=body.create_parent, reason=body.reason, instruction=body.instruction,
            strict=body.strict, include=body.include, exclude=body.exclude, ignore_dirs=body.ignore_dirs,
            preserve_structure=body.preserve_structure, watch_interval=body.watch_interval,
            is_active=body.is_active, tags=body.tags,
            tag_mode=body.tag_mode, args=body.args, add_type=body.add_type, internal=body.internal_task,
        )  # fmt: skip
        return edge.services.imports.add(edge.caller, addition, wait=body.wait, timeout=body.timeout)

    # Whether a repository is there is asked at once, and its server may take its time.
    return await edge.answer(
        call,
        wait=body.wait,
        asks=body.temp_file_id is None,
        lean=True,
        operation="resources.add_resource",
        telemetry=body.telemetry,
    )
