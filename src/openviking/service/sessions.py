"""Conversations: sessions, their messages, commits, archives and tool results (contract/core.md §3.6)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from openviking.clock import iso, now_ms
from openviking.errors import InvalidArgumentError, NotFoundError, OpenVikingError, UnimplementedError
from openviking.index.limits import position, whole_number
from openviking.index.tags import accepted_tags
from openviking.ingest.background import Step, Turn
from openviking.model.identity import Identity
from openviking.model.message import messages_of
from openviking.model.session import (
    Retention,
    Session,
    Settings,
    archive_number,
    auto_commit_policy,
    memory_policy,
    new_session_id,
    retention,
    session_uri,
    tags_of,
)
from openviking.service.accounts import Accounts
from openviking.service.task_run import TaskRun, tracked
from openviking.service.worker import Worker
from openviking.session.archives import archive_uri, archived_messages
from openviking.session.commit import KIND, Committed, commit, finish_commit
from openviking.session.context import session_context
from openviking.session.live_files import session_meta
from openviking.session.tool_results import OFFSET_UNIT, described, externalised, matches
from openviking.store.batch import MakeDirectory, Remove
from openviking.store.port import AccountStore
from openviking.store.sessions import AddMessages, MakeSession, Sent, Use
from openviking.text import quoted
from openviking.uri import URI

MAX_BATCH: Final = 100
MAX_LISTED: Final = 1_000
MAX_KEY_CHARS: Final = 256
DEFAULT_BUDGET: Final = 128_000
KEEP: Final = object()
"""Stands for a setting that a call leaves as it is, where None switches it off."""

_log = logging.getLogger(__name__)


class Sessions:
    """The conversations of the caller alone; an actor peer makes no difference to them."""

    def __init__(self, accounts: Accounts, worker: Worker) -> None:
        self._accounts = accounts
        self._worker = worker

    def create(
        self,
        identity: Identity,
        session_id: str | None = None,
        *,
        memory_policy: Any = None,
        auto_commit_policy: Any = None,
        memory_extraction_config: Any = None,
    ) -> dict[str, Any]:
        """Make a session, with an id of its own if none is given.

        Raises `AlreadyExistsError`, `InvalidArgumentError` for an id or a policy that can't be one.
        """
        uri = session_uri(identity.user, new_session_id(now_ms()) if session_id is None else session_id)
        settings = _settings(memory_policy, auto_commit_policy, memory_extraction_config)
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
            self._make(store, uri, Settings(), exist_ok=True)
            session = store.sessions.get(uri.path)
        meta = session_meta(_existing(session, uri))
        return {
            "session_id": meta.pop("session_id"),
            "uri": str(uri),
            "user": _owner(identity),
            "created_by_account_id": identity.account,
            "created_by_user_id": identity.user,
            **meta,
        }

    def delete(self, identity: Identity, session_id: str) -> dict[str, Any]:
        """Remove a session with its messages and archives. Raises `NotFoundError`."""
        store, uri = self._place(identity, session_id)
        if store.apply([Remove(uri.path, recursive=True)]).outcomes[0].kind == "missing":
            raise NotFoundError(uri.name, "session")
        self._worker.wake()
        return {"session_id": uri.name}

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
        return {
            "session_id": uri.name,
            "auto_commit_policy": session.settings.auto_commit,
            "memory_extraction_config": session.settings.extraction,
        }

    def add(
        self, identity: Identity, session_id: str, messages: Sequence[Mapping[str, Any]], *, key: str | None = None
    ) -> dict[str, Any]:
        """Append 1 to 100 messages, all or none, in order; a session that is missing is made.

        A message whose ``id``, or place under the same idempotency ``key``, the session knows is a repetition: it is
        not stored again, and ``message_ids`` tells the ids of the first. May commit the session, by its policy.
        Raises `InvalidArgumentError`.
        """
        store, uri = self._place(identity, session_id)
        if not isinstance(messages, list | tuple) or not 1 <= len(messages) <= MAX_BATCH:
            raise InvalidArgumentError(
                f"messages must be a list of 1 to {MAX_BATCH} messages, not {quoted(messages)}", field="messages"
            )
        if key is not None and not 1 <= len(key) <= MAX_KEY_CHARS:
            raise InvalidArgumentError(
                f"Idempotency-Key must have 1 to {MAX_KEY_CHARS} characters", field="Idempotency-Key"
            )
        sent = tuple(_sent(uri, one, key, number) for number, one in enumerate(messages))
        adding = AddMessages(uri.path, sent)
        try:
            outcome = store.apply([adding]).outcomes[-1]
        except NotFoundError:
            making = MakeSession(uri.path, Settings(), exist_ok=True)
            outcome = store.apply([MakeDirectory(uri.path, exist_ok=True), making, adding]).outcomes[-1]
            self._worker.wake()
        with store.read():
            session = _existing(store.sessions.get(uri.path), uri)
            ids = [
                store.sessions.sent_as(uri.path, one.client_ids) or [each.id for each in one.messages] for one in sent
            ]
        answer = {"session_id": uri.name, "message_count": session.messages, "pending_tokens": session.pending}
        committed = self._commit_if_due(identity, store, uri, session) if outcome.count else None
        if committed is not None:
            session = store.sessions.get(uri.path) or session
            answer |= {"message_count": session.messages, "pending_tokens": session.pending}
            answer["auto_commit"] = {
                "task_id": committed.task_id, "archive_uri": str(archive_uri(uri, committed.number)),
            }  # fmt: skip
        return answer | {"added": outcome.count, "message_ids": [one for group in ids for one in group]}

    def used(
        self,
        identity: Identity,
        session_id: str,
        contexts: Sequence[str] | None = None,
        skill: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Record which contexts and which skill an agent used; how many of each this call told.

        Raises `NotFoundError`, `InvalidArgumentError`.
        """
        store, uri = self._place(identity, session_id)
        named = list(contexts or [])
        if isinstance(contexts, str) or not all(isinstance(one, str) for one in named):
            raise InvalidArgumentError("contexts must be a list of URIs", field="contexts")
        uses = [Use("context", one, {}) for one in named]
        if skill:
            if not isinstance(skill.get("uri"), str):
                raise InvalidArgumentError("skill must have a uri", field="skill.uri")
            uses.append(Use("skill", skill["uri"], {name: skill.get(name) for name in ("input", "output", "success")}))
        for use in uses:
            _check_text(use.uri)
        store.sessions.note_uses(uri.path, uses)
        return {"session_id": uri.name, "contexts_used": len(named), "skills_used": len(uses) - len(named)}

    def commit(
        self,
        identity: Identity,
        session_id: str,
        *,
        keep_recent_count: int | None = None,
        retention_mode: str | None = None,
        keep_recent_turn_count: int | None = None,
        retained_message_token_budget: int | None = None,
        min_raw_tail_steps: int | None = None,
        extraction_metadata: Any = None,
    ) -> dict[str, Any]:
        """Move the messages of a session into its next archive, except the newest that are to stay.

        That is done when this returns; a task describes the archive. ``status`` is ``skipped`` if there was nothing to
        archive. Raises `NotFoundError`, `InvalidArgumentError`.
        """
        store, uri = self._place(identity, session_id)
        wanted = retention(
            keep_recent_count, retention_mode, keep_recent_turn_count, retained_message_token_budget, min_raw_tail_steps
        )
        tags = _tags(tags_of(extraction_metadata, "extraction_metadata", "event"))
        if tags is None:
            tags = _existing(store.sessions.get(uri.path), uri).settings.event_tags
        committed = commit(store, uri, wanted, owner=identity.user, tags=tags)
        self._worker.wake()
        done = bool(committed.number)
        answer: dict[str, Any] = {
            "session_id": uri.name,
            "status": "accepted" if done else "skipped",
            "task_id": committed.task_id or None,
            "archive_uri": str(archive_uri(uri, committed.number)) if done else None,
            "archived": done,
        }
        if not done:
            return answer | {"reason": committed.reason}
        answer["trace_id"] = None
        if wanted.turn_budget:
            answer |= {"estimated_active_tokens": committed.kept.tokens, "budget_exceeded": committed.kept.exceeded}
        return answer

    def extract(self, identity: Identity, session_id: str) -> list[dict[str, Any]]:
        """Would extract memories. Raises `NotFoundError`, else `UnimplementedError`."""
        store, uri = self._place(identity, session_id)
        _existing(store.sessions.get(uri.path), uri)
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
            _existing(store.sessions.get(uri.path), uri)
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
            _existing(store.sessions.get(uri.path), uri)
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
        """Where a long output says ``q``, in whatever case. Raises `NotFoundError`, `InvalidArgumentError`."""
        limit, around = whole_number(limit, "limit", minimum=1), position(context_chars, "context_chars")
        if not q.strip():
            raise InvalidArgumentError("q must not be empty", field="q")
        store, uri = self._place(identity, session_id)
        result = store.sessions.tool_result(uri.path, result_id)
        if result is None:
            raise NotFoundError(result_id, "tool_result")
        return {"tool_result_id": result.id, "matches": matches(result.content, q, limit, around)}

    def _place(self, identity: Identity, session_id: str) -> tuple[AccountStore, URI]:
        uri = session_uri(identity.user, session_id)
        return self._accounts.store(identity), uri

    def _make(self, store: AccountStore, uri: URI, settings: Settings, *, exist_ok: bool) -> None:
        store.apply([MakeDirectory(uri.path, exist_ok=True), MakeSession(uri.path, settings, exist_ok)])
        self._worker.wake()

    def _commit_if_due(self, identity: Identity, store: AccountStore, uri: URI, session: Session) -> Committed | None:
        """Commit a session that is over a threshold of its policy; None if that did not happen."""
        policy = session.settings.auto_commit
        if policy is None:
            return None
        over = (
            session.pending > policy["pending_token_threshold"] or session.messages > policy["message_count_threshold"]
        )
        waited = now_ms() - (session.last_commit_at or 0) >= policy["min_commit_interval_seconds"] * 1000
        if not over or not waited:
            return None
        try:
            committed = commit(
                store, uri, Retention(policy["keep_recent_count"]), owner=identity.user,
                tags=session.settings.event_tags, automatic=True,
            )  # fmt: skip
        except OpenVikingError as error:
            # The messages are stored and acknowledged all the same; the next one tries again.
            _log.warning("the session %s could not be committed by its policy: %s", uri, error.message)
            return None
        self._worker.wake()
        return committed if committed.number else None


