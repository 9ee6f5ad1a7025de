"""Conversations over HTTP (contract/core.md §3.6)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header
from pydantic import Field

from openviking.server.bodies import Lenient, Strict, Telemetry
from openviking.server.edge import Caller
from openviking.server.envelope import Json
from openviking.service.session_records import DEFAULT_BUDGET
from openviking.service.session_talk import MAX_BATCH
from openviking.service.sessions import KEEP

router = APIRouter(prefix="/api/v1/sessions", tags=["sessions"])

Key = Annotated[str | None, Header(alias="Idempotency-Key")]


class Create(Lenient):
    """A new session."""

    session_id: str | None = None
    memory_policy: dict[str, Any] | None = None
    auto_commit_policy: dict[str, Any] | None = None
    memory_extraction_config: dict[str, Any] | None = None
    telemetry: Telemetry = False


@router.post("")
async def create(edge: Caller, body: Create | None = None) -> Json:
    """Make a session, with an id of its own if none is given."""
    given = body or Create()
    policy = given.auto_commit_policy if "auto_commit_policy" in given.model_fields_set else KEEP
    return await edge.answer(
        lambda: edge.services.sessions.create(
            edge.caller, given.session_id, memory_policy=given.memory_policy,
            auto_commit_policy=policy, memory_extraction_config=given.memory_extraction_config,
        ),
        operation="session.create", telemetry=given.telemetry,
    )  # fmt: skip


@router.get("")
async def ls(edge: Caller) -> Json:
    """The caller's sessions, the one that changed last first."""
    return await edge.answer(lambda: edge.services.sessions.ls(edge.caller))


@router.get("/{session_id}")
async def get(edge: Caller, session_id: str, auto_create: bool = False) -> Json:
    """What is known of a session."""
    return await edge.answer(lambda: edge.services.sessions.get(edge.caller, session_id, auto_create=auto_create))


@router.delete("/{session_id}")
async def delete(edge: Caller, session_id: str, memories: bool = False) -> Json:
    """Remove a session with its messages and archives; with ``memories`` those of it alone that nobody edited too."""
    return await edge.answer(lambda: edge.services.sessions.delete(edge.caller, session_id, memories=memories))


class Config(Strict):
    """Settings to change: what is absent stays, a policy of null is switched off, an object is merged."""

    memory_extraction_config: dict[str, Any] | None = None
    auto_commit_policy: dict[str, Any] | None = None
    telemetry: Telemetry = False


@router.patch("/{session_id}/config")
async def configure(edge: Caller, session_id: str, body: Config) -> Json:
    """Change settings of a session."""
    given = body.model_fields_set
    names = ("auto_commit_policy", "memory_extraction_config")
    settings = {name: getattr(body, name) if name in given else KEEP for name in names}
    return await edge.answer(
        lambda: edge.services.sessions.configure(edge.caller, session_id, **settings), lean=True,
        operation="session.update_config", telemetry=body.telemetry,
    )  # fmt: skip


class MessageIn(Lenient):
    """A message: ``content``, or ``parts`` of the types text, context, tool and image_url, which win.

    A message whose ``id`` the session knows is a repetition and not stored again.
    """

    id: str | None = None
    role: str
    content: str | None = None
    parts: list[dict[str, Any]] | None = None
    peer_id: str | None = None
    created_at: str | None = None
    turn_id: str | None = None
    message_kind: str | None = None
    source_message_ids: list[str] | None = None


class OneMessage(MessageIn):
    """One message."""

    telemetry: Telemetry = False


@router.post("/{session_id}/messages")
async def add(edge: Caller, session_id: str, body: OneMessage, key: Key = None) -> Json:
    """Append a message; a session that is missing is made."""

    def call() -> dict[str, Any]:
        answer = edge.services.sessions.add(edge.caller, session_id, [body.model_dump()], key=key)
        del answer["added"]
        return answer

    return await edge.answer(call, operation="session.add_message", telemetry=body.telemetry)


@router.delete("/{session_id}/messages/{message_id}")
async def redact(edge: Caller, session_id: str, message_id: str, memories: bool = False) -> Json:
    """Take a message out of a session for ever, live or archived; memories that were made of it are named.

    With ``memories`` those of it alone that nobody edited go too.
    """
    return await edge.answer(
        lambda: edge.services.sessions.redact(edge.caller, session_id, message_id, memories=memories)
    )


class Batch(Lenient):
    """Several messages, all stored or none."""

    messages: list[MessageIn] = Field(min_length=1, max_length=MAX_BATCH)
    telemetry: Telemetry = False


