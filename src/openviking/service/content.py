"""The contents of files: read, write, abstract, overview, download (contract/core.md §3.3)."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

from openviking.errors import (
    ConflictError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from openviking.index.choices import one_of
from openviking.index.hidden_fields import visible
from openviking.index.limits import position
from openviking.index.tags import MEMORY_TYPE, accepted_tags
from openviking.ingest.prepare import prepare
from openviking.ingest.sidecars import CurrentSidecars
from openviking.model.identity import Identity
from openviking.model.node import Node, Sidecars
from openviking.service.access import check_writable, resolve, resolve_new
from openviking.service.accounts import Accounts
from openviking.service.listed import abstract_placeholder, overview_placeholder
from openviking.service.targets import may_tell
from openviking.service.unfinished import done_before
from openviking.service.worker import Worker, time_limit
from openviking.session.live_files import live_file
from openviking.store.batch import FileMode, Outcome, PutFile, SetTags, TagMode
from openviking.store.port import AccountStore, View
from openviking.text import counted
from openviking.uri import ABSTRACT_NAME, OVERVIEW_NAME, SIDECAR_NAMES, URI, context_type, split_citation

MAX_FILE_BYTES: Final = 512 * 1024 * 1024
MODES: Final[dict[str, FileMode]] = {"replace": "replace", "append": "replace", "create": "create", "upsert": "put"}
PIECE_BYTES: Final = 256 * 1024
APPEND_ATTEMPTS: Final = 1000
"""Times that an append starts over because another writer was faster."""

_RECORD: Final = re.compile(r"[0-9a-f]{32}")
_MAX_ROW: Final = 1 << 63


class Content:
    """Reading and writing files."""

    def __init__(self, accounts: Accounts, worker: Worker) -> None:
        self._accounts = accounts
        self._worker = worker

    def read(self, identity: Identity, uri: str, offset: int = 0, limit: int = -1, *, raw: bool = False) -> str:
        """The text of a file from line ``offset`` (0-based), ``limit`` lines of it (-1: all).

        A URI may cite lines, ``…/a.md#L3-L9``; the ``id`` that `stat` tells is as good. Only with ``raw`` the fields that
        a memory has behind its text are part of it. Raises `NotFoundError`, and `InvalidArgumentError` for a directory, a
        binary file, and cited lines of which there is none.
        """
        offset, limit = position(offset, "offset"), position(limit, "limit", minimum=-1)
        base, cited = split_citation(uri)
        store = self._accounts.store(identity)
        target = named(identity, store, base)
        with store.read() as view:
            if target.name in SIDECAR_NAMES:
                text = _sidecar_file(view, identity, target)
            elif (live := live_file(store, target)) is not None:
                text = live
            else:
                text = _text(view, _file(view, target))
                text = text if raw or context_type(target.path) != "memory" else visible(text)
        if cited is not None:
            text = _cited(text, target, *cited)
        return text if not offset and limit < 0 else _lines(text, offset, limit)

    def download(self, identity: Identity, uri: str) -> bytes:
        """The original bytes of a file."""
        sent = self.sent(identity, uri)
        try:
            return b"".join(sent.pieces())
        finally:
            sent.file.close()

    def sent(self, identity: Identity, uri: str) -> Sent:
        """The original bytes of a file to be sent in pieces; its ``file`` is to be closed."""
        store = self._accounts.store(identity)
        target = named(identity, store, uri)
        with store.read() as view:
            if target.name in SIDECAR_NAMES:
                data = _sidecar_file(view, identity, target).encode()
            elif (live := live_file(store, target)) is not None:
                data = live.encode()
            else:
                node = _file(view, target)
                return Sent(node.name, node.size, view.open(node), node.hash)
        return Sent(target.name, len(data), io.BytesIO(data), None)

    def abstract(self, identity: Identity, uri: str) -> str:
        """The L0 of a directory, for a file or sidecar URI that of its parent."""
        directory, sidecars = self._sidecars(identity, uri)
        return sidecars.abstract if sidecars else abstract_placeholder(directory)

    def overview(self, identity: Identity, uri: str) -> str:
        """The L1 of a directory, for a file or sidecar URI that of its parent."""
        directory, sidecars = self._sidecars(identity, uri)
        return sidecars.overview if sidecars else overview_placeholder(directory)

    def write(
        self,
        identity: Identity,
        uri: str,
        content: str,
        mode: str = "replace",
        *,
        wait: bool = False,
        timeout: float | None = None,
        tags: Sequence[str] | None = None,
        tag_mode: str = "replace",
    ) -> dict[str, Any]:
        """Write the text of a file; what it says is found when this returns.

        ``replace`` and ``append`` need an existing file, ``create`` a new one (its parents are made), ``upsert`` takes
        both. ``append`` keeps all text; a file that is not in UTF-8 becomes UTF-8 by it. The file gets ``tags`` in the
        same transaction; those that are not ``key=value`` are left out, ``skipped_count`` of them. ``wait`` also awaits the file's vectors, and sidecars
        and their vectors of the directories above, and raises what `Worker.drain` raises, with what was written as
        ``details["done"]``. Raises `NotFoundError`, `AlreadyExistsError`, `InvalidArgumentError`, `PermissionDeniedError`.
        """
        one_of("mode", mode, tuple(MODES))
        tagged, skipped = _tagging(tags, tag_mode)
        time_limit(timeout)
        target = resolve_new(identity, uri)
        check_writable(identity, target)
        data = _encoded(content, target)
        store = self._accounts.store(identity)
        if mode == "append":
            outcome = self._append(store, target, data, tagged)
        else:
            put = PutFile(target.path, prepare(target.name, data), mode=MODES[mode])
            outcome = store.apply([put, *tagged(target.path)]).outcomes[0]
        changed = outcome.kind != "unchanged"

        def told(*, waited: bool) -> dict[str, Any]:
            return {
                "uri": str(target),
                "root_uri": str(target.parent),
                "context_type": context_type(target.path),
                "mode": mode,
                "written_bytes": len(data),
                "content_updated": changed,
                "semantic_status": "complete" if waited or not changed else "queued",
                "vector_status": self._worker.vector_status(store, target.path, written=changed and not waited),
                "queue_status": None,
                **_of_tags(skipped),
            }

        if wait:
            with done_before(lambda: told(waited=False)):
                self._worker.drain(store, timeout, below=target.path)
        self._worker.wake()
        return told(waited=wait)

    @staticmethod
    def _append(store: AccountStore, target: URI, added: bytes, tagged: Callable[[str], list[SetTags]]) -> Outcome:
        for _ in range(APPEND_ATTEMPTS):
            with store.read() as view:
                put = appended(view, target, added)
            try:
                return store.apply([put, *tagged(target.path)]).outcomes[0]
            except ConflictError:
                continue
        raise ConflictError(f"{target} is changed by other writers all the time", resource=str(target), retryable=True)

    def _sidecars(self, identity: Identity, uri: str) -> tuple[URI, Sidecars | None]:
        store = self._accounts.store(identity)
        target = named(identity, store, split_citation(uri)[0])
        if target.name in SIDECAR_NAMES:
            target = target.parent
        with store.read() as view:
            node = view.get(target.path)
            if node is None:
                raise NotFoundError(str(target), "directory")
            directory = target if node.is_dir else target.parent
            return directory, CurrentSidecars(view).of(directory.path) if may_tell(identity, directory) else None


@dataclass(frozen=True, slots=True)
class Sent:
    """A file on its way out: its name, its size, its bytes; ``hash`` is the SHA-256 that they must have."""

    name: str
    size: int
    file: IO[bytes]
    hash: bytes | None

    def pieces(self) -> Iterator[bytes]:
        """The bytes, a piece at a time. Raises `UnavailableError` at the end if they are damaged or can't be read."""
        digest = hashlib.sha256()
        try:
            while piece := self.file.read(PIECE_BYTES):
                digest.update(piece)
                yield piece
        except OSError as error:
            raise UnavailableError(
                f"{self.name} can't be read: {error.strerror}", service="store", reason=str(error.strerror)
            ) from error
        if self.hash is not None and digest.digest() != self.hash:
            raise UnavailableError(f"The bytes of {self.name} are damaged", service="store", reason="other bytes")


