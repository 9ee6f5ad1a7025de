"""Replacing a piece of a file's text, whoever else writes it meanwhile (contract/core.md §4.2, edit)."""

from __future__ import annotations

from typing import Any, Final

from openviking.errors import ConflictError, InvalidArgumentError, NotFoundError
from openviking.index.hidden_fields import visible
from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.service.access import check_writable, resolve, resolve_new
from openviking.service.accounts import Accounts
from openviking.service.content import MAX_FILE_BYTES
from openviking.service.unfinished import done_before
from openviking.service.worker import Worker, time_limit
from openviking.store.batch import PutFile
from openviking.text import quoted
from openviking.uri import context_type

ATTEMPTS: Final = 100
"""Times that an edit starts over because another writer was faster."""


class Editing:
    """Edits text files."""

    def __init__(self, accounts: Accounts, worker: Worker) -> None:
        self._accounts = accounts
        self._worker = worker

    def edit(
        self,
        identity: Identity,
        uri: str,
        old: str,
        new: str,
        *,
        replace_all: bool = False,
        wait: bool = False,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Put ``new`` where ``old`` stands, once or with ``replace_all`` everywhere; hidden fields of a memory stay.

        The answer is that of `Content.write` with ``replaced``, the number of places. Raises `NotFoundError` for a
        missing file, `InvalidArgumentError` for an ``old`` that is empty, not there, or there several times.
        """
        time_limit(timeout)
        if not old:
            raise InvalidArgumentError("old_string must not be empty", field="old_string")
        target = resolve_new(identity, uri)
        check_writable(identity, target)
        store = self._accounts.store(identity)
        for _ in range(ATTEMPTS):
            with store.read() as view:
                node = view.get(target.path)
                if node is None:
                    raise NotFoundError(str(target), "file")
                text = None if node.is_dir or node.is_picture else view.text(node)
                if text is None:
                    raise InvalidArgumentError(
                        f"{target} is {'a directory' if node.is_dir else 'binary'}, only text can be edited",
                        resource=str(target),
                    )
                shown = visible(text) if context_type(target.path) == "memory" else text
                count = _places(str(target), shown, old, replace_all=replace_all)
                edited = shown.replace(old, new) + text[len(shown) :]
                data = _encoded(edited, str(target))
                put = PutFile(target.path, prepare(target.name, data), mode="replace", base=node.hash)
            changed = old != new
            try:
                if changed:
                    store.apply([put])
                break
            except ConflictError:
                continue
        else:
            raise ConflictError(
                f"{target} is changed by other writers all the time", resource=str(target), retryable=True
            )

        def told(*, waited: bool) -> dict[str, Any]:
            return {
                "uri": str(target),
                "written_bytes": len(data) if changed else 0,
                "content_updated": changed,
                "replaced": count,
                "semantic_status": "complete" if waited or not changed else "queued",
                "vector_status": self._worker.vector_status(store, target.path, written=changed and not waited),
            }

        if wait:
            with done_before(lambda: told(waited=False)):
                self._worker.drain(store, timeout, below=target.path)
        self._worker.wake()
        return told(waited=wait)

    def is_directory(self, identity: Identity, uri: str) -> bool:
        """Whether a URI names a directory that is there. Raises as `resolve` does."""
        target = resolve(identity, uri)
        with self._accounts.store(identity).read() as view:
            node = view.get(target.path)
            return node is not None and node.is_dir


def _places(target: str, text: str, old: str, *, replace_all: bool) -> int:
    """How often ``old`` stands in a text; raises `InvalidArgumentError` where that does not tell what to replace."""
    count = text.count(old)
    if not count:
        raise InvalidArgumentError(
            f"old_string {quoted(old)} was not found in {target}: read the lines and give it exactly",
            field="old_string",
        )
    if count > 1 and not replace_all:
        raise InvalidArgumentError(
            f"old_string {quoted(old)} stands {count} times in {target}: give more of the text around it, or replace_all",
            field="old_string",
        )
    return count


def _encoded(text: str, target: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            "new_string has half of a surrogate pair, which is no text", field="new_string"
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise InvalidArgumentError(f"{target} would grow over {MAX_FILE_BYTES:,} bytes", resource=target)
    return data
