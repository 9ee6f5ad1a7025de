"""The methods of the embedded door that have to do with conversations, named as those of the SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openviking.model.identity import Identity
from openviking.service.session_records import DEFAULT_BUDGET
from openviking.service.sessions import KEEP, Sessions


class SessionMethods:
    """Mixed into `openviking.OpenViking`."""

    _identity: Identity
    _sessions: Sessions

    def create_session(
        self,
        session_id: str | None = None,
        *,
        memory_policy: Mapping[str, Any] | None = None,
        auto_commit_policy: Mapping[str, Any] | None = None,
        memory_extraction_config: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Make a session: ``session_id`` (chosen if none is given), ``uri``, ``user`` and its configuration.

        Raises `AlreadyExistsError`, `InvalidArgumentError`.
        """
        return self._sessions.create(
            self._identity, session_id, memory_policy=memory_policy,
            auto_commit_policy=KEEP if auto_commit_policy is None else auto_commit_policy,
            memory_extraction_config=memory_extraction_config,
        )  # fmt: skip

    def list_sessions(self) -> list[dict[str, Any]]:
        """The sessions, the one that changed last first, each with ``session_id``, ``uri``, ``mod_time``."""
        return self._sessions.ls(self._identity)

    def get_session(self, session_id: str, *, auto_create: bool = False) -> dict[str, Any]:
        """What is known of a session; ``auto_create`` makes one that is not there. Raises `NotFoundError`."""
        return self._sessions.get(self._identity, session_id, auto_create=auto_create)

    def session_exists(self, session_id: str) -> bool:
        """Whether there is such a session."""
        return self._sessions.exists(self._identity, session_id)

    def update_session_config(self, session_id: str, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Change ``memory_extraction_config`` and ``auto_commit_policy``; what ``config`` lacks stays, None turns it off.

        Raises `NotFoundError`, `InvalidArgumentError`.
        """
        given = config or {}
        return self._sessions.configure(
            self._identity, session_id, auto_commit_policy=given.get("auto_commit_policy", KEEP),
            memory_extraction_config=given.get("memory_extraction_config", KEEP),
        )  # fmt: skip

    def delete_session(self, session_id: str, memories: bool = False) -> dict[str, Any]:
        """Remove a session with all that is in it; ``memories`` that were made of it stay, and are named.

        With ``memories`` those of it alone that nobody edited go too, ``memories_removed``. Raises `NotFoundError`.
        """
        return self._sessions.delete(self._identity, session_id, memories=memories)

    def add_message(
        self,
        session_id: str,
        role: str,
        content: str | Sequence[Mapping[str, Any]] | None = None,
        parts: Sequence[Mapping[str, Any]] | None = None,
        *,
        peer_id: str | None = None,
        created_at: str | None = None,
        turn_id: str | None = None,
        message_kind: str | None = None,
        source_message_ids: Sequence[str] | None = None,
        message_id: str | None = None,
    ) -> dict[str, Any]:
        """Add a message: ``session_id``, ``message_count``, ``pending_tokens``. A session that is not there is made.

        A message has ``content``, or ``parts`` of the types text, context, tool and image_url, which may also stand in
        the place of ``content``. One whose ``message_id`` the session knows is that one. Raises `InvalidArgumentError`.
        """
        if content is not None and not isinstance(content, str):
            content, parts = None, content
        message = {
            "id": message_id, "role": role, "content": content, "parts": None if parts is None else list(parts),
            "peer_id": peer_id, "created_at": created_at, "turn_id": turn_id, "message_kind": message_kind,
            "source_message_ids": None if source_message_ids is None else list(source_message_ids),
        }  # fmt: skip
        return self._sessions.add(self._identity, session_id, [message])

    def batch_add_messages(self, session_id: str, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Add 1 to 100 messages, all or none, each a mapping with the fields of `add_message` (``id`` for its id)."""
        return self._sessions.add(self._identity, session_id, messages)

    def redact_message(self, session_id: str, message_id: str, memories: bool = False) -> dict[str, Any]:
        """Take a message out of a session for ever, live or archived: ``place``, ``redacted``, ``tool_results``.

        ``memories`` that were made of it stay and are named; with ``memories`` those of it alone that nobody edited go
        too, and the event of its archive: ``memories_removed``. `erase` overwrites the bytes on the disk. Raises
        `NotFoundError`.
        """
        return self._sessions.redact(self._identity, session_id, message_id, memories=memories)

    def session_used(
        self, session_id: str, contexts: Sequence[str] | None = None, skill: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Say which addresses and which skill were used: ``contexts_used``, ``skills_used``. Raises `NotFoundError`."""
        return self._sessions.used(self._identity, session_id, contexts, skill)

    def commit_session(
        self,
        session_id: str,
        keep_recent_count: int | None = None,
        *,
        retention_mode: str | None = None,
        keep_recent_turn_count: int | None = None,
        retained_message_token_budget: int | None = None,
        min_raw_tail_steps: int | None = None,
        extraction_metadata: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Archive the messages, all but the last ``keep_recent_count``: ``status``, ``archive_uri``, ``task_id``, ``archived``.

        A task makes memories of it (`wait_commit`). With nothing to archive ``status`` is ``skipped``. Raises `NotFoundError`.
        """
        return self._sessions.commit(
            self._identity, session_id, keep_recent_count=keep_recent_count, retention_mode=retention_mode,
            keep_recent_turn_count=keep_recent_turn_count, retained_message_token_budget=retained_message_token_budget,
            min_raw_tail_steps=min_raw_tail_steps, extraction_metadata=extraction_metadata,
        )  # fmt: skip

    def extract_session(self, session_id: str) -> list[dict[str, Any]]:
        """Make memories of what the live messages say, without archiving them: what was added or changed.

        Each with ``uri``, ``memory_type``, ``operation``, ``abstract`` and ``sources``, the ids of the messages. There is no
        event among them, which a commit makes. Raises `NotFoundError`.
        """
        return self._sessions.extract(self._identity, session_id)

    def rollback_session(self, session_id: str, archive_id: str) -> dict[str, Any]:
        """Take back the memories of the commit that made an archive: ``reverted``, and ``kept`` what was changed since.

        The messages stay. Raises `NotFoundError`, `FailedPreconditionError` while the commit is under way.
        """
        return self._sessions.rollback(self._identity, session_id, archive_id)

    def get_session_context(self, session_id: str, token_budget: int | None = None) -> dict[str, Any]:
        """What a model needs to go on: ``latest_archive_overview``, ``messages``, ``estimatedTokens``, ``stats``.

        At most ``token_budget`` tokens (128,000), the newest messages first. Raises `NotFoundError`.
        """
        return self._sessions.context(
            self._identity, session_id, DEFAULT_BUDGET if token_budget is None else token_budget
        )

    def get_session_archive(self, session_id: str, archive_id: str) -> dict[str, Any]:
        """One archive: ``archive_id``, ``abstract``, ``overview``, ``messages``. Raises `NotFoundError`."""
        return self._sessions.archive(self._identity, session_id, archive_id)

    def list_tool_results(self, session_id: str, *, tool_name: str | None = None, limit: int = 50) -> dict[str, Any]:
        """``tool_results``: the long outputs of tools that are kept beside the messages, at most ``limit``."""
        return self._sessions.tool_results(self._identity, session_id, tool_name=tool_name, limit=limit)

    def get_tool_result(
        self,
        session_id: str,
        tool_result_id: str,
        *,
        offset: int = 0,
        limit: int = 20_000,
        include_metadata: bool = True,
    ) -> dict[str, Any]:
        """A piece of a tool's output, in characters; ``limit`` -1 gives the rest. Raises `NotFoundError`."""
        return self._sessions.tool_result(
            self._identity, session_id, tool_result_id, offset=offset, limit=limit, include_metadata=include_metadata
        )

    def search_tool_result(
        self, session_id: str, tool_result_id: str, query: str, *, limit: int = 20, context_chars: int = 300
    ) -> dict[str, Any]:
        """``matches`` of a text in a tool's output, each with ``offset`` and ``snippet``. Raises `NotFoundError`."""
        return self._sessions.search_tool_result(
            self._identity, session_id, tool_result_id, query, limit=limit, context_chars=context_chars
        )
