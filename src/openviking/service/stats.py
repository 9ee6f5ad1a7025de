"""Counters of what is remembered, and of one conversation (contract/core.md §3.12)."""

from __future__ import annotations

from typing import Any, Final

from openviking.errors import InvalidArgumentError
from openviking.model.identity import Identity
from openviking.model.session import MEMORY_TYPES, OFF_MEMORY_TYPES, session_uri
from openviking.service.accounts import Accounts
from openviking.service.session_desk import existing
from openviking.session.live_files import session_meta
from openviking.session.memories.places import type_of
from openviking.store.port import View
from openviking.text import quoted

OTHER: Final = "other"
"""Files among memories that are of no type."""


class Stats:
    """Counts what the caller has; with an actor peer of its partners that one alone."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def memories(self, identity: Identity, category: str | None = None) -> dict[str, Any]:
        """How many memories there are: ``total``, ``by_category``, and ``by_peer`` of each partner ("" the user's own).

        ``category`` is a type of memories, None for all. Raises `InvalidArgumentError` for any other.
        """
        known = (*MEMORY_TYPES, *OFF_MEMORY_TYPES)
        if category is not None and category not in known:
            raise InvalidArgumentError(
                f"category is {quoted(category)}, it must be one of {', '.join(known)}", field="category"
            )
        by_category = dict.fromkeys(known if category is None else (category,), 0)
        by_peer: dict[str, int] = {}
        home = f"user/{identity.user}"
        with self._accounts.store(identity).read() as view:
            for peer, root in _roots(view, home, identity.actor_peer):
                for entry in view.walk(root, hidden_files=False, files_only=True) if view.get(root) else ():
                    kind = type_of(entry.node.path) or OTHER
                    if category is None or kind == category:
                        by_category[kind] = by_category.get(kind, 0) + 1
                        by_peer[peer] = by_peer.get(peer, 0) + 1
        total = sum(by_category.values())
        return {"category": category, "total": total, "by_category": by_category, "by_peer": by_peer}

    def session(self, identity: Identity, session_id: str) -> dict[str, Any]:
        """What is counted of a session: messages, commits, archives by state, memories and tokens.

        Raises `NotFoundError`.
        """
        uri = session_uri(identity.user, session_id)
        store = self._accounts.store(identity)
        with store.read():
            session = existing(store.sessions.get(uri.path), uri)
            archives = store.sessions.archives(uri.path)
        meta = session_meta(session)
        states = dict.fromkeys(("pending", "done", "failed"), 0)
        for archive in archives:
            states[archive.state] += 1
        counted = (
            "session_id", "message_count", "total_message_count", "commit_count", "pending_tokens", "memories_extracted",
            "llm_token_usage", "embedding_token_usage", "last_commit_at",
        )  # fmt: skip
        return {**{name: meta[name] for name in counted}, "archives": states}


def _roots(view: View, home: str, actor: str | None) -> list[tuple[str, str]]:
    if actor:
        return [("", f"{home}/memories"), (actor, f"{home}/peers/{actor}/memories")]
    peers = f"{home}/peers"
    found = view.children(peers, hidden=False) if view.get(peers) is not None else []
    return [("", f"{home}/memories"), *((one.name, f"{one.path}/memories") for one in found if one.is_dir)]
