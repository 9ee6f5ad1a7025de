"""Taking back the memories of one commit, as far as nobody has changed them since."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from openviking.clock import iso, now_ms
from openviking.errors import (
    AlreadyExistsError,
    ConflictError,
    FailedPreconditionError,
    NotFoundError,
    ProcessingError,
)
from openviking.index.tags import MEMORY_TYPE, accepted_tags
from openviking.ingest.prepare import prepare
from openviking.model.session import archive_id
from openviking.session.archives import DIFF, archive_uri, put_json
from openviking.session.memories.changes import Step
from openviking.session.memories.diff import ROLLED_BACK, steps_of
from openviking.session.memories.fields import joined, parted
from openviking.session.memories.places import emptied, memory_path
from openviking.store.batch import Operation, PutFile, Remove, SetTags
from openviking.store.port import AccountStore, View
from openviking.uri import URI

ATTEMPTS: Final = 20
"""Times that it is worked out anew because others were faster."""

CHANGED: Final = "changed_since"
"""Why a memory is kept: it is no longer what the commit left."""

REDACTED: Final = "redacted"
"""Why a memory is kept: what it was before was taken out of the archive."""

FOREIGN: Final = "not_a_memory"
"""Why an entry of a diff that somebody edited is passed over."""


@dataclass(frozen=True, slots=True)
class RolledBack:
    """URIs whose change was taken back, and those that were kept, each with the reason."""

    reverted: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()

    @property
    def waiting(self) -> frozenset[str]:
        """Those that may be as the commit left them again, once what came later is taken back."""
        return frozenset(uri for uri, reason in self.kept if reason == CHANGED)

    def to_dict(self) -> dict[str, Any]:
        """As answers tell it."""
        return {
            "reverted": list(self.reverted),
            "kept": [{"uri": uri, "reason": reason} for uri, reason in self.kept],
        }


def roll_back(store: AccountStore, session: URI, number: int) -> RolledBack:
    """Remove what the commit of an archive added, and restore what it updated or deleted, in one transaction.

    A memory that is not what the commit left is kept; a later call looks at these again, and at nothing else. The diff
    notes when it was done. Raises `NotFoundError`, `FailedPreconditionError` while the commit is under way,
    `ProcessingError` if the diff can't be read, `ConflictError` if others change the memories all the time.
    """
    directory = archive_uri(session, number)
    for _ in range(ATTEMPTS):
        with store.read() as view:
            if store.sessions.get(session.path) is None:
                raise NotFoundError(session.name, "session")
            archive = store.sessions.archive(session.path, number)
            if archive is None:
                raise NotFoundError(archive_id(number), "archive")
            if archive.state == "pending":
                raise FailedPreconditionError(
                    f"The commit of {directory} is under way; its task says when it is over", resource=str(directory)
                )
            if archive.state == "failed":
                return RolledBack()
            told, base = _diff(view, directory)
            before = _before(told)
            steps = _steps(told, directory)
            if before is not None:
                steps = [step for step in steps if step.change.uri in before.waiting]
            done, operations = _reverting(view, session.parts[1], steps)
            operations += emptied([one.path for one in operations if isinstance(one, Remove)])
        if before is not None and not operations:
            return done
        reverted = (*(() if before is None else before.reverted), *done.reverted)
        noting = {ROLLED_BACK: iso(now_ms()), "rollback": RolledBack(reverted, done.kept).to_dict()}
        noted = put_json(directory, DIFF, {**told, **noting})
        operations.append(PutFile(noted.path, noted.content, "replace", base=base))
        try:
            store.apply(operations)
        except (ConflictError, AlreadyExistsError):
            continue
        return done
    raise ConflictError(f"The memories of {directory} are changed by others all the time", resource=str(directory))


def _diff(view: View, directory: URI) -> tuple[dict[str, Any], bytes]:
    node = view.get(directory.child(DIFF).path)
    if node is None or node.is_dir:
        raise NotFoundError(str(directory.child(DIFF)), "file")
    data = view.data(node)
    try:
        told = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _unreadable(directory, error) from error
    if not isinstance(told, dict):
        raise _unreadable(directory, TypeError("it holds no object"))
    return told, node.hash or hashlib.sha256(data).digest()


def _before(told: dict[str, Any]) -> RolledBack | None:
    """What was taken back already; None if nobody tried."""
    if not told.get(ROLLED_BACK):
        return None
    done: Any = told.get("rollback")
    try:
        return RolledBack(tuple(done["reverted"]), tuple((one["uri"], one["reason"]) for one in done["kept"]))
    except (KeyError, TypeError):
        # Its owner replaced it.
        return RolledBack()


def _steps(told: dict[str, Any], directory: URI) -> list[Step]:
    try:
        return steps_of(told)
    except ValueError as error:
        raise _unreadable(directory, error) from error


def _reverting(view: View, user: str, steps: list[Step]) -> tuple[RolledBack, list[Operation]]:
    operations: list[Operation] = []
    reverted: list[str] = []
    kept: list[tuple[str, str]] = []
    for step in steps:
        uri = step.change.uri
        path = memory_path(user, uri)
        if path is None:
            kept.append((uri, FOREIGN))
        elif step.redacted:
            kept.append((uri, REDACTED))
        elif taken := _taken_back(view, path, step):
            operations += taken
            reverted.append(uri)
        else:
            kept.append((uri, CHANGED))
    return RolledBack(tuple(reverted), tuple(kept)), operations


def _taken_back(view: View, path: str, step: Step) -> list[Operation]:
    """The operations that undo ``step``; none if its memory is not what the step left."""
    change = step.change
    node = view.get(path)
    if change.kind == "delete":
        if node is not None:
            return []
        tags = accepted_tags(list(step.tags))[0] or (f"{MEMORY_TYPE}={change.type}",)
        return [_written(path, step, None), SetTags(path, tags, "append")]
    text = None if node is None or node.is_dir else view.text(node)
    if node is None or text is None or parted(text)[0] != (change.after or "").rstrip():
        return []
    return [Remove(path, base=node.hash)] if change.kind == "add" else [_written(path, step, node.hash)]


def _written(path: str, step: Step, base: bytes | None) -> PutFile:
    text = joined(step.change.before or "", step.fields)
    content = prepare(path.rpartition("/")[2], text.encode("utf-8", "replace"))
    return PutFile(path, content, "create" if base is None else "replace", base=base)


def _unreadable(directory: URI, error: Exception) -> ProcessingError:
    file = str(directory.child(DIFF))
    return ProcessingError(f"{file} can't be read: {error}", resource=file)
