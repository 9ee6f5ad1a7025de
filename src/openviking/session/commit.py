"""A commit: messages move into an archive in one transaction, then a job describes it.

Each message is in exactly one place at every moment: the rows of the live ones are deleted in the transaction that
writes the archive's file and queues the job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from openviking.clock import iso, now_ms
from openviking.errors import ConflictError, NotFoundError, ProcessingError
from openviking.ingest.background import Turn
from openviking.model.session import Retention
from openviking.model.task import NewTask
from openviking.session.archives import (
    DIFF,
    DONE,
    FAILED,
    MESSAGES,
    META,
    archive_meta,
    archive_uri,
    archived_messages,
    as_lines,
    put,
    put_json,
)
from openviking.session.counting import count_of
from openviking.session.keeping import Kept, kept
from openviking.session.summary import abstract_of, overview_of
from openviking.store.batch import MakeDirectory, Operation
from openviking.store.jobs import TIDY, NewJob
from openviking.store.port import AccountStore
from openviking.store.sessions import ArchiveMessages, EndArchive
from openviking.uri import URI, from_path

KIND: Final = "session_commit"
"""The kind of the job and the type of its task."""

OVER: Final = "session_commit_over"
"""The kind of the job that marks the archive of a commit whose task was cancelled or given up."""

ATTEMPTS: Final = 100
"""Times that a commit looks again because others were faster."""

NO_EXTRACTION: Final = "memory extraction is not part of this version"


@dataclass(frozen=True, slots=True)
class Committed:
    """What the first phase did: ``number`` of the new archive, 0 if there was nothing to archive for ``reason``."""

    number: int
    task_id: str
    kept: Kept
    reason: str = ""


def commit(
    store: AccountStore,
    session: URI,
    wanted: Retention,
    *,
    owner: str,
    tags: tuple[str, ...] = (),
    automatic: bool = False,
) -> Committed:
    """Archive the messages of a session that ``wanted`` does not keep, and queue the second phase as a task.

    ``tags`` are for the events that will be extracted. Raises `NotFoundError`, `ConflictError` if others commit the
    session all the time.
    """
    for _ in range(ATTEMPTS):
        with store.read() as view:
            state = store.sessions.get(session.path)
            live = store.sessions.live(session.path)
            used = count_of(store, view, session)
        if state is None:
            raise NotFoundError(session.name, "session")
        staying = kept(live, wanted)
        taken = live[: len(live) - staying.count]
        if not taken:
            return Committed(0, "", staying, "all_within_keep_window" if live else "no_messages")
        number, messages = state.commits + 1, [one.message for one in taken]
        directory = archive_uri(session, number)
        task = NewTask(KIND, owner, session.name, {"archive_uri": str(directory)})
        payload = {"session": session.path, "archive": number, "tags": list(tags), "task": task.id, TIDY: OVER,
                   "used": 0 if used is None else len(used.used)}  # fmt: skip
        operations: list[Operation] = [
            ArchiveMessages(session.path, number, taken[-1].number, len(taken), wanted.to_dict(), automatic),
            MakeDirectory(directory.path, exist_ok=True, description=abstract_of(messages)),
            put(directory, MESSAGES, as_lines(messages)),
            put_json(directory, META, archive_meta(session, number, messages, now_ms())),
        ]
        if used is not None:
            operations.append(used)
        try:
            store.apply(operations, jobs=[NewJob(KIND, f"{session.path}\n{task.id}", payload, task=task)])
        except ConflictError as error:
            if not error.details.get("retryable"):
                raise
            continue
        return Committed(number, task.id, staying)
    raise ConflictError(f"{session} is committed by others all the time", resource=str(session), retryable=True)


def finish_commit(store: AccountStore, turn: Turn) -> dict[str, Any]:
    """The second phase: describe an archive and mark it as done; its result. It may be repeated.

    Nothing is extracted from the conversation in this version, and the result says so. Raises `NotFoundError` if the
    session or the archive was removed meanwhile, `ProcessingError` if its messages can't be read; the archive is
    marked as failed then.
    """
    session, number = from_path(turn.payload["session"]), int(turn.payload["archive"])
    directory = archive_uri(session, number)
    try:
        messages = archived_messages(store, session, number)
        ending = EndArchive(session.path, number, "done", abstract_of(messages), overview_of(messages))
        store.apply(
            [
                ending,
                put_json(directory, DIFF, _no_changes(directory), below=directory),
                put(directory, DONE, "", below=directory),
            ]
        )
    except NotFoundError as error:
        mark_failed(store, session, number, error.message)
        raise
    except (ValueError, KeyError, TypeError) as error:
        # The file is damaged: another attempt would meet it again.
        mark_failed(store, session, number, repr(error))
        raise ProcessingError(f"The messages of {directory} can't be read: {error}", resource=str(directory)) from error
    return result_of(session, directory, used=int(turn.payload.get("used", 0)))


def mark_failed(store: AccountStore, session: URI, number: int, error: str) -> None:
    """Note that an archive is never described, and why, where it still lies; its messages stay readable."""
    directory = archive_uri(session, number)
    told = {"archive_uri": str(directory), "failed_at": iso(now_ms()), "error": error}
    ending = EndArchive(session.path, number, "failed")
    store.apply([ending, put_json(directory, FAILED, told, below=directory)], tolerant=True)


def commit_over(store: AccountStore, turn: Turn) -> bool:
    """Mark the archive of a commit that ended without its second phase; the step of a worker for `OVER`."""
    session, number = from_path(turn.payload["session"]), int(turn.payload["archive"])
    archive = store.sessions.archive(session.path, number)
    if archive is not None and archive.state == "pending":
        task = store.tasks.get(turn.payload["task"], None)
        why = "its task was cancelled" if task is None or task.status == "cancelled" else task.error
        mark_failed(store, session, number, why)
    return False


def result_of(session: URI, directory: URI, *, used: int = 0) -> dict[str, Any]:
    """What the task of a commit tells (contract/core.md §3.6); ``used`` counts the nodes that were."""
    none = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {
        "session_id": session.name,
        "archive_uri": str(directory),
        "memories_extracted": {},
        "extraction": {"status": "skipped", "reason": NO_EXTRACTION},
        "session_skills_extracted": 0,
        "session_skill_uris": [],
        "usage_events_extracted": 0,
        "active_count_updated": used,
        "effective_memory_types": [],
        "agent_evolution_enabled": False,
        "agent_memory_skip_reason": NO_EXTRACTION,
        "token_usage": {"llm": none, "embedding": {"total_tokens": 0}, "total": {"total_tokens": 0}},
        "memory_diff_uri": str(directory.child(DIFF)),
    }


def _no_changes(directory: URI) -> dict[str, Any]:
    return {
        "archive_uri": str(directory),
        "extracted_at": None,
        "operations": {"adds": [], "updates": [], "deletes": []},
        "summary": {"total_adds": 0, "total_updates": 0, "total_deletes": 0},
        "skipped": NO_EXTRACTION,
    }
