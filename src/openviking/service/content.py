"""The contents of files: read, write, abstract, overview, download (contract/core.md §3.3)."""

from __future__ import annotations

from typing import Any, Final

from openviking.errors import ConflictError, InvalidArgumentError, NotFoundError
from openviking.index.limits import whole_number
from openviking.ingest.prepare import prepare
from openviking.ingest.presets import PRIVATE_CONTAINER
from openviking.ingest.sidecars import render_all, render_one
from openviking.model.identity import Identity
from openviking.model.node import Node, Sidecars
from openviking.service.access import check_writable, resolve, resolve_new
from openviking.service.accounts import Accounts
from openviking.service.targets import sees_all
from openviking.service.values import one_of
from openviking.service.worker import Worker
from openviking.store.batch import FileMode, PutFile
from openviking.store.port import AccountStore, View
from openviking.uri import ABSTRACT_NAME, OVERVIEW_NAME, SIDECAR_NAMES, URI, context_type, split_citation

MAX_FILE_BYTES: Final = 512 * 1024 * 1024
FRESHENED: Final = 256
"""Stale sidecars below a directory that reading its own makes first."""

APPEND_ATTEMPTS: Final = 1000
"""Times that an append starts over because another writer was faster."""


class Content:
    """Reading and writing files."""

    def __init__(self, accounts: Accounts, worker: Worker) -> None:
        self._accounts = accounts
        self._worker = worker

    def read(self, identity: Identity, uri: str, offset: int = 0, limit: int = -1, *, raw: bool = False) -> str:  # noqa: ARG002
        """The text of a file from line ``offset`` (0-based), ``limit`` lines of it (-1: all).

        A URI may cite lines, ``…/a.md#L3-L9``. ``raw`` makes no difference to a file without hidden fields. Raises
        `NotFoundError`, and `InvalidArgumentError` for a directory or a binary file.
        """
        whole_number(offset, "offset", minimum=0)
        whole_number(limit, "limit", minimum=-1)
        base, cited = split_citation(uri)
        target = resolve(identity, base)
        store = self._accounts.store(identity)
        if target.name in SIDECAR_NAMES:
            text = self._sidecar_file(identity, store, target)
        else:
            with store.read() as view:
                node = self._file(view, target)
                found = view.text(node)
            if found is None:
                raise InvalidArgumentError(
                    f"{target} is binary; download gives its bytes",
                    resource=str(target),
                    expected="text",
                    actual="binary",
                )
            text = found
        if cited is not None:
            text = _lines(text, cited[0] - 1, cited[1] - cited[0] + 1)
        return text if not offset and limit < 0 else _lines(text, offset, limit)

    def download(self, identity: Identity, uri: str) -> bytes:
        """The original bytes of a file."""
        target = resolve(identity, uri)
        store = self._accounts.store(identity)
        if target.name in SIDECAR_NAMES:
            return self._sidecar_file(identity, store, target).encode()
        with store.read() as view:
            return view.data(self._file(view, target))

    def abstract(self, identity: Identity, uri: str) -> str:
        """The L0 of a directory, for a file or sidecar URI that of its parent."""
        directory, sidecars = self._sidecars(identity, uri)
        return sidecars.abstract if sidecars else f"# {directory} [Directory abstract is not ready]"

    def overview(self, identity: Identity, uri: str) -> str:
        """The L1 of a directory, for a file or sidecar URI that of its parent."""
        directory, sidecars = self._sidecars(identity, uri)
        return sidecars.overview if sidecars else f"# {directory}\n\n[Directory overview is not ready]"

    def write(
        self,
        identity: Identity,
        uri: str,
        content: str,
        mode: str = "replace",
        *,
        wait: bool = False,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Write the text of a file; what it says is found when this returns.

        ``replace`` and ``append`` need an existing file, ``create`` a new one (its parents are made). ``wait`` also
        awaits the sidecars of the directories above. Raises `NotFoundError`, `AlreadyExistsError`,
        `InvalidArgumentError`, `PermissionDeniedError`.
        """
        one_of("mode", mode, ("replace", "append", "create"))
        target = resolve_new(identity, uri)
        check_writable(identity, target)
        data = _encoded(content, target)
        store = self._accounts.store(identity)
        if mode == "append":
            outcome = self._append(store, target, content)
        else:
            file_mode: FileMode = "create" if mode == "create" else "replace"
            self._check_target(store, target, file_mode)
            outcome = store.apply([PutFile(target.path, prepare(target.name, data), mode=file_mode)]).outcomes[0]
        if wait:
            self._worker.drain(store, timeout)
        self._worker.wake()
        return {
            "uri": str(target),
            "root_uri": str(target.parent),
            "context_type": context_type(target.path),
            "mode": mode,
            "written_bytes": len(data),
            "content_updated": outcome != "unchanged",
            "semantic_status": "complete" if wait else "queued",
            "vector_status": "skipped",
            "queue_status": None,
        }

    def _append(self, store: AccountStore, target: URI, content: str) -> str:
        for _ in range(APPEND_ATTEMPTS):
            with store.read() as view:
                node = self._file(view, target)
                data = view.data(node)
            if not node.is_text:
                raise InvalidArgumentError(f"{target} is binary, no text can be appended to it", resource=str(target))
            longer = _appended(data, node.encoding, content)
            if len(longer) > MAX_FILE_BYTES:
                raise InvalidArgumentError(f"{target} would grow over {MAX_FILE_BYTES} bytes", resource=str(target))
            try:
                return store.apply(
                    [PutFile(target.path, prepare(target.name, longer), mode="replace", base=node.hash)]
                ).outcomes[0]
            except ConflictError:
                continue
        raise ConflictError(f"{target} is changed by other writers all the time", resource=str(target), retryable=True)

    def _check_target(self, store: AccountStore, target: URI, mode: FileMode) -> None:
        """Refuse before the work of preparing; the store checks again in its transaction."""
        with store.read() as view:
            node = view.get(target.path)
        if node is None and mode == "replace":
            raise NotFoundError(str(target), "file")

    def _sidecars(self, identity: Identity, uri: str) -> tuple[URI, Sidecars | None]:
        target = resolve(identity, uri)
        if target.name in SIDECAR_NAMES:
            target = target.parent
        store = self._accounts.store(identity)
        with store.read() as view:
            node = view.get(target.path)
            if node is None:
                raise NotFoundError(str(target), "directory")
            directory = target if node.is_dir else target.parent
        return directory, self._fresh(store, directory) if _may_tell(identity, directory) else None

    def _fresh(self, store: AccountStore, directory: URI) -> Sidecars | None:
        render_all(store, directory.path, FRESHENED)
        with store.read() as view:
            sidecars = view.sidecars(directory.path)
        if sidecars is None or sidecars.stale:
            render_one(store, directory.path)
            with store.read() as view:
                sidecars = view.sidecars(directory.path)
        return sidecars

    def _sidecar_file(self, identity: Identity, store: AccountStore, target: URI) -> str:
        """A sidecar as a file: front matter that says how it was made, then its text."""
        with store.read() as view:
            node = view.get(target.parent.path)
        if node is None or not node.is_dir or not _may_tell(identity, target.parent):
            raise NotFoundError(str(target), "file")
        sidecars = self._fresh(store, target.parent)
        if sidecars is None:
            raise NotFoundError(str(target), "file")
        body = {ABSTRACT_NAME: sidecars.abstract, OVERVIEW_NAME: sidecars.overview}[target.name]
        return f"---\ndirectory: {target.parent}\nsource: {sidecars.origin}\n---\n\n{body}\n"

    @staticmethod
    def _file(view: View, target: URI) -> Node:
        node = view.get(target.path)
        if node is None:
            raise NotFoundError(str(target), "file")
        if node.is_dir:
            raise InvalidArgumentError(
                f"{target} is a directory, not a file", resource=str(target), expected="file", actual="directory"
            )
        return node


def _may_tell(identity: Identity, directory: URI) -> bool:
    """Whether the sidecars of ``directory`` tell of nothing that the caller may not see."""
    return directory.path == PRIVATE_CONTAINER or sees_all(identity, directory)


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


def _appended(data: bytes, encoding: str, content: str) -> bytes:
    """``data`` with ``content`` behind, in its own encoding where that has the characters, else all in UTF-8."""
    if encoding.startswith("utf-8") or not data:
        return data + content.encode()
    if encoding.startswith(("utf-16", "utf-32")):
        return (data.decode(encoding) + content).encode("utf-8")
    try:
        return data + content.encode(encoding)
    except UnicodeEncodeError:
        return (data.decode(encoding) + content).encode()


def _lines(text: str, offset: int, limit: int) -> str:
    """Whole lines with their ends, so that pieces of a file put together are the file."""
    lines = text.split("\n")
    last = len(lines) - 1
    chosen = lines[offset:] if limit < 0 else lines[offset : offset + limit]
    joined = "\n".join(chosen)
    return joined + "\n" if chosen and offset + len(chosen) - 1 < last else joined
