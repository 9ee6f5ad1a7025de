"""Adding resources from local folders, files and archives, and from the web, in this process (contract/core.md §3.4)."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from openviking.config.settings import FetchSettings
from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.index.tags import accepted_tags
from openviking.ingest.background import Step, Turn
from openviking.model.identity import Identity
from openviking.model.imports import ImportOptions, ImportReport, Progress
from openviking.service.access import check_import_target, resolve, resolve_new
from openviking.service.accounts import Accounts
from openviking.service.lease import LEASE_MS, Lease
from openviking.service.running import Running
from openviking.service.unfinished import done_before
from openviking.service.worker import Worker, time_limit
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.text import quoted
from openviking.uri import URI


class Resources:
    """Importing what lies on the local disk or is fetched; each import is a job that another process would finish."""

    def __init__(
        self, accounts: Accounts, worker: Worker, running: Running, fetch: FetchSettings | None = None
    ) -> None:
        self._accounts = accounts
        self._worker = worker
        self._running = running
        self._fetch = fetch or FetchSettings()

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
        """Import a local folder, file or zip, or what a URL names, or update what it made before.

        Its words are found when this returns.
        ``to`` is the exact target, ``parent`` the directory to put it in (``create_parent``: made if missing); not
        both. Where the source fills that place already, it is updated there; without both its first place is, or a new
        one is made in ``viking://resources``. ``tags`` go to the root and to what this import makes or updates; a malformed one is a warning.
        ``wait`` also awaits sidecars and vectors, of which ``progress`` is told as well. Raises `NotFoundError` for a
        missing path or parent, `ProcessingError` for an unreadable archive and for what can't be fetched,
        `PermissionDeniedError` for an address that may not be asked, `InvalidArgumentError` for bad values, and with ``wait`` what `Worker.drain` raises, with the report as ``details["done"]``.
        """
        time_limit(timeout)
        kept, _ = accepted_tags(tags)
        remote = remote_address(path)
        data = self._accounts.path.resolve()
        place = remote or str(_local(path, data))
        store = self._accounts.store(identity)
        root, below = import_target(identity, store, to, parent, create_parent=create_parent)
        payload = {
            **({"remote": remote, "args": {}} if remote else {"location": place, "excluded": str(data)}),
            "root": root, "parent": below, "options": options.to_dict(), "tags": kept,
        }  # fmt: skip
        self._worker.make_known(store)
        with self._running.call():
            report, left_to_another = self._imported(store, place, payload, progress)
        warnings = [f"the tag {quoted(tag)} is not key=value and was left out" for tag in _malformed(tags)]
        if left_to_another:
            warnings.append("the import was stopped before its end; the next OpenViking on this store carries it on")
        filled = resolve(identity, report.root_uri).path
        report = replace(report, warnings=(*report.warnings, *warnings))

        def current() -> ImportReport:
            waiting = self._worker.vectors_to_come(store, filled, report.passages)
            return replace(report, vectors_waiting=waiting)

        if wait and not left_to_another:
            with done_before(lambda: current().to_dict()):
                self._worker.drain(store, timeout, progress, below=filled)
        self._worker.wake()
        return current()

    def _imported(
        self,
        store: AccountStore,
        place: str,
        payload: dict[str, Any],
        progress: Callable[[Progress], None] | None,
    ) -> tuple[ImportReport, bool]:
        """The report of an import carried out as a job, and whether the rest was left to another process."""
        key = f"{place}\n{payload['root'] or ''}\n{payload['parent'] or ''}"
        job = store.jobs.start(NewJob("import", key, payload), LEASE_MS)
        left_to_another = succeeded = False
        try:
            with Lease(store.jobs, job, self._worker.stopping) as lease:
                report = _carried_out(store, payload, self._fetch, self._accounts.path, lease.cancelled, progress)
                left_to_another = report.cancelled and lease.cancelled()
                succeeded = not report.cancelled
        finally:
            # After an error the caller decides; only what was stopped from outside is carried on.
            if left_to_another:
                store.jobs.give_back(job)
            else:
                store.jobs.finish(job, succeeded=succeeded)
        return report, left_to_another


def resuming(fetch: FetchSettings, data: Path) -> Step:
    """The step of a worker that carries on imports whose process ended before they were complete.

    It raises what `import_source` and `import_remote` raise, `NotFoundError` for a source that is gone.
    """

    def resume(store: AccountStore, turn: Turn) -> bool:
        report = _carried_out(store, turn.payload, fetch, data, turn.cancelled, None)
        return report.cancelled and turn.cancelled()

    return resume


def _carried_out(
    store: AccountStore,
    payload: dict[str, Any],
    fetch: FetchSettings,
    data: Path,
    cancelled: Callable[[], bool],
    progress: Callable[[Progress], None] | None,
) -> ImportReport:
    """Do what the job of an import says."""
    # Walks, archives and the network are nothing that a find should have to load.
    from openviking.ingest.importing import import_source  # noqa: PLC0415

    options = ImportOptions.from_dict(payload["options"])
    tags = tuple(payload.get("tags", ()))
    if "remote" in payload:
        from openviking.ingest.fetch.fetcher import Fetcher  # noqa: PLC0415
        from openviking.ingest.fetch.remote import import_remote  # noqa: PLC0415

        return import_remote(
            store, Fetcher(fetch, data), payload["remote"], payload["args"], root=payload["root"],
            parent=payload["parent"], options=options, progress=progress, cancelled=cancelled, tags=tags,
            reserved=payload.get("reserved"),
        )  # fmt: skip
    return import_source(
        store, Path(payload["location"]), root=payload["root"], parent=payload["parent"], options=options,
        progress=progress, cancelled=cancelled, tags=tags,
        excluded=Path(payload["excluded"]) if "excluded" in payload else None,
    )  # fmt: skip


def remote_address(path: object) -> str | None:
    """``path`` if it is the address of something that is fetched; None if it is on this machine."""
    if not isinstance(path, str) or ("://" not in path and "@" not in path):
        return None
    from openviking.ingest.fetch.origin import REMOTE  # noqa: PLC0415

    return path.strip() if REMOTE.match(path) and not Path(path).exists() else None


def import_target(
    identity: Identity, store: AccountStore, to: str | None, parent: str | None, *, create_parent: bool
) -> tuple[str | None, str | None]:
    """The exact root (None: to be reserved) and the directory that it is to lie in (None: the caller has none).

    Raises `NotFoundError` for a missing parent, `InvalidArgumentError`, `PermissionDeniedError`.
    """
    if to and parent:
        raise InvalidArgumentError("to and parent exclude each other; give one of them", to=to, parent=parent)
    if to:
        target = resolve_new(identity, to)
        check_import_target(identity, target, "to")
        if target.parts == ("resources",) or target == URI(("user", identity.user, "resources")):
            return None, target.path
        return target.path, None
    if not parent:
        return None, None
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


def _local(path: object, data: Path) -> Path:
    """The existing place on this machine that ``path`` names, which is no part of the store in ``data``."""
    location = _location(path)
    _refuse_own_data(location, data)
    return location


def _location(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgumentError(
            f"path must be a str or a pathlib.Path, not {type(path).__name__} {quoted(path)}", field="path"
        )
    text = os.fsdecode(path)
    if not text.strip():
        raise InvalidArgumentError("path must not be empty", field="path")
    if "\0" in text:
        raise InvalidArgumentError(f"path {quoted(text)} has a NUL character", field="path")
    try:
        location = Path(text).expanduser()
        there = location.exists()
    except (OSError, RuntimeError) as error:
        # A name that no file can have, or a home of somebody who is not known.
        why = getattr(error, "strerror", None) or error
        raise InvalidArgumentError(f"path {quoted(text)} can't be read: {why}", field="path") from error
    if not there and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text):
        raise InvalidArgumentError(f"{quoted(text)} is no URL that can be fetched: http and https are", path=text)
    if not there:
        raise NotFoundError(text, "path")
    return location.resolve()


def _refuse_own_data(location: Path, data: Path) -> None:
    """Raises `InvalidArgumentError` for the data directory itself, and for what the accounts keep in it."""
    with contextlib.suppress(OSError):
        accounts = data / "accounts"
        if location.samefile(data) or any(above.samefile(accounts) for above in (location, *location.parents)):
            raise InvalidArgumentError(
                f"{location} belongs to the data directory of this store, which can't be its own source",
                path=str(location),
            )


def _malformed(tags: Sequence[str] | None) -> list[str]:
    return [tag for tag in tags or () if not accepted_tags([tag])[0]]
