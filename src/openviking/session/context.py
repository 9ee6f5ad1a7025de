"""What of a session the next turn of a conversation gets, within a budget of tokens (contract/core.md §3.6)."""

from __future__ import annotations

from typing import Any

from openviking.errors import NotFoundError
from openviking.model.message import Message
from openviking.session.archives import archived_messages
from openviking.session.summary import shortened
from openviking.store.port import AccountStore
from openviking.text import estimate_tokens
from openviking.uri import URI


def session_context(store: AccountStore, session: URI, budget: int) -> dict[str, Any]:
    """Live messages first, the newest kept, then the overview of the newest archive that is done, or what has room of it.

    Messages of archives that are not done stand before the live ones as long as there is room: nothing else tells of
    them yet. Raises `NotFoundError`.
    """
    with store.read():
        if store.sessions.get(session.path) is None:
            raise NotFoundError(session.name, "session")
        archives = store.sessions.archives(session.path)
        live = [one.message for one in store.sessions.live(session.path)]
        undone: list[Message] = []
        for archive in archives:
            if archive.state != "done":
                undone += _readable(store, session, archive.number)
    shown, active = _newest([*undone, *live], budget)
    overview = next((archive.overview for archive in reversed(archives) if archive.state == "done"), "")
    archived = estimate_tokens(overview)
    if archived > budget - active:
        overview = shortened(overview, budget - active)
        archived = estimate_tokens(overview)
    dropped = not overview and any(archive.state == "done" and archive.overview for archive in archives)
    return {
        "latest_archive_overview": overview,
        "pre_archive_abstracts": [],
        "messages": [one.to_dict() for one in shown],
        "estimatedTokens": active + archived,
        "stats": {
            "totalArchives": len(archives),
            "includedArchives": 0,
            "droppedArchives": int(dropped),
            "failedArchives": sum(archive.state == "failed" for archive in archives),
            "activeTokens": active,
            "archiveTokens": archived,
            "droppedMessages": len(undone) + len(live) - len(shown),
        },
    }


def _newest(messages: list[Message], budget: int) -> tuple[list[Message], int]:
    """The newest messages that fit without a gap, and their tokens."""
    tokens, start = 0, len(messages)
    while start and tokens + messages[start - 1].tokens <= budget:
        start -= 1
        tokens += messages[start].tokens
    return messages[start:], tokens


def _readable(store: AccountStore, session: URI, number: int) -> list[Message]:
    try:
        return archived_messages(store, session, number)
    except (NotFoundError, ValueError, KeyError, TypeError):
        # Its owner removed or replaced the file.
        return []
