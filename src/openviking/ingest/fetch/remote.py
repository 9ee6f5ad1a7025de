"""Importing what is fetched, or bringing up to date what was fetched before: what is unchanged costs one request.

What a source delivered is kept with it: validators of its state, and what they hold for. They are trusted only while
everything that the source made is there as it made it, and noted last, when an import came to its end without a loss.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from openviking.ingest.fetch.failures import FetchCancelled, FetchFailedError
from openviking.ingest.fetch.fetcher import Fetcher
from openviking.ingest.fetch.origin import Origin, origin_of
from openviking.ingest.fetch.page import EXTRACTOR
from openviking.ingest.importing import import_delivery
from openviking.ingest.reserve import known_source
from openviking.ingest.tagging import Tagging
from openviking.model.imports import ImportOptions, ImportReport, Progress
from openviking.store.batch import NoteFetched, TagMode
from openviking.store.port import AccountStore, Source, View
from openviking.uri import from_path

_VERSION: Final = 1


def import_remote(
    store: AccountStore,
    fetcher: Fetcher,
    path: str,
    args: Mapping[str, Any] | None = None,
    *,
    root: str | None = None,
    parent: str | None = None,
    options: ImportOptions | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    tags: tuple[str, ...] = (),
    tag_mode: TagMode = "append",
    reserved: str | None = None,
) -> ImportReport:
    """Fetch what ``path`` names and import it as `openviking.ingest.importing.import_source` does a local source.

    Nothing is written before everything is fetched. The report of a source that has not changed counts its files as
    ``unchanged``; of one that was cancelled while it was fetched it is empty. Raises what `origin_of` and
    `Fetcher.fetched` raise, and what the import does.
    """
    origin = origin_of(path, args)
    options = options or ImportOptions()
    told, stop = progress or _silent, cancelled or _never
    started = time.monotonic()
    if root is None and parent is None and reserved is None:
        with store.read() as view:
            first = known_source(view, origin.location, None, None)
        parent = None if first is not None else origin.home
    with store.read() as view:
        source = view.source(reserved) if reserved is not None else known_source(view, origin.location, root, parent)
        validators = _validators(view, source, options)

    def fetching(size: int) -> None:
        told(Progress("fetching", 0, 0, size, origin.address.shown))

    fetching(0)
    try:
        with fetcher.fetched(origin, validators, stop, fetching) as fetched:
            if fetched.delivery is None:
                return _unchanged(store, source, Tagging(store, tags, tag_mode), origin, started)
            report = import_delivery(
                store, fetched.delivery, origin.location, fetched.stem, root=root, parent=parent, options=options,
                progress=told, cancelled=stop, tags=tags, tag_mode=tag_mode, reserved=reserved, started=started,
                warnings=(*origin.warnings, *fetched.warnings),
            )  # fmt: skip
            if not report.cancelled and not report.failed:
                _note(store, origin, report, options, fetched.validators, path, args)
            return report
    except FetchCancelled:
        filled = source.root if source is not None and source.root is not None else origin.home
        return ImportReport(root_uri=str(from_path(filled)), cancelled=True)


def remembered(source: Source) -> tuple[str, dict[str, Any], ImportOptions] | None:
    """What has to be fetched to bring a source up to date: path, args and options; None if it was never fetched."""
    state = _state(source)
    if state is None:
        return None
    return str(state["path"]), dict(state["args"]), ImportOptions.from_dict(state["options"])


def _unchanged(
    store: AccountStore, source: Source | None, tagging: Tagging, origin: Origin, started: float
) -> ImportReport:
    if source is None or source.root is None:
        # Without a source there were no validators to compare with.
        raise FetchFailedError(
            f"{origin.address.shown} says that it has not changed, and was not asked", url=origin.address.shown
        )
    root = source.root
    tagging.root(root)
    with store.read() as view:
        count = sum(1 for _ in view.source_files(source.id))
    return ImportReport(
        root_uri=str(from_path(root)), unchanged=count, warnings=origin.warnings, updated_root=True,
        seconds=time.monotonic() - started,
    )  # fmt: skip


def _validators(view: View, source: Source | None, options: ImportOptions) -> Mapping[str, str]:
    """What the source's server may be asked to compare with; nothing where that would not bring back what is missing."""
    state = None if source is None or source.root is None else _state(source)
    if (
        state is None
        or source is None
        or ImportOptions.from_dict(state["options"]) != options
        or state["extractor"] != EXTRACTOR
    ):
        return {}
    return dict(state["validators"]) if state["files"] == _files(view, source.id) else {}


def _state(source: Source) -> dict[str, Any] | None:
    try:
        state = json.loads(source.state) if source.state else None
    except ValueError:
        return None
    return state if isinstance(state, dict) and state.get("version") == _VERSION else None


def _files(view: View, source_id: int) -> str:
    """A digest over what a source delivered and is still there, and over how many of these were changed here."""
    lines = sorted(f"{one.name}\n{(one.source_hash or b'').hex()}" for one in view.source_files(source_id))
    return hashlib.sha256("\n\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _note(
    store: AccountStore,
    origin: Origin,
    report: ImportReport,
    options: ImportOptions,
    validators: Mapping[str, str],
    path: str,
    args: Mapping[str, Any] | None,
) -> None:
    with store.read() as view:
        at = next(
            (one for one in view.sources(origin.location) if one.root and str(from_path(one.root)) == report.root_uri),
            None,
        )
        if at is None:
            return
        state = {
            "version": _VERSION, "extractor": EXTRACTOR, "path": path.strip(), "args": dict(args or {}),
            "options": options.to_dict(), "validators": dict(validators), "files": _files(view, at.id),
        }  # fmt: skip
    written = json.dumps(state, sort_keys=True)
    if written != at.state:
        store.apply([NoteFetched(at.location, written)])


def _silent(_: Progress) -> None:
    """Nobody wants to know."""


def _never() -> bool:
    return False