def appended(view: View, target: URI, added: bytes) -> PutFile:
    """What puts ``added`` behind the text of a file, unless another writer is faster.

    What is in UTF-8 keeps its bytes, also damaged ones; any other file becomes the UTF-8 of its text, because
    not every encoding has every character, and one that was guessed might be guessed otherwise the next time.
    """
    node = _file(view, target)
    if node.is_picture:
        raise InvalidArgumentError(f"{target} is a binary file, a picture: it takes no text", resource=str(target))
    text = _text(view, node).encode()
    if not added:
        return PutFile(target.path, prepare(target.name, view.data(node)), mode="replace", base=node.hash)
    data = view.data(node) if node.encoding.startswith("utf-8") else text
    wanted = text + added
    if len(wanted) > MAX_FILE_BYTES:
        raise InvalidArgumentError(f"{target} would grow over {MAX_FILE_BYTES} bytes", resource=str(target))
    ways = (prepare(target.name, start + added) for start in dict.fromkeys((data, text)))
    prepared = next((way for way in ways if way.text == wanted), None)
    if prepared is None:
        raise InvalidArgumentError(f"{target} would be no text any more with this at its end", resource=str(target))
    return PutFile(target.path, prepared, mode="replace", base=node.hash)


def named(identity: Identity, store: AccountStore, text: str) -> URI:
    """The URI that a caller spelled, or that of the record whose id the caller gave.

    Raises as `resolve` does; a record of somebody else is not there.
    """
    # Whoever gives no text at all is told so by `resolve`.
    if _RECORD.fullmatch(str(text)) is None:
        return resolve(identity, text)
    number = int(text, 16)
    with store.read() as view:
        node = view.by_id(number) if number < _MAX_ROW else None
    if node is not None:
        with contextlib.suppress(PermissionDeniedError):
            return resolve(identity, str(node.uri))
    raise NotFoundError(text, "record")


