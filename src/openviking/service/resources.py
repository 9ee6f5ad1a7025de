"""Adding resources from local folders, files and archives (contract/core.md §3.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.index.tags import accepted_tags
from openviking.ingest.importing import import_source
from openviking.model.identity import Identity
from openviking.model.imports import ImportOptions, ImportReport, Progress
from openviking.service.access import check_import_target, resolve, resolve_new
from openviking.service.accounts import Accounts
from openviking.service.worker import LEASE_MS, Worker
from openviking.store.batch import SetTags
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.uri import URI

DEFAULT_PARENT = "resources"

_REMOTE = ("http://", "https://", "git@", "ssh://", "git://")


class Resources:
    """Importing what lies on the local disk; each import is a job that another process would finish."""

    def __init__(self, accounts: Accounts, worker: Worker) -> None:
        self._accounts = accounts
        self._worker = worker

    def add_resource(
        self,
        identity: Identity,
        path: str | Path,
        to: str | None = None,
        parent: str | None = None,
        *,
        create_parent: bool = False,
        options: ImportOptions,
        tags: Sequence[str] | None = None,
        wait: bool = False,
        timeout: float | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> ImportReport:
        """Import a local folder, file or zip, or update what it made before; its words are found when this returns.

        ``to`` is the exact target, ``parent`` the directory to put it in (``create_parent``: made if missing); not
        both. ``wait`` also awaits sidecars. Raises `NotFoundError` for a missing path or parent, `ProcessingError`
        for an unreadable archive, `InvalidArgumentError` for bad values.
        """
        location = _location(path)
        store = self._accounts.store(identity)
        root, below = self._target(identity, store, to, parent, create_parent=create_parent)
        payload = {"location": str(location), "root": root, "parent": below, "options": options.to_dict()}
        job_id = store.jobs.enqueue(NewJob("import", f"{location}\n{root or below}", payload, delay=LEASE_MS))
        job = store.jobs.claim(("import",), LEASE_MS, only=job_id, due_only=False)
        try:
            report = import_source(
                store, location, root=root, parent=below, options=options, progress=self._renewing(store, job, progress)
            )
        finally:
            if job is not None:
                store.jobs.finish(job)
        kept, _ = accepted_tags(tags or ())
        if kept:
            store.apply([SetTags(resolve(identity, report.root_uri).path, kept, "append", recursive=True)])
        if wait:
            self._worker.drain(store, timeout)
        self._worker.wake()
        return report

    @staticmethod
    def resume(store: AccountStore, payload: dict[str, Any]) -> bool:
        """Carry on an import whose process ended before it was complete."""
        location = Path(payload["location"])
        if location.exists():
            import_source(
                store,
                location,
                root=payload["root"],
                parent=payload["parent"],
                options=ImportOptions.from_dict(payload["options"]),
            )
        return False

    @staticmethod
    def _renewing(
        store: AccountStore, job: Any, progress: Callable[[Progress], None] | None
    ) -> Callable[[Progress], None]:
        def step(state: Progress) -> None:
            if job is not None:
                store.jobs.renew(job, LEASE_MS)
            if progress is not None:
                progress(state)

        return step

    def _target(
        self, identity: Identity, store: AccountStore, to: str | None, parent: str | None, *, create_parent: bool
    ) -> tuple[str | None, str]:
        """The exact root (None: to be reserved) and the directory that it is reserved in."""
        if to and parent:
            raise InvalidArgumentError("to and parent exclude each other; give one of them", to=to, parent=parent)
        if to:
            target = resolve_new(identity, to)
            check_import_target(identity, target, "to")
            if target.parts == ("resources",) or target == URI(("user", identity.user, "resources")):
                return None, target.path
            return target.path, ""
        if not parent:
            return None, DEFAULT_PARENT
        target = resolve_new(identity, parent)
        check_import_target(identity, target, "parent")
        with store.read() as view:
            node = view.get(target.path)
        if node is None and not create_parent:
            raise NotFoundError(str(target), "directory")
        if node is not None and not node.is_dir:
            raise InvalidArgumentError(
                f"parent is a file: {target}", resource=str(target), expected="directory", actual="file"
            )
        return None, target.path


def _location(path: str | Path) -> Path:
    text = str(path)
    if not text.strip():
        raise InvalidArgumentError("path must not be empty", field="path")
    if text.startswith(_REMOTE):
        raise InvalidArgumentError(
            f"{text} is not local: this version imports local folders, files and zips", path=text
        )
    if "\0" in text:
        raise InvalidArgumentError(f"path {text!r} has a NUL character", field="path")
    location = Path(text).expanduser()
    if not location.exists():
        raise NotFoundError(text, "path")
    return location.resolve()
