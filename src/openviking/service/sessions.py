"""Conversations: making, listing, showing, configuring and removing sessions (contract/core.md §3.6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from openviking.clock import iso, now_ms
from openviking.ingest.background import Step, Turn
from openviking.model.identity import Identity
from openviking.model.session import (
    Settings,
    auto_commit_policy,
    memory_policy,
    new_session_id,
    session_uri,
    tags_of,
)
from openviking.service.extraction import Extraction
from openviking.service.session_desk import existing, kept_tags
from openviking.service.session_records import SessionRecords
from openviking.service.session_redaction import SessionRedaction
from openviking.service.session_talk import SessionTalk
from openviking.service.task_run import TaskRun, Unfinished, tracked
from openviking.session.commit import CANCELLED, KIND, OVER, commit_over, mark_failed
from openviking.session.finishing import finish_commit
from openviking.session.live_files import session_meta
from openviking.session.redaction import removed
from openviking.store.port import AccountStore
from openviking.uri import from_path

MAX_LISTED: Final = 1_000
KEEP: Final = object()
"""Stands for a setting that a call leaves as it is, where None switches it off."""


class Sessions(SessionTalk, SessionRecords, SessionRedaction):
    """All that is done with the conversations of a caller."""

    def create(
        self,
        identity: Identity,
        session_id: str | None = None,
        *,
        memory_policy: Any = None,
        auto_commit_policy: Any = KEEP,
        memory_extraction_config: Any = None,
    ) -> dict[str, Any]:
        """Make a session, with an id of its own if none is given; whether it has a policy that nobody says is configured.

        Raises `AlreadyExistsError`, `InvalidArgumentError` for an id or a policy that can't be one.
        """
        uri = session_uri(identity.user, new_session_id(now_ms()) if session_id is None else session_id)
        unsaid = auto_commit_policy is KEEP
        settings = _settings(memory_policy, None if unsaid else auto_commit_policy, memory_extraction_config)
        if unsaid:
            settings = replace(settings, auto_commit=self._unsaid.auto_commit)
        self._make(self._accounts.store(identity), uri, settings, exist_ok=False)
        return {
            "session_id": uri.name,
            "uri": str(uri),
            "user": _owner(identity),
            "auto_commit_policy": settings.auto_commit,
            "memory_extraction_config": settings.extraction,
        }

    def ls(self, identity: Identity) -> list[dict[str, Any]]:
        """The caller's sessions, the one that changed last first, at most 1,000."""
        sessions = self._accounts.store(identity).sessions.find(f"user/{identity.user}/sessions", MAX_LISTED)
        return [
            {
                "session_id": one.id,
                "uri": str(session_uri(identity.user, one.id)),
                "is_dir": True,
                "mod_time": iso(one.updated_at),
            }
            for one in sessions
        ]

    def get(self, identity: Identity, session_id: str, *, auto_create: bool = False) -> dict[str, Any]:
        """What is known of a session; ``auto_create`` makes a missing one. Raises `NotFoundError`."""
        store, uri = self._place(identity, session_id)
        session = store.sessions.get(uri.path)
        if session is None and auto_create:
            self._make(store, uri, self._unsaid, exist_ok=True)
            session = store.sessions.get(uri.path)
        meta = session_meta(existing(session, uri))
        return {
            "session_id": meta.pop("session_id"),
            "uri": str(uri),
            "user": _owner(identity),
            "created_by_account_id": identity.account,
            "created_by_user_id": identity.user,
            **meta,
        }

    def exists(self, identity: Identity, session_id: str) -> bool:
        """Whether the caller has such a session."""
        store, uri = self._place(identity, session_id)
        return store.sessions.get(uri.path) is not None

    def delete(self, identity: Identity, session_id: str, *, memories: bool = False) -> dict[str, Any]:
        """Remove a session with its messages and archives; ``memories`` that were made of it stay, and are named.

        With ``memories`` those that come from it alone go in the same transaction, ``memories_removed``; what somebody
        edited, or others say too, stays. Raises `NotFoundError`, `ConflictError` if others change them all the time.
        """
        store, uri = self._place(identity, session_id)
        left, gone = removed(store, uri, memories=memories)
        self._worker.wake()
        return {"session_id": uri.name, "memories": left, **({"memories_removed": gone} if memories else {})}

    def configure(
        self,
        identity: Identity,
        session_id: str,
        *,
        auto_commit_policy: Any = KEEP,
        memory_extraction_config: Any = KEEP,
    ) -> dict[str, Any]:
        """Change settings of a session: what is not given stays, a policy of None is switched off, an object is merged.

        Raises `NotFoundError`, `InvalidArgumentError`.
        """
        store, uri = self._place(identity, session_id)

        def changed(settings: Settings) -> Settings:
            if auto_commit_policy is not KEEP:
                settings = replace(settings, auto_commit=_auto_commit(auto_commit_policy, settings.auto_commit))
            if memory_extraction_config is not KEEP:
                settings = replace(settings, event_tags=_event_tags(memory_extraction_config) or ())
            return settings

        session = store.sessions.configure(uri.path, changed)
        self._expect_idle(session)
        return {
            "session_id": uri.name,
            "auto_commit_policy": session.settings.auto_commit,
            "memory_extraction_config": session.settings.extraction,
        }


def session_steps(extraction: Extraction | None = None) -> dict[str, Step]:
    """The kinds of jobs of sessions, for a worker; ``extraction`` finds what is learned, without one no model does."""
    learner = extraction or Extraction()

    def finish(store: AccountStore, turn: Turn, run: TaskRun) -> dict[str, Any]:
        result = finish_commit(store, turn, learner, run, run.cancelled)
        if result is None:
            if run.wanted():
                # Its job ends with it, and nobody else would say so.
                session, number = from_path(turn.payload["session"]), int(turn.payload["archive"])
                mark_failed(store, session, number, CANCELLED)
            raise Unfinished
        return result

    return {KIND: tracked(finish), OVER: commit_over}


def _settings(policy: Any, auto_commit: Any, extraction: Any) -> Settings:
    return Settings(_auto_commit(auto_commit, None), memory_policy(policy), _event_tags(extraction) or ())


_auto_commit = auto_commit_policy


def _event_tags(extraction: Any) -> tuple[str, ...] | None:
    return kept_tags(tags_of(extraction, "memory_extraction_config", "events"))


def _owner(identity: Identity) -> dict[str, str]:
    return {"account_id": identity.account, "user_id": identity.user}
