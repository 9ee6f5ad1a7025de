"""Adding resources from afar: uploads become trees, each by a task that survives the process (contract/core.md §3.4)."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from openviking.errors import (
    ConflictError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpenVikingError,
    PermissionDeniedError,
    ProcessingError,
    UnimplementedError,
)
from openviking.index.choices import one_of
from openviking.index.tags import accepted_tags
from openviking.ingest.delivery import storable
from openviking.ingest.fetch.failures import FetchTimeoutError
from openviking.ingest.fetch.fetcher import Fetcher
from openviking.ingest.fetch.origin import REMOTE, Origin, origin_of
from openviking.ingest.opening import ARCHIVE, archive_stem, is_archive
from openviking.ingest.reserve import document_stem, reserve
from openviking.model.identity import Identity
from openviking.model.imports import LISTED, ImportOptions
from openviking.model.task import ACTIVE, NewTask, new_task_id
from openviking.model.watch import without_secrets
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.service.import_step import OVER
from openviking.service.lease import LEASE_MS
from openviking.service.processed import queue_status
from openviking.service.remote_imports import look_ahead, payload_of, reserved_place
from openviking.service.resources import import_target
from openviking.service.running import Running
from openviking.service.task_run import with_task
from openviking.service.tasks import Tasks
from openviking.service.uploads import Upload, Uploads, plain_name
from openviking.service.watch_requests import WatchRequest
from openviking.service.worker import Worker, time_limit
from openviking.store.jobs import TIDY, NewJob
from openviking.store.port import AccountStore
from openviking.text import quoted
from openviking.uri import from_path

TASK_TYPE: Final = "add_resource"

_OTHER_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_CORE: Final = frozenset(
    {"path", "temp_file_id", "to", "parent", "create_parent", "reason", "instruction", "wait", "timeout", "strict",
     "source_name", "ignore_dirs", "include", "exclude", "directly_upload_media", "preserve_structure", "args",
     "telemetry", "watch_interval", "processing_mode", "tags", "tag_mode", "add_type"}
)  # fmt: skip
_FAILURES: Final[dict[str, type[OpenVikingError]]] = {
    error.code: error
    for error in (
        InvalidArgumentError, ConflictError, PermissionDeniedError, FailedPreconditionError, FetchTimeoutError,
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Addition:
    """What is to be added, and where; contract/core.md §3.4 explains the fields."""

    path: str | None = None
    temp_file_id: str | None = None
    source_name: str | None = None
    to: str | None = None
    parent: str | None = None
    create_parent: bool = False
    reason: str = ""
    instruction: str = ""
    strict: bool = False
    include: str | None = None
    exclude: str | None = None
    ignore_dirs: str | None = None
    preserve_structure: bool | None = None
    watch_interval: float | None = None
    is_active: bool | None = None
    tags: Sequence[str] | None = None
    tag_mode: str = "replace"
    args: Mapping[str, Any] = field(default_factory=dict)
    add_type: str | None = None
    internal: bool = False


@dataclass(frozen=True, slots=True)
class _Submitted:
    """A job with its task that fills ``root`` (a store path)."""

    store: AccountStore
    job: NewJob
    task: NewTask
    root: str


class Imports:
    """Queues imports as tasks, and carries them out at once for who waits."""

    def __init__(
        self,
        accounts: Accounts,
        worker: Worker,
        running: Running,
        tasks: Tasks,
        uploads: Uploads,
        fetcher: Fetcher,
        *,
        watching: bool = True,
    ) -> None:
        self._accounts = accounts
        self._worker = worker
        self._running = running
        self._tasks = tasks
        self._uploads = uploads
        self._fetcher = fetcher
        self._watching = watching

    def add(
        self, identity: Identity, addition: Addition, *, wait: bool = False, timeout: float | None = None
    ) -> dict[str, Any]:
        """Add a resource: ``status``, ``root_uri`` and ``task_id``; with ``wait`` what became of it in their place.

        With ``wait`` its words, summaries and vectors are there when this returns. A source that was added ``to`` a
        place before, under the same name, is updated there. The upload is used up. Raises `PermissionDeniedError` for
        a path of the server's disk, an address that may not be asked and an upload that is not the caller's,
        `NotFoundError` for a missing ``parent``, `InvalidArgumentError`, also for a repository that is not there; with ``wait`` also
        `ProcessingError` if nothing could be imported, and `DeadlineExceededError` after ``timeout`` seconds: the
        import goes on then.
        """
        limit = time_limit(timeout)
        deadline = None if limit is None else time.monotonic() + limit
        what, warnings = self._checked(identity, addition)
        watch = WatchRequest.of(addition, enabled=self._watching)
        if isinstance(what, Origin):
            look_ahead(self._fetcher, what, deadline, self._worker.stopping)
        submitted = self._submitted(identity, addition, what, watch)
        warnings += watch.keep(identity, submitted.store, submitted.root, submitted.task.id)
        return self._begun(identity, submitted, warnings, wait=wait, limit=limit, deadline=deadline)

    def fetch_again(
        self, identity: Identity, uri: str, *, wait: bool = False, timeout: float | None = None
    ) -> dict[str, Any]:
        """Fetch what fills ``uri`` once more, with the options that it was added with; as `add` without a watch of its own.

        What has not changed costs one request. Raises `NotFoundError` if nothing that was fetched fills ``uri``, else
        as `add` does.
        """
        from openviking.ingest.fetch.remote import remembered  # noqa: PLC0415

        limit = time_limit(timeout)
        deadline = None if limit is None else time.monotonic() + limit
        target = resolve(identity, uri)
        with self._accounts.store(identity).read() as view:
            known = next((told for one in view.sources_at(target.path) if (told := remembered(one))), None)
        if known is None:
            raise NotFoundError(str(target), "source")
        path, args, options = known
        addition = Addition(
            path=path, to=str(target), args=args, strict=options.strict, include=",".join(options.include),
            exclude=",".join(options.exclude), ignore_dirs=",".join(options.ignore_dirs), tag_mode="append",
        )  # fmt: skip
        what, warnings = self._checked(identity, addition)
        submitted = self._submitted(identity, addition, what, WatchRequest.of(addition))
        return self._begun(identity, submitted, warnings, wait=wait, limit=limit, deadline=deadline)

    def _begun(
        self,
        identity: Identity,
        submitted: _Submitted,
        warnings: list[str],
        *,
        wait: bool,
        limit: float | None,
        deadline: float | None,
    ) -> dict[str, Any]:
        """What is answered once the import is queued, or with ``wait`` carried out."""
        if not wait:
            submitted.store.jobs.enqueue(with_task(submitted.job, submitted.task))
            self._worker.wake()
            return {
                "status": "success",
                "task_id": submitted.task.id,
                "root_uri": str(from_path(submitted.root)),
                **({"warnings": warnings} if warnings else {}),
            }
        try:
            return self._finished(identity, submitted, deadline, warnings)
        except DeadlineExceededError as error:
            error.details.update(
                timeout=limit or 0.0, task_id=submitted.task.id, root_uri=str(from_path(submitted.root))
            )
            raise

    def _checked(self, identity: Identity, addition: Addition) -> tuple[Upload | Origin, list[str]]:
        """The upload or address that is to be imported, and what is to be said of the request."""
        one_of("tag_mode", addition.tag_mode, ("replace", "append"))
        inside = sorted(_CORE & set(addition.args))
        if inside:
            raise InvalidArgumentError(f"args may not hold {', '.join(inside)}: give it beside args", field="args")
        if addition.add_type is not None:
            raise UnimplementedError("Connectors (add_type) are not part of this version", field="add_type")
        if addition.to and addition.parent:
            raise InvalidArgumentError(
                "to and parent exclude each other; give one of them", to=addition.to, parent=addition.parent
            )
        what: Upload | Origin
        if addition.temp_file_id is None:
            what = _origin(addition)
            self._fetcher.check(what)
        elif (addition.watch_interval or 0) > 0:
            raise InvalidArgumentError("An upload can't be watched: it does not change", field="watch_interval")
        else:
            what = self._uploads.find(identity, addition.temp_file_id)
        warnings = [
            f"the tag {quoted(tag)} is not key=value and was left out"
            for tag in addition.tags or ()
            if not accepted_tags([tag])[0]
        ]
        if addition.preserve_structure is False:
            warnings.append("preserve_structure=false has no effect: trees are kept as they are")
        return what, warnings

    def _submitted(
        self, identity: Identity, addition: Addition, what: Upload | Origin, watch: WatchRequest
    ) -> _Submitted:
        """The job and its task, with its root reserved and an upload taken."""
        store = self._accounts.store(identity)
        root, parent = import_target(
            identity, store, addition.to, addition.parent, create_parent=addition.create_parent
        )
        watch.check(identity, store, root)
        if isinstance(what, Origin):
            return self._fetching(identity, store, addition, what, root, parent)
        return self._receiving(identity, store, addition, what, root, parent)

    def _fetching(
        self,
        identity: Identity,
        store: AccountStore,
        addition: Addition,
        origin: Origin,
        root: str | None,
        parent: str | None,
    ) -> _Submitted:
        """The job of fetching an address."""
        self._worker.make_known(store)
        place = reserved_place(identity, store, origin, root, parent, addition.source_name)
        told = NewTask(
            TASK_TYPE, identity.user, str(from_path(place.source.root or "")),
            {"source_name": origin.given, "reason": addition.reason, "instruction": addition.instruction},
            internal=addition.internal,
        )  # fmt: skip
        payload = payload_of(
            place, origin, dict(addition.args), _options(addition), accepted_tags(addition.tags)[0], addition.tag_mode
        )
        return _Submitted(store, NewJob("import", told.id, {**payload, TIDY: OVER}), told, place.source.root or "")

    def _receiving(
        self,
        identity: Identity,
        store: AccountStore,
        addition: Addition,
        upload: Upload,
        root: str | None,
        parent: str | None,
    ) -> _Submitted:
        """The job of an upload, which is taken."""
        name, stem = names(addition.source_name, upload.name)
        # What is added to the same place under the same name is the same source in another state.
        location = "upload:" + (storable(name).replace("\n", " ") if root is not None else upload.id)
        self._worker.make_known(store)
        task = new_task_id()
        # Taken first: of two calls with one upload one must not clear away what the other reserves.
        taken = self._uploads.take(identity, upload.id, task)
        try:
            source, known = reserve(store, location, root, parent, stem)
        except BaseException:
            self._uploads.give_back(taken)
            raise
        self._uploads.settle(taken)
        filled = source.root or ""
        told = NewTask(
            TASK_TYPE, identity.user, str(from_path(filled)),
            {"source_name": name, "reason": addition.reason, "instruction": addition.instruction},
            internal=addition.internal, id=task,
        )  # fmt: skip
        options = _options(addition)
        kept, _ = accepted_tags(addition.tags)
        payload = {
            "location": str(taken), "name": name, "reserved": source.location, "root": filled, "parent": None,
            "options": options.to_dict(), "tags": kept, "tag_mode": addition.tag_mode, "made": not known,
            "upload": True, TIDY: OVER,
        }  # fmt: skip
        return _Submitted(store, NewJob("import", told.id, payload), told, filled)

    def _finished(
        self, identity: Identity, submitted: _Submitted, deadline: float | None, warnings: list[str]
    ) -> dict[str, Any]:
        """Carry the import out in this thread, so that it waits for nobody else's, and tell what became of it."""
        store, task = submitted.store, submitted.task
        with self._running.call():
            job = store.jobs.start(with_task(submitted.job, task), LEASE_MS)
            self._worker.carry_out(store, job, deadline)
        record = self._tasks.get(identity, task.id)
        if record["status"] in ACTIVE:
            # It met an outage, the deadline or the end of this process: a worker carries it on.
            record = self._tasks.wait(identity, task.id, _left(deadline))
        if record["status"] == "cancelled":
            return {"status": "cancelled", "root_uri": str(from_path(submitted.root))}
        if record["status"] == "failed":
            raise _failure(record)
        report = record["result"]
        path = resolve(identity, report["root_uri"]).path
        self._worker.drain(store, _left(deadline), below=path)
        self._worker.wake()
        return finished(report, record["meta"].get("source_name", ""), warnings)


