"""Conversations."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from openviking_sdk.call import Call, Default, a_list, an_object, given, with_options
from openviking_sdk.errors import InvalidArgumentError
from openviking_sdk.parts import Part, message_dict, part_dicts
from openviking_sdk.settings import header_value
from openviking_sdk.uri import full_uri, segment

_SESSIONS = "/api/v1/sessions"
_LEARNING_S = 120.0
"""So long a server may take that asks a model what is to be remembered."""


def create_session(
    session_id: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    memory_policy: Mapping[str, Any] | None = None,
    auto_commit_policy: Mapping[str, Any] | None = None,
    memory_extraction_config: Mapping[str, Any] | None = None,
    telemetry: bool | dict[str, Any] = False,
) -> Call[dict[str, Any]]:
    """Make a session: ``session_id`` (the server's choice if none is given), ``uri``, ``user`` and its configuration.

    Raises `AlreadyExistsError`, `InvalidArgumentError`.
    """
    return Call(
        method="POST",
        path=_SESSIONS,
        body=with_options(
            given(
                session_id=session_id,
                memory_policy=None if memory_policy is None else dict(memory_policy),
                auto_commit_policy=None if auto_commit_policy is None else dict(auto_commit_policy),
                memory_extraction_config=None if memory_extraction_config is None else dict(memory_extraction_config),
                telemetry=telemetry or None,
            ),
            options,
        ),
        read=an_object,
    )


def list_sessions() -> Call[list[Any]]:
    """The caller's sessions, newest first, each with ``session_id``, ``uri``, ``mod_time``."""
    return Call(method="GET", path=_SESSIONS, read=a_list, repeatable=True)


def get_session(session_id: str, *, auto_create: bool = False) -> Call[dict[str, Any]]:
    """What is known of a session: ``message_count``, ``pending_tokens``, ``commit_count``, its policies and more.

    ``auto_create`` makes one that is not there. Raises `NotFoundError`.
    """
    return Call(
        method="GET",
        path=_session(session_id),
        query=given(auto_create=auto_create or None),
        read=an_object,
        repeatable=True,
    )


def session_exists(session_id: str) -> Call[bool]:
    """Whether the caller has such a session."""
    return Call(
        method="GET",
        path=_session(session_id),
        read=lambda _: True,
        repeatable=True,
        absent=Default(False),
    )


def update_session_config(
    session_id: str, config: Mapping[str, Any] | None = None, *, telemetry: bool | dict[str, Any] = False
) -> Call[dict[str, Any]]:
    """Change ``memory_extraction_config`` and ``auto_commit_policy``; what ``config`` lacks stays, None turns it off.

    Raises `NotFoundError`, `InvalidArgumentError`.
    """
    return Call(
        method="PATCH",
        path=f"{_session(session_id)}/config",
        body={**(config or {}), **given(telemetry=telemetry or None)},
        read=an_object,
    )


def delete_session(session_id: str, memories: bool = False) -> Call[dict[str, Any]]:
    """Remove a session with all that is in it; ``memories`` that were made of it stay, and are named.

    With ``memories`` those of it alone that nobody edited go too, ``memories_removed``. Raises `NotFoundError`.
    """
    return Call(method="DELETE", path=_session(session_id), query=given(memories=memories or None), read=an_object)


def add_message(
    session_id: str,
    role: str,
    content: str | Sequence[Part | Mapping[str, Any]] | None = None,
    parts: Sequence[Part | Mapping[str, Any]] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    peer_id: str | None = None,
    created_at: str | None = None,
    turn_id: str | None = None,
    message_kind: Literal["user_query", "assistant_step", "tool_transport", "checkpoint"] | None = None,
    source_message_ids: Sequence[str] | None = None,
    message_id: str | None = None,
    idempotency_key: str | None = None,
    telemetry: bool | dict[str, Any] = False,
) -> Call[dict[str, Any]]:
    """Add a message: ``session_id``, ``message_count``, ``pending_tokens``. A session that is not there is made.

    A message has ``content``, or ``parts`` (`TextPart`, `ContextPart`, `ToolPart`, `ImagePart` or mappings), which may also
    stand in the place of ``content``. ``created_at`` in ISO 8601. A message with the ``message_id`` or the
    ``idempotency_key`` of one that is there is that one; without a key each call makes one of its own, so that a broken
    connection can't double it. ``options`` are further fields of the request.
    """
    if content is not None and not isinstance(content, str):
        if parts is not None:
            raise InvalidArgumentError("The parts are given twice, as content and as parts")
        content, parts = None, content
    return Call(
        method="POST",
        path=f"{_session(session_id)}/messages",
        headers=_key(idempotency_key),
        body=with_options(
            given(
                role=role,
                content=content,
                parts=None if parts is None else part_dicts(parts),
                peer_id=peer_id,
                created_at=created_at,
                turn_id=turn_id,
                message_kind=message_kind,
                source_message_ids=None if source_message_ids is None else list(source_message_ids),
                id=message_id,
                telemetry=telemetry or None,
            ),
            options,
        ),
        read=an_object,
        repeatable=True,
    )


def batch_add_messages(
    session_id: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    idempotency_key: str | None = None,
    telemetry: bool | dict[str, Any] = False,
) -> Call[dict[str, Any]]:
    """Add 1 to 100 messages, each a mapping with the fields of `add_message`; as there, and ``added``."""
    return Call(
        method="POST",
        path=f"{_session(session_id)}/messages/batch",
        headers=_key(idempotency_key),
        body=given(messages=[message_dict(message) for message in messages], telemetry=telemetry or None),
        read=an_object,
        repeatable=True,
    )


def redact_message(session_id: str, message_id: str, memories: bool = False) -> Call[dict[str, Any]]:
    """Take a message out of a session for ever, live or archived: ``place``, ``redacted``, ``tool_results``.

    ``memories`` that were made of it stay and are named; with ``memories`` those of it alone that nobody edited go too,
    and the event of its archive: ``memories_removed``. `erase` overwrites the bytes on the disk. Raises
    `NotFoundError`.
    """
    return Call(
        method="DELETE",
        path=f"{_session(session_id)}/messages/{segment(message_id, 'message_id')}",
        query=given(memories=memories or None),
        read=an_object,
    )


def session_used(
    session_id: str,
    contexts: Sequence[str] | None = None,
    skill: Mapping[str, Any] | None = None,
) -> Call[dict[str, Any]]:
    """Say which addresses and which skill (``uri``, ``input``, ``output``, ``success``) were used.

    Gives the counts of this call: ``contexts_used``, ``skills_used``. Raises `NotFoundError`.
    """
    return Call(
        method="POST",
        path=f"{_session(session_id)}/used",
        body=given(
            contexts=None if contexts is None else [full_uri(uri) for uri in contexts],
            skill=None if skill is None else dict(skill),
        ),
        read=an_object,
    )


def commit_session(
    session_id: str,
    keep_recent_count: int | None = None,
    *,
    retention_mode: Literal["turn_budget"] | None = None,
    keep_recent_turn_count: int | None = None,
    retained_message_token_budget: int | None = None,
    min_raw_tail_steps: int | None = None,
    extraction_metadata: Mapping[str, Any] | None = None,
    telemetry: bool | dict[str, Any] = False,
    options: Mapping[str, Any] | None = None,
) -> Call[dict[str, Any]]:
    """Archive the messages, all but the last ``keep_recent_count``: ``status``, ``archive_uri``, ``task_id``, ``archived``.

    The task makes summaries and memories. With nothing to archive ``status`` is ``skipped``. Raises `NotFoundError`.
    """
    return Call(
        method="POST",
        path=f"{_session(session_id)}/commit",
        body=with_options(
            given(
                keep_recent_count=keep_recent_count,
                retention_mode=retention_mode,
                keep_recent_turn_count=keep_recent_turn_count,
                retained_message_token_budget=retained_message_token_budget,
                min_raw_tail_steps=min_raw_tail_steps,
                extraction_metadata=None if extraction_metadata is None else dict(extraction_metadata),
                telemetry=telemetry or None,
            ),
            options,
        ),
        read=an_object,
    )


def extract_session(session_id: str) -> Call[list[dict[str, Any]]]:
    """Make memories of what the live messages say, without archiving them: what was added or changed.

    Each with ``uri``, ``memory_type``, ``operation``, ``abstract`` and ``sources``, the ids of the messages. There is no event
    among them, which a commit makes. Raises `NotFoundError`.
    """
    return Call(method="POST", path=f"{_session(session_id)}/extract", read=a_list, seconds=_LEARNING_S)


def rollback_session(session_id: str, archive_id: str) -> Call[dict[str, Any]]:
    """Take back the memories of the commit that made an archive: ``reverted``, and ``kept`` what was changed since.

    The messages stay. Raises `NotFoundError`, `FailedPreconditionError` while the commit is under way.
    """
    return Call(
        method="POST",
        path=f"{_session(session_id)}/archives/{segment(archive_id, 'archive_id')}/rollback",
        read=an_object,
        repeatable=True,
    )


def get_session_context(session_id: str, token_budget: int | None = None) -> Call[dict[str, Any]]:
    """What a model needs to go on: ``latest_archive_overview``, ``messages``, ``estimatedTokens``, ``stats``.

    At most ``token_budget`` tokens (128,000), the newest messages first. Raises `NotFoundError`.
    """
    return Call(
        method="GET",
        path=f"{_session(session_id)}/context",
        query=given(token_budget=token_budget),
        read=an_object,
        repeatable=True,
    )


def get_session_archive(session_id: str, archive_id: str) -> Call[dict[str, Any]]:
    """One archive: ``archive_id``, ``abstract``, ``overview``, ``messages``. Raises `NotFoundError`."""
    return Call(
        method="GET",
        path=f"{_session(session_id)}/archives/{segment(archive_id, 'archive_id')}",
        read=an_object,
        repeatable=True,
    )


def list_tool_results(
    session_id: str, *, tool_name: str | None = None, limit: int | None = None
) -> Call[dict[str, Any]]:
    """``tool_results``: the long outputs of tools that are kept beside the messages, at most ``limit`` (50)."""
    return Call(
        method="GET",
        path=f"{_session(session_id)}/tool-results",
        query=given(tool_name=tool_name, limit=limit),
        read=an_object,
        repeatable=True,
    )


def get_tool_result(
    session_id: str,
    tool_result_id: str,
    *,
    offset: int | None = None,
    limit: int | None = None,
    include_metadata: bool | None = None,
) -> Call[dict[str, Any]]:
    """A piece of a tool's output: ``content``, ``total_chars``, ``has_more``; ``offset`` and ``limit`` in characters.

    ``limit`` is 20,000; -1 gives the rest. Raises `NotFoundError`.
    """
    return Call(
        method="GET",
        path=f"{_session(session_id)}/tool-results/{segment(tool_result_id, 'tool_result_id')}",
        query=given(offset=offset, limit=limit, include_metadata=include_metadata),
        read=an_object,
        repeatable=True,
    )


def search_tool_result(
    session_id: str, tool_result_id: str, query: str, *, limit: int | None = None, context_chars: int | None = None
) -> Call[dict[str, Any]]:
    """``matches`` of a text in a tool's output, each with ``offset`` and ``snippet``. Raises `NotFoundError`."""
    return Call(
        method="GET",
        path=f"{_session(session_id)}/tool-results/{segment(tool_result_id, 'tool_result_id')}/search",
        query=given(q=query, limit=limit, context_chars=context_chars),
        read=an_object,
        repeatable=True,
    )


def _session(session_id: str) -> str:
    return f"{_SESSIONS}/{segment(session_id, 'session_id')}"


def _key(idempotency_key: str | None) -> dict[str, str]:
    return {"Idempotency-Key": header_value("idempotency_key", idempotency_key) or uuid.uuid4().hex}
