"""Talking in a session: messages, what was used for them, and commits (contract/core.md §3.6)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from openviking.clock import now_ms
from openviking.errors import InvalidArgumentError, NotFoundError, OpenVikingError
from openviking.model.identity import Identity
from openviking.model.message import Message, messages_of
from openviking.model.session import Retention, Session, retention, tags_of
from openviking.service.session_desk import SessionDesk, existing, kept_tags
from openviking.session.archives import archive_uri
from openviking.session.commit import Committed, commit
from openviking.session.scrubbing import scrubbed, scrubbed_value
from openviking.session.tool_results import Spent, externalised, spent_in_turn
from openviking.store.batch import MakeDirectory
from openviking.store.port import AccountStore
from openviking.store.sessions import AddMessages, MakeSession, Sent, Use
from openviking.text import quoted
from openviking.uri import URI

MAX_BATCH: Final = 100
MAX_KEY_CHARS: Final = 256
TURN: Final = 200
"""Messages of the turn under way whose outputs of tools are counted, at most."""

_log = logging.getLogger(__name__)


class SessionTalk(SessionDesk):
    """Adds messages and archives them."""

    def add(
        self, identity: Identity, session_id: str, messages: Sequence[Mapping[str, Any]], *, key: str | None = None
    ) -> dict[str, Any]:
        """Append 1 to 100 messages, all or none, in order; a session that is missing is made.

        A message whose ``id``, or place under the same idempotency ``key``, the session knows is a repetition: it is
        not stored again, and ``message_ids`` tells the ids of the first. Secrets are masked before anything is stored;
        ``masked`` tells how many. May commit the session, by its policy. Raises `InvalidArgumentError`.
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
        sent, masked = self._sent(store, uri, messages, key)
        adding = AddMessages(uri.path, sent)
        try:
            outcome = store.apply([adding]).outcomes[-1]
        except NotFoundError:
            making = MakeSession(uri.path, self._unsaid, exist_ok=True)
            outcome = store.apply([MakeDirectory(uri.path, exist_ok=True), making, adding]).outcomes[-1]
            self._worker.wake()
        with store.read():
            session = existing(store.sessions.get(uri.path), uri)
            ids = [
                store.sessions.sent_as(uri.path, one.client_ids) or [each.id for each in one.messages] for one in sent
            ]
        answer = {"session_id": uri.name, "message_count": session.messages, "pending_tokens": session.pending}
        self._expect_idle(session)
        committed = self._commit_if_due(identity, store, uri, session) if outcome.count else None
        if committed is not None:
            session = store.sessions.get(uri.path) or session
            answer |= {"message_count": session.messages, "pending_tokens": session.pending}
            answer["auto_commit"] = {
                "task_id": committed.task_id, "archive_uri": str(archive_uri(uri, committed.number)),
            }  # fmt: skip
        told = [one for group in ids for one in group]
        return answer | {"added": outcome.count, "message_ids": told, "masked": masked}

    def _sent(
        self, store: AccountStore, uri: URI, messages: Sequence[Mapping[str, Any]], key: str | None
    ) -> tuple[tuple[Sent, ...], int]:
        """What becomes of the inputs, and how many secrets were masked in them."""
        checked = [_checked(one, key, number) for number, one in enumerate(messages)]
        masked, spent = 0, Spent()
        if any("tool_output" in part for _, group in checked for one in group for part in one.parts):
            spent = spent_in_turn(store.sessions.newest(uri.path, TURN))
        sent = []
        for ids, group in checked:
            shown, found = scrubbed(group) if self._settings.scrub_secrets else (group, 0)
            sent.append(Sent(ids, *externalised(uri, shown, self._settings, spent)))
            masked += found
        return tuple(sent), masked

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
            detail = {name: skill.get(name) for name in ("input", "output", "success")}
            uses.append(
                Use("skill", skill["uri"], scrubbed_value(detail)[0] if self._settings.scrub_secrets else detail)
            )
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
        tags = kept_tags(tags_of(extraction_metadata, "extraction_metadata", "event"))
        if tags is None:
            tags = existing(store.sessions.get(uri.path), uri).settings.event_tags
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

    def _commit_if_due(self, identity: Identity, store: AccountStore, uri: URI, session: Session) -> Committed | None:
        """Commit a session that is over a threshold of its policy; None if that did not happen."""
        policy = session.settings.auto_commit
        if policy is None:
            return None
        # Where more stay than the threshold allows, each message would have an archive of its own.
        least, staying = policy["message_count_threshold"], policy["keep_recent_count"]
        if staying >= least:
            least += staying
        over = session.pending > policy["pending_token_threshold"] or session.messages > least
        now = now_ms()
        # A commit that lies ahead was noted by a clock that was set back since.
        waited = now - min(session.last_commit_at or 0, now) >= policy["min_commit_interval_seconds"] * 1000
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


def _checked(given: Any, key: str | None, number: int) -> tuple[tuple[str, ...], tuple[Message, ...]]:
    """The ids by which a repetition of an input is known, and its messages."""
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(f"A message must be an object, not {quoted(given)}", field=f"messages[{number}]")
    client_id, messages = messages_of(given, now_ms())
    ids = ((f"id\n{client_id}",) if client_id else ()) + (() if key is None else (f"key\n{key}\n{number}",))
    return ids, messages


def _check_text(uri: str) -> None:
    try:
        uri.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{quoted(uri)} has a lone surrogate, which is no text", field="uri") from error