def names(source_name: str | None, filename: str) -> tuple[str, str]:
    """What an upload is called as a file, and what its root is named after.

    ``source_name`` may leave out what kind of file it is: that is taken from the name of the upload.
    """
    given = plain_name(source_name) if source_name and source_name.strip() else filename
    if is_archive(given) or is_archive(filename):
        return (given if is_archive(given) else given + ARCHIVE), (archive_stem(given) if is_archive(given) else given)
    extension = filename[len(document_stem(filename)) :]
    if document_stem(given) == given and extension:
        return given + extension, given
    return given, document_stem(given)


def finished(report: Mapping[str, Any], source_name: str, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """The report of an import in the shape of the contract, with our counts beside it."""
    done = report["created"] + report["updated"] + report["unchanged"]
    failed = [f"{one['name']}: {one['error']}" if one["name"] else one["error"] for one in report["failed"]]
    told = [*report["warnings"], *warnings]
    totals = report["totals"]
    return {
        "status": "success",
        "root_uri": report["root_uri"],
        "source_path": source_name,
        "meta": {
            "file_count": done + totals["failed"],
            "dir_name": report["root_uri"].rpartition("/")[2],
            "total_processable": done,
            "failed_files": report["failed"],
            "unsupported_files": [{"path": name, "status": "stored", "reason": "binary"} for name in report["binary"]],
            "skipped_files": [{"path": one["name"], "status": one["reason"]} for one in report["skipped"]],
            "kept_files": report["kept"],
            "renamed_files": report["renamed"],
            **{name: report[name] for name in ("created", "updated", "unchanged", "removed", "bytes", "passages")},
            "totals": totals,
        },
        "errors": failed,
        **({"warnings": told[:LISTED]} if told else {}),
        "context_count": done,
        "queue_status": queue_status(semantic=done, embedding=report["passages"]),
    }


def _options(addition: Addition) -> ImportOptions:
    return ImportOptions.of(
        strict=addition.strict, include=addition.include, exclude=addition.exclude, ignore_dirs=addition.ignore_dirs
    )


def _origin(addition: Addition) -> Origin:
    """What a request names that brings no upload: only addresses, never a path of this machine."""
    path = addition.path
    if path is None or not path.strip():
        raise InvalidArgumentError("Give temp_file_id, of an upload, or a URL as path", field="path")
    if REMOTE.match(path):
        return origin_of(path, addition.args)
    if _OTHER_SCHEME.match(path.strip()) and not path.strip().lower().startswith("file:"):
        raise InvalidArgumentError(f"{quoted(without_secrets(path))} is no URL that can be fetched", field="path")
    raise PermissionDeniedError(
        "A path of the server's disk can't be added: upload the content with temp_upload", field="path"
    )


def _failure(record: Mapping[str, Any]) -> OpenVikingError:
    """Why a task failed, as the error that its work met."""
    told = record["result"] if isinstance(record["result"], dict) else {}
    kind = _FAILURES.get(told.get("code", ""), ProcessingError)
    details = {**told.get("details", {}), "task_id": record["task_id"]}
    return kind(record["error"] or "The import failed", **details)


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(deadline - time.monotonic(), 0.0)
