"""Writing many files at once: all of them or none (contract/core.md §3.3)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final

from openviking.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from openviking.index.choices import one_of
from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.service.access import check_writable, resolve, resolve_new
from openviking.service.accounts import Accounts
from openviking.service.content import APPEND_ATTEMPTS, MODES, appended
from openviking.service.processed import queue_status
from openviking.service.worker import Worker, time_limit
from openviking.store.batch import Outcome, PutFile
from openviking.store.port import AccountStore, View
from openviking.text import quoted
from openviking.uri import URI, context_type

MAX_OPERATIONS: Final = 256
MAX_FILE_BYTES: Final = 8 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 16 * 1024 * 1024

_Write = tuple[URI, str, bytes]
"""Where, in which mode, which bytes."""


class BatchWriting:
    """Writes the files of a batch in one transaction."""

    def __init__(self, accounts: Accounts, worker: Worker) -> None:
        self._accounts = accounts
        self._worker = worker

    def write(
        self,
        identity: Identity,
        root_uri: str,
        operations: Sequence[Mapping[str, Any]],
        *,
        wait: bool = True,
        timeout: float | None = None,
        skip_conflicts: bool = False,
    ) -> dict[str, Any]:
        """Write files below an existing directory: which were ``created``, ``updated`` and ``unchanged``.

        Each operation has ``uri``, ``content`` or ``content_base64``, and ``mode``: as `Content.write`. With
        ``skip_conflicts`` those whose mode does not fit what is there are left out and listed as ``skipped``; without
        it the first error leaves everything as it was. Raises `ResourceExhaustedError` beyond 256 operations, 8 MiB a
        file and 16 MiB in all, else what `Content.write` raises.
        """
        time_limit(timeout)
        root = resolve(identity, root_uri)
        _check_root(root)
        writes = _writes(identity, root, operations)
        store = self._accounts.store(identity)
        with store.read() as view:
            node = view.get(root.path)
        if node is None:
            raise NotFoundError(str(root), "directory")
        if not node.is_dir:
            raise InvalidArgumentError(
                f"{root} is a file, not a directory", resource=str(root), expected="directory", actual="file"
            )
        outcomes = self._apply(store, writes, tolerant=skip_conflicts)
        said: dict[str, list[str]] = {"created": [], "updated": [], "unchanged": [], "skipped": []}
        for (target, _, _), outcome in zip(writes, outcomes, strict=True):
            if outcome.error is not None and not isinstance(outcome.error, ConflictError | NotFoundError):
                raise outcome.error
            said["skipped" if outcome.kind == "failed" else outcome.kind].append(str(target))
        changed = len(said["created"]) + len(said["updated"])
        if wait:
            self._worker.drain(store, timeout, below=root.path)
        self._worker.wake()
        if not skip_conflicts:
            del said["skipped"]
        return {
            "root_uri": str(root),
            **said,
            "semantic_status": "complete" if wait or not changed else "queued",
            "vector_status": self._worker.vector_status(store, root.path, written=bool(changed) and not wait),
            "queue_status": queue_status(semantic=changed, embedding=changed) if wait else None,
        }

    @staticmethod
    def _apply(store: AccountStore, writes: Sequence[_Write], *, tolerant: bool) -> tuple[Outcome, ...]:
        ready = {
            target: prepare(target.name, data) for target, mode, data in writes if mode != "append"
        }  # Once: what other writers change meanwhile concerns appending alone.

        def put(view: View, target: URI, mode: str, data: bytes) -> PutFile:
            if mode == "append":
                return appended(view, target, data)
            return PutFile(target.path, ready[target], mode=MODES[mode])

        for _ in range(APPEND_ATTEMPTS):
            puts: list[PutFile | None] = []
            with store.read() as view:
                for target, mode, data in writes:
                    try:
                        puts.append(put(view, target, mode, data))
                    except NotFoundError:
                        if not tolerant:
                            raise
                        puts.append(None)
            try:
                applied = iter(store.apply([one for one in puts if one is not None], tolerant=tolerant).outcomes)
            except AlreadyExistsError:
                raise
            except ConflictError as error:
                if not error.details.get("retryable"):
                    raise
                continue
            return tuple(Outcome("failed") if one is None else next(applied) for one in puts)
        raise ConflictError("The files are changed by other writers all the time", retryable=True)


def _check_root(root: URI) -> None:
    """Raises `InvalidArgumentError` unless a batch may be written below ``root``."""
    kind = context_type(root.path)
    inside = len(root.parts) > 1 if root.scope == "resources" else root.scope == "user" and len(root.parts) > 2
    if not inside or kind not in {"resource", "memory"}:
        raise InvalidArgumentError(
            f"root_uri must be a directory inside of a tree of resources or memories, not {root}",
            resource=str(root),
            field="root_uri",
        )


def _writes(identity: Identity, root: URI, operations: Sequence[Mapping[str, Any]]) -> list[_Write]:
    if not operations:
        raise InvalidArgumentError("operations must not be empty", field="operations")
    if len(operations) > MAX_OPERATIONS:
        raise ResourceExhaustedError(
            f"A batch has at most {MAX_OPERATIONS} operations, not {len(operations)}", limit=MAX_OPERATIONS
        )
    writes: list[_Write] = []
    seen: set[URI] = set()
    total = 0
    for number, operation in enumerate(operations):
        target = resolve_new(identity, operation["uri"])
        mode = str(one_of("mode", operation.get("mode") or "replace", tuple(MODES)))
        if not target.is_within(root) or target == root:
            raise InvalidArgumentError(f"{target} is not below {root}", resource=str(target), field="operations")
        if target in seen:
            raise InvalidArgumentError(f"{target} is there twice", resource=str(target), field="operations")
        check_writable(identity, target)
        data = _data(operation, number, target)
        total += len(data)
        if len(data) > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES:
            raise ResourceExhaustedError(
                f"{target} is too much: a batch takes {MAX_FILE_BYTES:,} bytes a file and {MAX_TOTAL_BYTES:,} in all",
                resource=str(target),
                limit=MAX_FILE_BYTES if len(data) > MAX_FILE_BYTES else MAX_TOTAL_BYTES,
            )
        seen.add(target)
        writes.append((target, mode, data))
    return writes


def _data(operation: Mapping[str, Any], number: int, target: URI) -> bytes:
    text, encoded = operation.get("content"), operation.get("content_base64")
    if (text is None) == (encoded is None):
        raise InvalidArgumentError(
            f"operation {number} needs content or content_base64, and not both", field="operations"
        )
    try:
        if text is not None:
            return str(text).encode()
        return base64.b64decode(str(encoded), validate=True)
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            f"The content of {target} has a lone surrogate at character {error.start}, which is no text",
            resource=str(target),
        ) from error
    except (binascii.Error, ValueError) as error:
        raise InvalidArgumentError(
            f"content_base64 of {target} is no base64: {quoted(str(error))}", resource=str(target)
        ) from error