def _tagging(tags: Sequence[str] | None, mode: str) -> tuple[Callable[[str], list[SetTags]], int | None]:
    """What tags a written file, and how many of ``tags`` are none; None without any."""
    tag_mode: TagMode = "append" if one_of("tag_mode", mode, ("replace", "append")) == "append" else "replace"
    if tags is None:
        return lambda _: [], None
    kept, skipped = accepted_tags(tags)
    return lambda path: [SetTags(path, kept, tag_mode, protected=MEMORY_TYPE)], skipped


def _of_tags(skipped: int | None) -> dict[str, Any]:
    """What an answer says of tags that were sent."""
    if not skipped:
        return {} if skipped is None else {"skipped_count": 0}
    return {"skipped_count": skipped, "warnings": [f"{counted(skipped, 'tags')} left out: a tag must be key=value"]}


def _file(view: View, target: URI) -> Node:
    node = view.get(target.path)
    if node is None:
        raise NotFoundError(str(target), "file")
    if node.is_dir:
        raise InvalidArgumentError(
            f"{target} is a directory, not a file", resource=str(target), expected="file", actual="directory"
        )
    return node


def _text(view: View, node: Node) -> str:
    text = view.text(node)
    if text is None or (node.is_picture and not text):
        raise InvalidArgumentError(
            f"{node.uri} is binary; download gives its bytes",
            resource=str(node.uri),
            expected="text",
            actual="binary",
        )
    return text


def _sidecar_file(view: View, identity: Identity, target: URI) -> str:
    """A sidecar as a file: front matter that says how it was made, then its text."""
    node = view.get(target.parent.path)
    if node is None or not node.is_dir or not may_tell(identity, target.parent):
        raise NotFoundError(str(target), "file")
    sidecars = CurrentSidecars(view).of(node.path)
    body = {ABSTRACT_NAME: sidecars.abstract, OVERVIEW_NAME: sidecars.overview}[target.name]
    return f"---\ndirectory: {target.parent}\nsource: {sidecars.origin}\n---\n\n{body}\n"


def _encoded(content: object, target: URI) -> bytes:
    if not isinstance(content, str):
        raise InvalidArgumentError(f"content must be a string, not {type(content).__name__}", resource=str(target))
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            f"The content has a lone surrogate at character {error.start}, which is no text", resource=str(target)
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise InvalidArgumentError(
            f"The content has {len(data)} bytes, at most {MAX_FILE_BYTES} are allowed", resource=str(target)
        )
    return data


def _cited(text: str, target: URI, first: int, last: int) -> str:
    count = text.count("\n") + (not text.endswith("\n"))
    if first > count:
        raise InvalidArgumentError(
            f"{target} has {counted(count, 'lines')}, none of L{first}-L{last}", resource=str(target), lines=count
        )
    return _lines(text, first - 1, last - first + 1)


def _lines(text: str, offset: int, limit: int) -> str:
    """Whole lines with their ends, so that pieces of a file put together are the file."""
    lines = text.split("\n")
    last = len(lines) - 1
    chosen = lines[offset:] if limit < 0 else lines[offset : offset + limit]
    joined = "\n".join(chosen)
    return joined + "\n" if chosen and offset + len(chosen) - 1 < last else joined
