"""What a session holds: its context, archives and the long outputs of tools (contract/core.md §3.6)."""

from __future__ import annotations

from typing import Any, Final

from openviking.errors import InvalidArgumentError, NotFoundError, UnimplementedError
from openviking.index.limits import bounded, position, whole_number
from openviking.model.identity import Identity
from openviking.model.session import archive_number
from openviking.service.session_desk import SessionDesk, existing
from openviking.session.archives import archived_messages
from openviking.session.context import session_context
from openviking.session.tool_results import MAX_CONTEXT_CHARS, MAX_MATCHES, OFFSET_UNIT, described, matches

DEFAULT_BUDGET: Final = 128_000


class SessionRecords(SessionDesk):
    """Reads what was said."""

    def extract(self, identity: Identity, session_id: str) -> list[dict[str, Any]]:
        """Would extract memories. Raises `NotFoundError`, else `UnimplementedError`."""
        store, uri = self._place(identity, session_id)
        existing(store.sessions.get(uri.path), uri)
        raise UnimplementedError("Extracting memories is not part of this version", resource=str(uri))

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