@router.post("/{session_id}/messages/batch")
async def add_batch(edge: Caller, session_id: str, body: Batch, key: Key = None) -> Json:
    """Append messages in order; a session that is missing is made."""
    messages = [one.model_dump() for one in body.messages]
    return await edge.answer(
        lambda: edge.services.sessions.add(edge.caller, session_id, messages, key=key),
        operation="session.batch_add_messages", telemetry=body.telemetry,
    )  # fmt: skip


class Used(Lenient):
    """What an agent used."""

    contexts: list[str] | None = None
    skill: dict[str, Any] | None = None


@router.post("/{session_id}/used")
async def used(edge: Caller, session_id: str, body: Used) -> Json:
    """Record which contexts and which skill were used."""
    return await edge.answer(lambda: edge.services.sessions.used(edge.caller, session_id, body.contexts, body.skill))


class Commit(Lenient):
    """Which of the newest messages stay; ``enable_working_memory`` and ``reset_context`` have no effect yet."""

    keep_recent_count: int | None = None
    retention_mode: str | None = None
    keep_recent_turn_count: int | None = None
    retained_message_token_budget: int | None = None
    min_raw_tail_steps: int | None = None
    extraction_metadata: dict[str, Any] | None = None
    enable_working_memory: bool | None = None
    reset_context: bool | None = None
    telemetry: Telemetry = False


@router.post("/{session_id}/commit")
async def commit(edge: Caller, session_id: str, body: Commit | None = None) -> Json:
    """Archive the messages of a session; a task describes the archive."""
    given = body or Commit()
    return await edge.answer(
        lambda: edge.services.sessions.commit(
            edge.caller, session_id, keep_recent_count=given.keep_recent_count, retention_mode=given.retention_mode,
            keep_recent_turn_count=given.keep_recent_turn_count,
            retained_message_token_budget=given.retained_message_token_budget,
            min_raw_tail_steps=given.min_raw_tail_steps, extraction_metadata=given.extraction_metadata,
        ),
        lean=True, operation="session.commit", telemetry=given.telemetry,
    )  # fmt: skip


@router.post("/{session_id}/extract")
async def extract(edge: Caller, session_id: str) -> Json:
    """Make memories of what the live messages say, without archiving them; what was added or changed."""
    return await edge.answer(lambda: edge.services.sessions.extract(edge.caller, session_id))


@router.post("/{session_id}/archives/{archive_id}/rollback")
async def rollback(edge: Caller, session_id: str, archive_id: str) -> Json:
    """Take back the memories of one commit, as far as nobody has changed them since."""
    return await edge.answer(lambda: edge.services.sessions.rollback(edge.caller, session_id, archive_id))


@router.get("/{session_id}/context")
async def context(edge: Caller, session_id: str, token_budget: int = DEFAULT_BUDGET) -> Json:
    """What of a session the next turn gets."""
    return await edge.answer(lambda: edge.services.sessions.context(edge.caller, session_id, token_budget))


@router.get("/{session_id}/archives/{archive_id}")
async def archive(edge: Caller, session_id: str, archive_id: str) -> Json:
    """An archive with its messages."""
    return await edge.answer(lambda: edge.services.sessions.archive(edge.caller, session_id, archive_id))


@router.get("/{session_id}/tool-results")
async def tool_results(edge: Caller, session_id: str, tool_name: str | None = None, limit: int = 50) -> Json:
    """The outputs that were too long for their messages."""
    return await edge.answer(
        lambda: edge.services.sessions.tool_results(edge.caller, session_id, tool_name=tool_name, limit=limit)
    )


@router.get("/{session_id}/tool-results/{tool_result_id}")
async def tool_result(
    edge: Caller,
    session_id: str,
    tool_result_id: str,
    offset: int = 0,
    limit: int = 20_000,
    include_metadata: bool = True,
) -> Json:
    """A piece of a long output, in characters."""
    return await edge.answer(
        lambda: edge.services.sessions.tool_result(
            edge.caller, session_id, tool_result_id, offset=offset, limit=limit, include_metadata=include_metadata
        )
    )


@router.get("/{session_id}/tool-results/{tool_result_id}/search")
async def search_tool_result(
    edge: Caller, session_id: str, tool_result_id: str, q: str, limit: int = 20, context_chars: int = 300
) -> Json:
    """Where a long output says something."""
    return await edge.answer(
        lambda: edge.services.sessions.search_tool_result(
            edge.caller, session_id, tool_result_id, q, limit=limit, context_chars=context_chars
        )
    )
