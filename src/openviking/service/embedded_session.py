"""One conversation of the embedded door as an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openviking.service.embedded_sessions import SessionMethods


class Session:
    """One session; made by `OpenViking.session`, which neither makes nor looks for it."""

    def __init__(self, door: SessionMethods, session_id: str) -> None:
        self._door = door
        self.session_id = session_id

    def __repr__(self) -> str:
        return f"Session(session_id={self.session_id!r})"

    def load(self, *, auto_create: bool = False) -> dict[str, Any]:
        """What is known of it; ``auto_create`` makes one that is not there. Raises `NotFoundError`."""
        return self._door.get_session(self.session_id, auto_create=auto_create)

    def exists(self) -> bool:
        """Whether it is there."""
        return self._door.session_exists(self.session_id)

    def add_message(
        self,
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
        """Add a message; as `OpenViking.add_message`."""
        return self._door.add_message(
            self.session_id, role, content, parts, peer_id=peer_id, created_at=created_at, turn_id=turn_id,
            message_kind=message_kind, source_message_ids=source_message_ids, message_id=message_id,
        )  # fmt: skip

    def batch_add_messages(self, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Add 1 to 100 messages, all or none."""
        return self._door.batch_add_messages(self.session_id, messages)

    def used(self, contexts: Sequence[str] | None = None, skill: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Say which addresses and which skill were used. Raises `NotFoundError`."""
        return self._door.session_used(self.session_id, contexts, skill)

    def commit(
        self,
        keep_recent_count: int | None = None,
        *,
        retention_mode: str | None = None,
        keep_recent_turn_count: int | None = None,
        retained_message_token_budget: int | None = None,
        min_raw_tail_steps: int | None = None,
        extraction_metadata: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Archive its messages; as `OpenViking.commit_session`. Raises `NotFoundError`."""
        return self._door.commit_session(
            self.session_id, keep_recent_count, retention_mode=retention_mode,
            keep_recent_turn_count=keep_recent_turn_count, retained_message_token_budget=retained_message_token_budget,
            min_raw_tail_steps=min_raw_tail_steps, extraction_metadata=extraction_metadata,
        )  # fmt: skip

    def context(self, token_budget: int | None = None) -> dict[str, Any]:
        """What a model needs to go on. Raises `NotFoundError`."""
        return self._door.get_session_context(self.session_id, token_budget)

    def get_session_context(self, token_budget: int | None = None) -> dict[str, Any]:
        """As `context`."""
        return self._door.get_session_context(self.session_id, token_budget)

    def get_archive(self, archive_id: str) -> dict[str, Any]:
        """One archive. Raises `NotFoundError`."""
        return self._door.get_session_archive(self.session_id, archive_id)

    def update_config(self, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Change its settings; as `OpenViking.update_session_config`."""
        return self._door.update_session_config(self.session_id, config)

    def extract(self) -> list[dict[str, Any]]:
        """Make memories of its live messages; as `OpenViking.extract_session`. Raises `NotFoundError`."""
        return self._door.extract_session(self.session_id)

    def rollback(self, archive_id: str) -> dict[str, Any]:
        """Take back the memories of a commit; as `OpenViking.rollback_session`. Raises `NotFoundError`."""
        return self._door.rollback_session(self.session_id, archive_id)

    def redact(self, message_id: str, memories: bool = False) -> dict[str, Any]:
        """Take a message out of it for ever; as `OpenViking.redact_message`. Raises `NotFoundError`."""
        return self._door.redact_message(self.session_id, message_id, memories)

    def delete(self, memories: bool = False) -> dict[str, Any]:
        """Remove it with all that is in it; as `OpenViking.delete_session`. Raises `NotFoundError`."""
        return self._door.delete_session(self.session_id, memories)
