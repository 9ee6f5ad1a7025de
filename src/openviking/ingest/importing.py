"""Importing a local folder, document or zip: what is new is added, what changed updated, what went removed.

An import is a series of small transactions, each complete in itself. Whatever was committed counts as unchanged when
the same source is added again, so an import that was stopped at any moment is continued by repeating it. The user's
hand comes first: what was edited here is never overwritten, and nothing is removed that the source did not make.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openviking.errors import InvalidArgumentError
from openviking.ingest.decode import decode
from openviking.ingest.delivery import Delivery, Scan, UnreadableError, storable
from openviking.ingest.ignore import SkipRules
from openviking.ingest.opening import located, opened
from openviking.ingest.plan import EDITED_AND_GONE, Step, decide, keys, settled, targets
from openviking.ingest.prepare import prepare, unindexed
from openviking.ingest.reserve import reserve
from openviking.ingest.tagging import Tagging
from openviking.ingest.tally import Tally
from openviking.model.imports import Failed, ImportOptions, ImportReport, Progress, Renamed, Stage
from openviking.model.node import PICTURE
from openviking.store.batch import AdoptFile, FileContent, FromSource, Operation, Outcome, PutFile, Remove, TagMode
from openviking.store.port import AccountStore, Source, SourceFile
from openviking.uri import from_path

BATCH_FILES: Final = 64
BATCH_BYTES: Final = 4 * 1024 * 1024
_TRIES: Final = 3
_LISTED_UNSUPPORTED: Final = 100


def import_source(
    store: AccountStore,
    location: Path,
    *,
    root: str | None = None,
    parent: str | None = None,
    options: ImportOptions | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    tags: tuple[str, ...] = (),
    tag_mode: TagMode = "append",
    excluded: Path | None = None,
    name: str = "",
    reserved: str | None = None,
) -> ImportReport:
    """Import what lies at ``location``, or bring up to date what was made of it before.

    ``root`` is the exact store path to fill. Without it the directory right in ``parent`` that this source made before
    is used again, or a new one made there from the source's name; without both its first root is used again, or one
    made in ``resources``. One document lies in its root directory under its own name. ``progress`` is
    called at least once per batch, ``cancelled`` asked before each. The root, and whatever this import makes or
    updates below it, gets ``tags``. ``excluded`` is the store's own data directory, which is no part of a folder.

    ``name`` is what the file at ``location`` is called. ``reserved`` is the location of a source whose root was made
    before (`reserve`): that root is filled, wherever it is by now, and if it was removed the import is cancelled.

    Raises `NotFoundError` for a missing location, `ProcessingError` for one that can't be read at all,
    `InvalidArgumentError` if ``root`` is a file or a strict import meets binary files; nothing was written then.
    """
    started = time.monotonic()
    options = options or ImportOptions()
    real = located(location)
    delivery, stem = opened(real, options.max_file_bytes, excluded, name)
    try:
        return import_delivery(
            store, delivery, _key(real), stem, root=root, parent=parent, options=options, progress=progress,
            cancelled=cancelled, tags=tags, tag_mode=tag_mode, reserved=reserved, started=started,
        )  # fmt: skip
    finally:
        delivery.close()


def import_delivery(
    store: AccountStore,
    delivery: Delivery,
    location: str,
    stem: str,
    *,
    root: str | None,
    parent: str | None,
    options: ImportOptions,
    progress: Callable[[Progress], None] | None,
    cancelled: Callable[[], bool] | None,
    tags: tuple[str, ...],
    tag_mode: TagMode,
    reserved: str | None,
    started: float,
    warnings: tuple[str, ...] = (),
) -> ImportReport:
    """Import an open source known by ``location`` as `import_source` does; who opened it closes it.

    ``stem`` names a new root, ``started`` is when the work began (of `time.monotonic`); ``warnings`` come first in the report.
    """
    run = _Run(store, delivery, options, progress or _silent, cancelled or _never, Tagging(store, tags, tag_mode))
    tally = run.all(lambda: _source(store, location, root, parent, stem, reserved))
    tally.warnings[:0] = warnings
    tally.seconds = time.monotonic() - started
    return tally.report()


def _source(
    store: AccountStore, location: str, root: str | None, parent: str | None, stem: str, reserved: str | None
) -> tuple[Source | None, bool]:
    """The source to import as, None if its reserved root is gone, and whether it had filled its root before."""
    if reserved is None:
        return reserve(store, location, root, parent, stem)
    with store.read() as view:
        found = view.source(reserved)
        if found is None or found.root is None:
            return None, False
        return found, next(view.source_files(found.id), None) is not None


def _key(location: Path) -> str:
    """What a location is known by: one line, and no real path has two slashes in a row."""
    return storable(str(location)).replace("\n", "//n")


def _silent(_: Progress) -> None:
    """Nobody wants to know."""


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class _Read:
    """A file of the source whose bytes differ from what it delivered before."""

    name: str
    data: bytes
    digest: bytes


class _Run:
    """One import from scan to removals."""

    def __init__(
        self,
        store: AccountStore,
        delivery: Delivery,
        options: ImportOptions,
        progress: Callable[[Progress], None],
        cancelled: Callable[[], bool],
        tagging: Tagging,
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._options = options
        self._progress = progress
        self._cancelled = cancelled
        self._tagging = tagging
        self._tally = Tally()
        self._scan = Scan()
        self._keys: dict[str, str] = {}
        self._paths: dict[str, str] = {}
        self._known: dict[str, SourceFile] = {}
        self._done = 0
        self._root = ""
        self._deferred: dict[str, str] | None = {}

    def all(self, chosen: Callable[[], tuple[Source | None, bool]]) -> Tally:
        """Scan, then import as the ``chosen`` source, then remove."""
        self._tell("scanning", "")
        self._scan = self._tally.scan = self._delivery.scan(SkipRules(self._options), self._cancelled)
        self._keys, doubles = keys(self._scan.files)
        self._tally.failed += [Failed(storable(name), "another file has the same name") for name in doubles]
        if self._options.strict:
            self._refuse_binary()
        if self._cancelled():
            self._tally.cancelled = True
            return self._tally
        source, self._tally.updated_root = chosen()
        if source is None:
            self._tally.cancelled = True
            self._tally.warnings.append("The target was removed before the import began")
            return self._tally
        self._root = source.root or ""
        self._tagging.root(self._root)
        self._tally.root_uri = str(from_path(self._root))
        self._paths, refused = targets(self._root, self._keys)
        self._tally.failed += [Failed(self._keys[name], why) for name, why in refused.items()]
        self._load_known(source)
        self._import(source)
        if not self._tally.cancelled:
            self._remove(source)
        self._try_deferred(source)
        self._tell("done", "")
        return self._tally

    def _refuse_binary(self) -> None:
        unsupported: list[str] = []
        for name, key in self._keys.items():
            if self._cancelled():
                return
            if name in self._scan.originals:
                continue
            try:
                if decode(self._delivery.read(name, self._options.max_file_bytes)) is None:
                    unsupported.append(key)
            except UnreadableError:
                unsupported.append(key)
        if unsupported:
            raise InvalidArgumentError(
                f"{len(unsupported)} of {len(self._keys)} files are binary or unreadable, which a strict import refuses:"
                f" {', '.join(unsupported[:3])}{' …' if len(unsupported) > 3 else ''}",
                unsupported_files=unsupported[:_LISTED_UNSUPPORTED],
                total=len(unsupported),
            )

    def _load_known(self, source: Source) -> None:
        with self._store.read() as view:
            self._known = {one.name: one for one in view.source_files(source.id)}

    def _import(self, source: Source) -> None:
        batch: list[_Read] = []
        held = since_told = 0
        for name in self._paths:
            if len(batch) >= BATCH_FILES or held >= BATCH_BYTES:
                self._flush(source, batch)
                batch, held, since_told = [], 0, 0
            elif since_told >= BATCH_FILES:
                self._tell("importing", name)
                since_told = 0
            if since_told == 0 and (self._tally.cancelled or self._stopped()):
                return
            since_told += 1
            self._done += 1
            data = self._read(name)
            if data is None:
                continue
            digest = hashlib.sha256(data).digest()
            if settled(self._known.get(self._keys[name]), digest):
                self._count("unchanged", name, self._known[self._keys[name]])
                continue
            batch.append(_Read(name, data, digest))
            held += len(data)
        self._flush(source, batch)

    def _stopped(self) -> bool:
        if self._cancelled():
            self._tally.cancelled = True
        return self._tally.cancelled

    def _read(self, name: str) -> bytes | None:
        try:
            data = self._delivery.read(name, self._options.max_file_bytes)
        except UnreadableError as error:
            self._scan.fail(name, str(error))
            return None
        self._tally.bytes += len(data)
        return data

    def _flush(self, source: Source, batch: list[_Read]) -> None:
        """Write a batch; what another writer was faster with is decided anew, where the root is by then."""
        if not batch or not self._root_is_there(source):
            return
        prepared: dict[str, FileContent] = {}
        last = batch[-1].name
        for attempt in range(_TRIES):
            if attempt:
                if not self._root_is_there(source):
                    return
                self._load_known(source)
            batch = self._write(source, batch, prepared, last=attempt == _TRIES - 1)
            if not batch:
                break
        self._tell("importing", last)

    def _root_is_there(self, source: Source) -> bool:
        """Whether the root still exists; where it was moved meanwhile, what follows goes there."""
        with self._store.read() as view:
            now = view.source(source.location)
        if now is None or now.root is None:
            self._tally.cancelled = True
            self._tally.warnings.append(f"{self._tally.root_uri} was removed during the import, which was stopped")
            return False
        if now.root != self._root:
            self._root = now.root
            self._tally.root_uri = str(from_path(now.root))
            moved, _ = targets(now.root, self._paths)
            self._paths.update(moved)
            self._load_known(source)
        return True

    def _write(
        self, source: Source, batch: list[_Read], prepared: dict[str, FileContent], *, last: bool
    ) -> list[_Read]:
        """Write what is to be written of ``batch``; gives back what failed for a state that changed meanwhile."""
        with self._store.read() as view:
            steps = [
                decide(view, self._known.get(self._keys[r.name]), source.id, self._paths[r.name], r.digest)
                for r in batch
            ]
        operations: list[Operation] = []
        written: list[tuple[_Read, Step]] = []
        for read, step in zip(batch, steps, strict=True):
            operation = self._operation(source, read, step, prepared)
            if operation is not None:
                operations.append(operation)
                written.append((read, step))
        if not operations:
            return []
        again: list[_Read] = []
        outcomes = self._tagging.apply(operations, self._root)
        for (read, step), operation, outcome in zip(written, operations, outcomes, strict=True):
            if outcome.error is None:
                self._note(read, step, operation, outcome)
            elif last:
                self._fail(read, outcome.error.message)
            else:
                again.append(read)
        return again

    def _operation(self, source: Source, read: _Read, step: Step, prepared: dict[str, FileContent]) -> Operation | None:
        """The operation of a step; None if there is nothing to write, which is noted then."""
        key = self._keys[read.name]
        origin = FromSource(source.id, key, read.digest)
        original = read.name in self._scan.originals
        if step.action in {"nothing", "adopt"} and not original and decode(read.data) is None:
            self._tally.binary.append(key)
        if step.action == "nothing":
            self._tally.counts["unchanged"] += 1
        elif step.action == "keep":
            self._tally.keep(key, step.path, step.why)
        elif step.action == "fail":
            self._fail(read, step.why)
        elif step.action == "adopt":
            return AdoptFile(step.path, origin)
        else:
            content = prepared.get(read.name) or (
                unindexed(read.data, read.digest)
                if original
                else prepare(read.name.rpartition("/")[2], read.data, read.digest)
            )
            prepared[read.name] = content
            mode: Final = "create" if step.action == "create" else "replace"
            return PutFile(step.path, content, mode=mode, base=step.base, source=origin, below=self._root)
        return None

    def _fail(self, read: _Read, why: str) -> None:
        if self._deferred is None:
            self._tally.fail(self._keys[read.name], why)
        else:
            self._deferred[read.name] = why

    def _try_deferred(self, source: Source) -> None:
        """Try again what failed, if removals may have made room: a file may have become a directory, or the reverse."""
        deferred, self._deferred = self._deferred or {}, None
        if not self._tally.counts["removed"] or self._tally.cancelled:
            for name, why in sorted(deferred.items()):
                self._tally.fail(self._keys[name], why)
            return
        for name in sorted(deferred):
            data = self._read(name)
            if data is not None:
                self._flush(source, [_Read(name, data, hashlib.sha256(data).digest())])

    def _note(self, read: _Read, step: Step, operation: Operation, outcome: Outcome) -> None:
        self._tally.counts[outcome.kind if outcome.kind in self._tally.counts else "unchanged"] += 1
        if isinstance(operation, PutFile):
            if operation.content.fault:
                self._tally.warnings.append(
                    f"{self._keys[read.name]}: taken as plain text, its parser failed: {operation.content.fault}"
                )
            self._tally.passages += len(operation.content.passages)
            if operation.content.kind in {"binary", PICTURE} and read.name not in self._scan.originals:
                self._tally.binary.append(self._keys[read.name])
        if step.action == "create" and step.path != f"{self._root}/{read.name}":
            self._tally.renamed.append(Renamed(self._keys[read.name], str(from_path(step.path))))

    def _count(self, what: str, name: str, known: SourceFile) -> None:
        self._tally.counts[what] += 1
        if not known.is_text and name not in self._scan.originals:
            self._tally.binary.append(self._keys[name])

    def _remove(self, source: Source) -> None:
        """Remove what the source made before and no longer has, with directories that are empty then."""
        if not self._root_is_there(source):
            return
        delivered = set(self._keys.values())
        present = Scan(present={storable(name) for name in self._scan.present})
        gone = sorted(key for key in self._known if key not in delivered and not present.may_hold(key))
        emptied: set[str] = set()
        for start in range(0, len(gone), BATCH_FILES):
            if self._stopped():
                return
            some = gone[start : start + BATCH_FILES]
            for attempt in range(_TRIES):
                if attempt:
                    if not self._root_is_there(source):
                        return
                    self._load_known(source)
                some = self._remove_files(some, emptied, last=attempt == _TRIES - 1)
                if not some:
                    break
            self._tell("removing", gone[min(start + BATCH_FILES, len(gone)) - 1])
        self._remove_empty(emptied)

    def _remove_files(self, keys: list[str], emptied: set[str], *, last: bool) -> list[str]:
        """Remove files where they are, unless they were edited; gives back what changed or was moved meanwhile."""
        some: list[tuple[str, SourceFile]] = []
        for key in keys:
            known = self._known.get(key)
            if known is not None and known.hash == known.source_hash:
                some.append((key, known))
            elif known is not None:
                self._tally.keep(key, known.path, EDITED_AND_GONE)
        outcomes = self._store.apply([Remove(known.path, base=known.hash) for _, known in some], tolerant=True).outcomes
        again: list[str] = []
        for (key, known), outcome in zip(some, outcomes, strict=True):
            if outcome.kind == "removed":
                self._tally.counts["removed"] += 1
                emptied.add(known.path.rpartition("/")[0])
            elif not last:
                again.append(key)
            elif outcome.error is not None:
                self._tally.keep(key, known.path, EDITED_AND_GONE)
        return again

    def _remove_empty(self, directories: set[str]) -> None:
        candidates: set[str] = set()
        for directory in directories:
            while directory.startswith(self._root + "/") and directory not in candidates:
                candidates.add(directory)
                directory = directory.rpartition("/")[0]
        # The deepest first, so that a directory of nothing but empty ones is empty when its turn comes.
        for directory in sorted(candidates, key=lambda path: (-path.count("/"), path)):
            with self._store.read() as view:
                empty = view.get(directory) is not None and view.count_children(directory, hidden=True) == 0
            if empty:
                self._store.apply([Remove(directory, only_empty=True)])

    def _tell(self, stage: Stage, name: str) -> None:
        self._progress(Progress(stage, self._done, len(self._paths), self._tally.bytes, storable(name)))
