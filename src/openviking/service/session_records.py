"""What a session holds: its context, archives and the long outputs of tools (contract/core.md §3.6)."""

from __future__ import annotations

from typing import Any, Final

from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.index.limits import bounded, position, whole_number
from openviking.model.identity import Identity
from openviking.model.session import archive_number
from openviking.service.session_desk import SessionDesk, existing
from openviking.session.archives import archived_messages
from openviking.session.context import session_context
from openviking.session.memories.extracting import extracted
from openviking.session.memories.learning import Talk
from openviking.session.memories.rollback import roll_back
from openviking.session.tool_results import MAX_CONTEXT_CHARS, MAX_MATCHES, OFFSET_UNIT, described, matches

DEFAULT_BUDGET: Final = 128_000


class SessionRecords(SessionDesk):
    """Reads what was said."""

    def extract(self, identity: Identity, session_id: str) -> list[dict[str, Any]]:
        """Make memories of what the live messages say, without archiving them; what was added or changed.

        Each has its ``uri``, ``memory_type``, ``operation`` (add, update or delete), ``abstract`` and the ids of its
        ``sources``. There is no event among them, which a commit makes. What is known already is not told again. Raises
        `NotFoundError`, `ConflictError` if others change the memories all the time.
        """
        store, uri = self._place(identity, session_id)
        with store.read():
            session = existing(store.sessions.get(uri.path), uri)
            messages = [one.message for one in store.sessions.live(uri.path)]
        policy = self._extraction.policy(session.settings.memory_policy)
        changes = extracted(store, Talk(uri, 0, messages), self._extraction, policy, self._worker.stopping)
        if changes:
            self._worker.wake()
        return [
            {
                "uri": one.uri,
                "memory_type": one.type,
                "operation": one.kind,
                "abstract": one.before if one.after is None else one.after,
                "sources": list(one.sources),
            }
            for one in changes
        ]

    def rollback(self, identity: Identity, session_id: str, archive_id: str) -> dict[str, Any]:
        """Take back the memories of one commit: remove what it added, restore what it updated or deleted, all or nothing.

        ``reverted`` are their URIs; ``kept`` tells, with ``uri`` and ``reason``, what is no longer as the commit left
        it; a second call looks at that alone. Raises `NotFoundError`, `FailedPreconditionError` while the commit is
        under way, `ProcessingError` if its ``memory_diff.json`` can't be read.
        """
        store, uri = self._place(identity, session_id)
        number = archive_number(archive_id)
        if number is None:
            existing(store.sessions.get(uri.path), uri)
            raise NotFoundError(archive_id, "archive")
        done = roll_back(store, uri, number)
        self._worker.wake()
        return {"session_id": uri.name, "archive_id": archive_id, **done.to_dict()}

    def context(self, identity: Identity, session_id: str, token_budget: int = DEFAULT_BUDGET) -> dict[str, Any]:
        """What of a session the next turn gets within ``token_budget``. Raises `NotFoundError`."""
        store, uri = self._place(identity, session_id)
        return session_context(store, uri, position(token_budget, "token_budget"))

    def archive(self, identity: Identity, session_id: str, archive_id: str) -> dict[str, Any]:
        """An archive with its messages; its texts are "" until the task of its commit is done. Raises `NotFoundError`."""
        store, uri = self._place(identity, session_id)
        number = archive_number(archive_id)
        with store.read():
            existing(store.sessions.get(uri.path), uri)
            archive = None if number is None else store.sessions.archive(uri.path, number)
            if archive is None:
                raise NotFoundError(archive_id, "archive")
            messages = archived_messages(store, uri, archive.number)
        return {
            "archive_id": archive.id,
            "abstract": archive.abstract,
            "overview": archive.overview,
            "messages": [one.to_dict() for one in messages],
        }

    def tool_results(
        self, identity: Identity, session_id: str, *, tool_name: str | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """The outputs that were too long for their messages, the newest first. Raises `NotFoundError`."""
        limit = whole_number(limit, "limit", minimum=1)
        store, uri = self._place(identity, session_id)
        with store.read():
            existing(store.sessions.get(uri.path), uri)
            found = store.sessions.tool_results(uri.path, tool_name or "", limit)
        return {"tool_results": [described(uri, one) for one in found]}

    def tool_result(
        self,
        identity: Identity,
        session_id: str,
        result_id: str,
        *,
        offset: int = 0,
        limit: int = 20_000,
        include_metadata: bool = True,
    ) -> dict[str, Any]:
        """A piece of a long output, in characters; ``limit`` -1 gives the rest. Raises `NotFoundError`."""
        offset, limit = position(offset, "offset"), position(limit, "limit", minimum=-1)
        store, uri = self._place(identity, session_id)
        result = store.sessions.tool_result(uri.path, result_id)
        if result is None:
            raise NotFoundError(result_id, "tool_result")
        content = result.content[offset:] if limit < 0 else result.content[offset : offset + limit]
        answer: dict[str, Any] = {
            "tool_result_id": result.id,
            "content": content,
            "offset": offset,
            "limit": limit,
            "offset_unit": OFFSET_UNIT,
            "total_chars": result.size,
            "has_more": offset + len(content) < result.size,
        }
        return answer | {"metadata": described(uri, result)} if include_metadata else answer

    def search_tool_result(
        self, identity: Identity, session_id: str, result_id: str, q: str, *, limit: int = 20, context_chars: int = 300
    ) -> dict[str, Any]:
        """Where a long output says ``q``, in whatever case, at most 1,000 places with 5,000 characters on each side.

        Raises `NotFoundError`, `InvalidArgumentError`, also for more of either.
        """
        limit = bounded(limit, "limit", minimum=1, maximum=MAX_MATCHES)
        around = bounded(context_chars, "context_chars", minimum=0, maximum=MAX_CONTEXT_CHARS)
        if not q.strip():
            raise InvalidArgumentError("q must not be empty", field="q")
        store, uri = self._place(identity, session_id)
        result = store.sessions.tool_result(uri.path, result_id)
        if result is None:
            raise NotFoundError(result_id, "tool_result")
        return {"tool_result_id": result.id, "matches": matches(result.content, q, limit, around)}
