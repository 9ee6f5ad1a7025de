"""Skills over HTTP (contract/core.md §3.5)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from openviking.server.bodies import Lenient, Strict, Telemetry
from openviking.server.edge import Caller
from openviking.server.envelope import Json

router = APIRouter(prefix="/api/v1/skills", tags=["skills"])


class Add(Strict):
    """A skill: the text of a SKILL.md, an object, an MCP tool, or an upload with one or several."""

    data: str | dict[str, Any] | None = None
    temp_file_id: str | None = None
    skills: list[str] | None = None
    list_only: bool | None = None
    wait: bool = False
    timeout: float | None = Field(default=None, ge=0)
    source_metadata: dict[str, Any] | None = None
    target_uri: str | None = None
    telemetry: Telemetry = False


@router.post("")
async def add(edge: Caller, body: Add) -> Json:
    """Store a skill; one of the same name is replaced."""
    return await edge.answer(
        lambda: edge.services.skills.add(
            edge.caller, body.data, body.temp_file_id, skills=body.skills, list_only=bool(body.list_only),
            source_metadata=body.source_metadata, target_uri=body.target_uri, wait=body.wait, timeout=body.timeout,
        ),
        wait=body.wait, lean=True, operation="resources.add_skill", telemetry=body.telemetry,
    )  # fmt: skip


@router.get("")
async def ls(edge: Caller, node_limit: int = 1000, target_uri: str | None = None) -> Json:
    """The skills by name, the caller's own first."""
    return await edge.answer(lambda: edge.services.skills.ls(edge.caller, node_limit=node_limit, target_uri=target_uri))


class Find(Lenient):
    """A question to skills."""

    query: str
    limit: int = 10
    score_threshold: float | None = None
    level: int | str | list[int] | None = None
    target_uri: str | None = None
    telemetry: Telemetry = False


@router.post("/find")
async def find(edge: Caller, body: Find) -> Json:
    """The best skills for a question, each once."""
    return await edge.answer(
        lambda: edge.services.skills.find(
            edge.caller, body.query, limit=body.limit, score_threshold=body.score_threshold, level=body.level,
            target_uri=body.target_uri,
        ),
        lean=True, operation="skills.find", telemetry=body.telemetry,
    )  # fmt: skip


class Validate(Lenient):
    """A skill to check."""

    data: Any
    strict: bool = False
    source_path: str | None = None
    skill_dir_name: str | None = None
    target_uri: str | None = None


@router.post("/validate")
async def validate(edge: Caller, body: Validate) -> Json:
    """Which rules a skill breaks; nothing is stored."""
    return await edge.answer(
        lambda: edge.services.skills.validate(
            edge.caller, body.data, strict=body.strict, source_path=body.source_path,
            skill_dir_name=body.skill_dir_name, target_uri=body.target_uri,
        )
    )  # fmt: skip


@router.get("/{skill_name}")
async def show(
    edge: Caller,
    skill_name: str,
    target_uri: str | None = None,
    include_content: bool | None = None,
    include_files: bool = True,
    include_integrity: bool = False,
    include_source: bool = False,
    level: int | None = None,
) -> Json:
    """A skill: the caller's own, else the shared one of that name."""
    return await edge.answer(
        lambda: edge.services.skills.show(
            edge.caller, skill_name, target_uri=target_uri, include_content=include_content,
            include_files=include_files, include_integrity=include_integrity, include_source=include_source,
            level=level,
        )
    )  # fmt: skip


class Update(Strict):
    """What replaces a skill."""

    data: str | dict[str, Any] | None = None
    temp_file_id: str | None = None
    from_source: bool | None = None
    wait: bool = False
    timeout: float | None = Field(default=None, ge=0)
    source_metadata: dict[str, Any] | None = None
    target_uri: str | None = None
    telemetry: Telemetry = False


@router.put("/{skill_name}")
async def update(edge: Caller, skill_name: str, body: Update) -> Json:
    """Replace all files of a skill."""
    return await edge.answer(
        lambda: edge.services.skills.update(
            edge.caller, skill_name, body.data, body.temp_file_id, from_source=bool(body.from_source),
            source_metadata=body.source_metadata, target_uri=body.target_uri, wait=body.wait, timeout=body.timeout,
        ),
        wait=body.wait, lean=True, operation="skills.update", telemetry=body.telemetry,
    )  # fmt: skip


@router.delete("/{skill_name}")
async def delete(edge: Caller, skill_name: str, target_uri: str | None = None) -> Json:
    """Remove a skill with all its files."""
    return await edge.answer(lambda: edge.services.skills.delete(edge.caller, skill_name, target_uri=target_uri))