def session_steps() -> dict[str, Step]:
    """The kinds of jobs of sessions, for a worker."""
    return {KIND: tracked(_carry_out)}


def _carry_out(store: AccountStore, turn: Turn, run: TaskRun) -> dict[str, Any]:
    run.stage("describing")
    return finish_commit(store, turn)


def _sent(uri: URI, given: Any, key: str | None, number: int) -> Sent:
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(f"A message must be an object, not {quoted(given)}", field=f"messages[{number}]")
    client_id, messages = messages_of(given, now_ms())
    shown, results = externalised(uri, messages)
    ids = ((f"id\n{client_id}",) if client_id else ()) + (() if key is None else (f"key\n{key}\n{number}",))
    return Sent(ids, shown, results)


def _settings(policy: Any, auto_commit: Any, extraction: Any) -> Settings:
    return Settings(_auto_commit(auto_commit, None), memory_policy(policy), _event_tags(extraction) or ())


_auto_commit = auto_commit_policy


def _event_tags(extraction: Any) -> tuple[str, ...] | None:
    return _tags(tags_of(extraction, "memory_extraction_config", "events"))


def _tags(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else accepted_tags(given)[0]


def _check_text(uri: str) -> None:
    try:
        uri.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{quoted(uri)} has a lone surrogate, which is no text", field="uri") from error


def _existing(session: Session | None, uri: URI) -> Session:
    if session is None:
        raise NotFoundError(uri.name, "session")
    return session


def _owner(identity: Identity) -> dict[str, str]:
    return {"account_id": identity.account, "user_id": identity.user}
