"""A commit: messages move into an archive in one transaction, then a job finishes it (`openviking.session.finishing`).

Each message is in exactly one place at every moment: the rows of the live ones are deleted in the transaction that
writes the archive's file and queues the job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from openviking.clock import iso, now_ms
from openviking.errors import ConflictError, NotFoundError
from openviking.ingest.background import Turn
from openviking.model.session import Retention
from openviking.model.task import NewTask
from openviking.session.archives import (
    FAILED,
    MESSAGES,
    META,
    archive_meta,
    archive_uri,
    as_lines,
    put,
    put_json,
)
from openviking.session.counting import count_of
from openviking.session.keeping import Kept, kept
from openviking.session.summary import abstract_of
from openviking.store.batch import MakeDirectory, Operation
from openviking.store.jobs import TIDY, NewJob
from openviking.store.port import AccountStore
from openviking.store.sessions import ArchiveMessages, EndArchive
from openviking.uri import URI, from_path

KIND: Final = "session_commit"
"""The kind of the job and the type of its task."""

OVER: Final = "session_commit_over"
"""The kind of the job that marks the archive of a commit whose task was cancelled or given up."""

CANCELLED: Final = "its task was cancelled"
"""Why an archive is never described whose task somebody cancelled."""

ATTEMPTS: Final = 100
"""Times that a commit looks again because others were faster."""


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
        why = CANCELLED if task is None or task.status == "cancelled" else task.error
        mark_failed(store, session, number, why)
    return False
