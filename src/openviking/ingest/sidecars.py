"""The L0 and L1 of directories, made from their children: stored by a job, and at once in memory for who reads them.

The job goes deepest first and a bounded number at a time. Reading stores nothing, so that it neither waits for a
writer nor fails on a full disk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from openviking.ingest.prepare import prepare_sidecar
from openviking.ingest.presets import in_session, preset_description
from openviking.model.node import Sidecars
from openviking.parse import ChildSummary, directory_abstract, directory_overview
from openviking.store.batch import PutSidecars
from openviking.store.port import AccountStore, DirtyDirectory, View
from openviking.text import shorten
from openviking.uri import USERS_ROOT, from_path

CHILDREN: Final = 200
"""Children of a directory that its sidecars are made from; the texts say how many more there are."""

BATCH: Final = 64

ABSTRACT_CHARS: Final = 256

BELOW: Final = 256
"""Stale directories one level below the wanted ones that a reader makes anew, and as many two levels below: no text
depends on deeper ones. Of further ones the texts give the name alone."""


class CurrentSidecars:
    """The sidecars of directories in one state of the store: as stored, or where that is stale made anew in memory."""

    def __init__(self, view: View, below: int = BELOW) -> None:
        self._view = view
        self._left = {1: below, 2: below}
        self._known: dict[tuple[str, int], str] = {}

    def of(self, path: str) -> Sidecars:
        """The sidecars of an existing directory, never stale: within the bound what the job is to store."""
        stored = self._view.sidecars(path)
        return _made(self._view, path, partial(self._abstract, 1)) if stored is None or stored.stale else stored

    def _abstract(self, depth: int, path: str) -> str:
        """The L0 of a directory ``depth`` levels below a wanted one."""
        known = self._known.get((path, depth))
        if known is None:
            known = _stored_abstract(self._view, path)
            if known is None and self._left.get(depth):
                self._left[depth] -= 1
                known = _made(self._view, path, partial(self._abstract, depth + 1)).abstract
            self._known[path, depth] = known = known or ""
        return known


def render(store: AccountStore, path: str = "", limit: int = BATCH) -> int:
    """Make and store up to ``limit`` stale sidecars at and below ``path``; how many were made.

    A directory's text uses its children's L0, therefore deeper ones come first and each batch is one depth.
    """
    with store.read() as view:
        dirty = view.dirty(limit, path)
        if not dirty:
            return 0
        depth = dirty[0].path.count("/")
        operations = [_to_store(view, one) for one in dirty if one.path.count("/") == depth]
    store.apply(operations)
    return len(operations)


def render_all(store: AccountStore, path: str = "") -> int:
    """Make and store all stale sidecars at and below ``path``; how many were made."""
    made = 0
    while count := render(store, path):
        made += count
    return made


def _to_store(view: View, directory: DirtyDirectory) -> PutSidecars:
    made = _made(view, directory.path, partial(_stored_abstract, view))
    name = from_path(directory.path).name
    telling = _telling(view, directory.path, described=made.origin == "description")
    return PutSidecars(
        path=directory.path,
        seen=directory.seen,
        abstract=made.abstract,
        overview=made.overview,
        origin=made.origin,
        abstract_passages=prepare_sidecar(name, made.abstract) if telling else (),
        overview_passages=prepare_sidecar(name, made.overview) if telling else (),
    )


def _made(view: View, path: str, abstract_of: Callable[[str], str | None]) -> Sidecars:
    """The sidecars of a directory from its children; ``abstract_of`` gives the L0 of those that are directories."""
    total = _count(view, path)
    children = [
        ChildSummary(child.name, child.is_dir, (abstract_of(child.path) or "") if child.is_dir else child.abstract)
        for child in (view.children(path, hidden=False, limit=CHILDREN, order="kind") if total else ())
    ]
    given = view.description(path)
    description = given or preset_description(path)
    name = from_path(path).name
    return Sidecars(
        abstract=shorten(given, ABSTRACT_CHARS) if given else directory_abstract(name, children, total, description),
        overview=directory_overview(name, children, total, description),
        origin="description" if given else "extractive",
        stale=False,
    )


def _telling(view: View, path: str, *, described: bool) -> bool:
    """Whether the sidecars of a directory are to be found.

    What is empty, or holds only what every user has from the beginning, tells nothing that somebody brought here; what
    is in a session stands in the messages of its archives already.
    """
    if in_session(path):
        return False
    if described:
        return True
    if not _count(view, path):
        return False
    children = view.children(path, hidden=False, limit=CHILDREN, order="kind")
    return any(not child.is_dir or not preset_description(child.path) for child in children)


def _count(view: View, path: str) -> int:
    return 0 if path == USERS_ROOT else view.count_children(path, hidden=False)


def _stored_abstract(view: View, path: str) -> str | None:
    """The L0 of a directory as it is stored, None if that is stale."""
    stored = view.sidecars(path)
    return stored.abstract if stored is not None and not stored.stale else None
