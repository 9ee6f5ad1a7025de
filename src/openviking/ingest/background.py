"""Work that follows a write: what each kind of job does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from openviking.ingest.prepare import PREPARED, prepare
from openviking.ingest.sidecars import render
from openviking.store.batch import PutFile
from openviking.store.port import AccountStore

PURGE_BATCH: Final = 256
PREPARE_BATCH: Final = 16

Step = Callable[[AccountStore, dict[str, Any]], bool]
"""Does a bounded piece of a job; whether there may be more."""


def _sidecars(store: AccountStore, payload: dict[str, Any]) -> bool:
    return render(store, payload.get("path", "")) > 0


def _purge(store: AccountStore, _payload: dict[str, Any]) -> bool:
    return store.purge(PURGE_BATCH) > 0


def _prepare(store: AccountStore, _payload: dict[str, Any]) -> bool:
    """Prepare files anew that another version prepared; an edit that comes between wins."""
    with store.read() as view:
        found = [(node, view.data(node)) for node in view.outdated(PREPARED, PREPARE_BATCH)]
    if not found:
        return False
    store.apply(
        [PutFile(node.path, prepare(node.name, data), mode="replace", base=node.hash) for node, data in found],
        tolerant=True,
    )
    return True


STEPS: Final[dict[str, Step]] = {"sidecars": _sidecars, "purge": _purge, "prepare": _prepare}
