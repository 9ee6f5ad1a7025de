"""Work that follows a write: what each kind of job does."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from openviking.errors import OpenVikingError, UnavailableError
from openviking.ingest.delivery import Cancelled
from openviking.ingest.prepare import BOOKKEEPING, PREPARED, prepare
from openviking.ingest.sidecars import BATCH, render
from openviking.model.node import Node
from openviking.store.batch import PutFile
from openviking.store.port import AccountStore, View

PURGE_BATCH: Final = 256
PREPARE_BATCH: Final = 16
PREPARE_BYTES: Final = 4 * 1024 * 1024
MAX_PASSED_OVER: Final = 1_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Turn:
    """A job that is carried out.

    ``change`` is the number of the store's last change after it was claimed: whatever is changed later has queued the
    next job. ``passed_over`` are ids of nodes that the job could not do anything about. ``attempt`` counts from 1.
    """

    payload: dict[str, Any]
    change: int
    cancelled: Cancelled
    passed_over: set[int] = field(default_factory=set)
    attempt: int = 1


Step = Callable[[AccountStore, Turn], bool]
"""Does a bounded piece of a job; whether there may be more."""


def _sidecars(store: AccountStore, turn: Turn) -> bool:
    """Render what was stale when the job was claimed: ancestors of what changes all the time wait for the next job."""
    path = turn.payload.get("path", "")
    with store.read() as view:
        stale = view.dirty(BATCH, path)
        if all(one.seen <= turn.change for one in stale):
            older = []
        else:
            older = [one.path for one in view.dirty(1 << 30, path) if one.seen <= turn.change][:BATCH]
            if not older:
                return False
    if not older:
        return render(store, path) > 0
    # What is stale marks all above it as later, so nothing below these is stale for a later change. The deepest come
    # first; the rest of this piece may wait for those, and is looked for again.
    for one in older:
        render(store, one)
    return True


def described(view: View, node: Node) -> str:
    """What is said of a picture, which nothing else can tell again; "" for any other file and where it is lost."""
    if node.is_picture:
        with contextlib.suppress(OpenVikingError):
            return view.text(node) or ""
    return ""


def _purge(store: AccountStore, _turn: Turn) -> bool:
    return store.purge(PURGE_BATCH) > 0


def _prepare(store: AccountStore, turn: Turn) -> bool:
    """Prepare files anew that another version prepared; an edit that comes between wins.

    A file that can't be read is passed over, so that the others get their turn. Raises `UnavailableError` when
    these are too many for single losses.
    """
    if len(turn.passed_over) > MAX_PASSED_OVER:
        raise UnavailableError(
            f"More than {MAX_PASSED_OVER:,} files can't be read", service="store", reason="contents are missing"
        )
    with store.read() as view:
        outdated = view.outdated(PREPARED, PREPARE_BATCH + len(turn.passed_over))
    found = [node for node in outdated if node.id not in turn.passed_over]
    operations: list[PutFile] = []
    ids: list[int] = []
    held = 0
    for node in found:
        if operations and held + node.size > PREPARE_BYTES:
            break
        try:
            with store.read() as view:
                data, description = view.data(node), described(view, node)
        except OpenVikingError as error:
            _log.warning("%s can't be prepared anew: %s", node.uri, error.message)
            turn.passed_over.add(node.id)
            continue
        made = prepare(node.name, data, node.hash, bookkeeping=node.kind == BOOKKEEPING, description=description)
        operations.append(PutFile(node.path, made, mode="replace", base=node.hash))
        ids.append(node.id)
        held += len(data)
        if turn.cancelled():
            break
    if operations:
        outcomes = store.apply(operations, tolerant=True).outcomes
        turn.passed_over.update(one for one, outcome in zip(ids, outcomes, strict=True) if outcome.error is not None)
    return bool(found)


STEPS: Final[dict[str, Step]] = {"sidecars": _sidecars, "purge": _purge, "prepare": _prepare}
