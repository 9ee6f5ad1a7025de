"""The second phase of a commit: an archive is described, memories are made of it, and it is marked as done."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from openviking.clock import iso, now_ms
from openviking.errors import (
    AlreadyExistsError,
    ConflictError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    ProcessingError,
    UnavailableError,
)
from openviking.ingest.background import Turn
from openviking.model.message import Message
from openviking.session.archives import DIFF, DONE, archive_uri, archived_messages, put, put_json
from openviking.session.commit import mark_failed
from openviking.session.memories.changes import Changes, changes_of
from openviking.session.memories.diff import diff_of, steps_of
from openviking.session.memories.learning import MODEL, OFF, Learned, Learner, Talk
from openviking.session.memories.merging import Origin
from openviking.session.memories.policy import Policy
from openviking.session.summary import abstract_of, overview_of
from openviking.store.port import AccountStore
from openviking.store.sessions import EndArchive
from openviking.uri import URI, from_path

ATTEMPTS: Final = 20
"""Times that the changes are worked out anew because others wrote the same memories."""

MODEL_ATTEMPTS: Final = 3
"""Attempts of the job in which a model that does not answer is asked; after the last the conversation speaks for itself."""

LASTING: Final = (
    FailedPreconditionError, InvalidArgumentError, NotFoundError, PermissionDeniedError, ProcessingError,
)  # fmt: skip
"""Errors that another attempt would meet as well."""

NO_AGENT_MEMORY: Final = "no chat model understood the conversation"


class Stages(Protocol):
    """Is told where the work is."""

    def stage(self, stage: str, progress: dict[str, Any] | None = None) -> None:
        """It is at ``stage``: archiving, summarising, extracting or saving."""
        ...


def finish_commit(
    store: AccountStore, turn: Turn, learner: Learner, run: Stages, stopped: Callable[[], bool]
) -> dict[str, Any] | None:
    """Finish the commit of ``turn``; its result, None if it was ``stopped`` before anything was saved. May be repeated.

    Memories, ``memory_diff.json``, counts and ``.done`` are one transaction, which fails if anything was changed that
    it was worked out from; then that is read again, and nobody's edit is lost. A model that does not answer is asked
    again in later attempts of the job; after the last the conversation's own statements are all, and the result says
    so. Raises `NotFoundError` if the session or the archive was removed meanwhile, `ProcessingError` if its messages
    can't be read, and marks the archive as failed after these and other errors that another attempt would meet again;
    `UnavailableError` where one may help.
    """
    session, number = from_path(turn.payload["session"]), int(turn.payload["archive"])
    try:
        return _Finishing(store, turn, learner, run, stopped).result(session, number)
    except LASTING as error:
        mark_failed(store, session, number, error.message)
        raise


class _Finishing:
    def __init__(
        self, store: AccountStore, turn: Turn, learner: Learner, run: Stages, stopped: Callable[[], bool]
    ) -> None:
        self._store = store
        self._turn = turn
        self._learner = learner
        self._run = run
        self._stopped = stopped

    def result(self, session: URI, number: int) -> dict[str, Any] | None:
        self._run.stage("archiving")
        learned: Learned | None = None
        talk, described = Talk(session, number, ()), ("", "")
        for _ in range(ATTEMPTS):
            state, archive = self._store.sessions.get(session.path), self._store.sessions.archive(session.path, number)
            if state is None or archive is None:
                raise NotFoundError(session.name, "session")
            policy = self._learner.policy(state.settings.memory_policy)
            if archive.state == "done":
                return result_of(self._store, session, number, policy, int(self._turn.payload.get("used", 0)))
            if learned is None or archive.messages != len(talk.messages):
                # A message that was redacted meanwhile is learned from no more.
                talk = Talk(session, number, _messages(self._store, session, number))
                self._run.stage("summarising")
                described = abstract_of(talk.messages), overview_of(talk.messages) if policy.working_memory else ""
                self._run.stage("extracting")
                learned = self._learned(talk, policy)
                if learned is None:
                    return None
            self._run.stage("saving")
            if self._stopped():
                return None
            try:
                self._save(talk, described, learned)
            except (ConflictError, AlreadyExistsError):
                continue
        raise UnavailableError(
            f"The memories of {session} are changed by others all the time", service="store", reason="conflicts"
        )

    def _learned(self, talk: Talk, policy: Policy) -> Learned | None:
        learned = self._learner.learned(self._store, talk, policy, self._stopped)
        if self._stopped():
            return None
        error = learned.failed
        if error is not None and not error.details.get("refused") and self._turn.attempt < MODEL_ATTEMPTS:
            raise error
        return learned

    def _save(self, talk: Talk, described: tuple[str, str], learned: Learned) -> None:
        directory = archive_uri(talk.session, talk.number)
        origin = Origin(str(directory), iso(now_ms()), talk.sent)
        tags = tuple(str(one) for one in self._turn.payload.get("tags", ()))
        with self._store.read() as view:
            changes = changes_of(view, talk.user, learned.wishes, origin, event_tags=tags, below=talk.session.path)
        told = learned.told() | {"token_usage": _tokens(learned.prompt_tokens, learned.completion_tokens)}
        if changes.left:
            told["left_alone"] = list(changes.left)
        diff = diff_of(origin.archive_uri, changes.steps, None if learned.way == OFF else origin.now, told)
        ending = EndArchive(
            talk.session.path, talk.number, "done", *described,
            counts=_counts(changes, learned), once=True, of=len(talk.messages),
        )  # fmt: skip
        self._store.apply(
            [
                ending,
                *changes.operations,
                put_json(directory, DIFF, diff, below=directory),
                put(directory, DONE, "", below=directory),
            ]
        )


def _messages(store: AccountStore, session: URI, number: int) -> list[Message]:
    try:
        return archived_messages(store, session, number)
    except (ValueError, KeyError, TypeError) as error:
        # The file is damaged: another attempt would meet it again.
        directory = archive_uri(session, number)
        raise ProcessingError(f"The messages of {directory} can't be read: {error}", resource=str(directory)) from error


def result_of(store: AccountStore, session: URI, number: int, policy: Policy, used: int) -> dict[str, Any]:
    """What the task of a commit tells (contract/core.md §3.6), from what is stored; ``used`` counts the nodes that were."""
    directory = archive_uri(session, number)
    diff = _stored(store, directory)
    extraction = diff.get("extraction")
    extraction = extraction if isinstance(extraction, dict) else {}
    counts: dict[str, int] = {}
    with contextlib.suppress(ValueError):
        counts = Changes(steps=tuple(steps_of(diff))).counts()
    way, usage = extraction.get("way", OFF), extraction.get("token_usage") or _tokens(0, 0)
    return {
        "session_id": session.name,
        "archive_uri": str(directory),
        "memories_extracted": counts,
        "extraction": {"status": "skipped" if way == OFF else "completed", **extraction},
        "session_skills_extracted": 0,
        "session_skill_uris": [],
        "usage_events_extracted": 0,
        "active_count_updated": used,
        "effective_memory_types": list(policy.types) if policy.wants_any and way != OFF else [],
        "agent_evolution_enabled": False,
        "agent_memory_skip_reason": None if way == MODEL else extraction.get("reason") or NO_AGENT_MEMORY,
        "token_usage": usage,
        "memory_diff_uri": str(directory.child(DIFF)),
    }


def _stored(store: AccountStore, directory: URI) -> Mapping[str, Any]:
    with store.read() as view:
        node = view.get(directory.child(DIFF).path)
        text = None if node is None or node.is_dir else view.text(node)
    try:
        told = json.loads(text or "{}")
    except (ValueError, RecursionError):
        # Its owner replaced it.
        return {}
    return told if isinstance(told, dict) else {}


def _counts(changes: Changes, learned: Learned) -> dict[str, int]:
    counts = {f"memories.{name}": number for name, number in changes.counts().items()}
    tokens = {"llm.prompt_tokens": learned.prompt_tokens, "llm.completion_tokens": learned.completion_tokens}
    return counts | {name: number for name, number in tokens.items() if number}


def _tokens(prompt: int, completion: int) -> dict[str, Any]:
    total = prompt + completion
    return {
        "llm": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total},
        "embedding": {"total_tokens": 0},
        "total": {"total_tokens": total},
    }
