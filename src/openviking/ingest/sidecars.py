"""The L0 and L1 of directories, made from their children, deepest first and a bounded number at a time."""

from __future__ import annotations

from typing import Final

from openviking.ingest.prepare import prepare_sidecar
from openviking.ingest.presets import PRIVATE_CONTAINER, preset_description
from openviking.parse import ChildSummary, directory_abstract, directory_overview
from openviking.store.batch import PutSidecars
from openviking.store.port import AccountStore, DirtyDirectory, View
from openviking.text import shorten
from openviking.uri import from_path

CHILDREN: Final = 200
"""Children of a directory that its sidecars are made from; the texts say how many more there are."""

BATCH: Final = 64

ABSTRACT_CHARS: Final = 256


def render(store: AccountStore, path: str = "", limit: int = BATCH) -> int:
    """Make up to ``limit`` stale sidecars at and below ``path``; how many were made.

    A directory's text uses its children's L0, therefore deeper ones come first and each batch is one depth.
    """
    with store.read() as view:
        dirty = view.dirty(limit, path)
        if not dirty:
            return 0
        depth = dirty[0].path.count("/")
        operations = [_rendered(view, one) for one in dirty if one.path.count("/") == depth]
    store.apply(operations)
    return len(operations)


def render_all(store: AccountStore, path: str = "", limit: int | None = None) -> int:
    """Make all stale sidecars at and below ``path``, at most about ``limit``; how many were made."""
    made = 0
    while limit is None or made < limit:
        count = render(store, path)
        if not count:
            break
        made += count
    return made


def render_one(store: AccountStore, path: str) -> None:
    """Make the sidecars of one directory from what its children have now."""
    with store.read() as view:
        dirty = [one for one in view.dirty(1 << 30, path) if one.path == path]
        operations = [_rendered(view, one) for one in dirty]
    if operations:
        store.apply(operations)


def _rendered(view: View, directory: DirtyDirectory) -> PutSidecars:
    private = directory.path == PRIVATE_CONTAINER
    total = 0 if private else view.count_children(directory.path, hidden=False)
    children = []
    for child in view.children(directory.path, hidden=False, limit=CHILDREN, order="kind") if total else ():
        abstract = child.abstract
        if child.is_dir:
            sidecars = view.sidecars(child.path)
            abstract = sidecars.abstract if sidecars and not sidecars.stale else ""
        children.append(ChildSummary(child.name, child.is_dir, abstract))
    given = view.description(directory.path)
    description = given or preset_description(directory.path)
    name = from_path(directory.path).name
    abstract = shorten(given, ABSTRACT_CHARS) if given else directory_abstract(name, children, total, description)
    overview = directory_overview(name, children, total, description)
    return PutSidecars(
        path=directory.path,
        seen=directory.seen,
        abstract=abstract,
        overview=overview,
        origin="description" if given else "extractive",
        abstract_passages=prepare_sidecar(name, abstract) if total or given else (),
        overview_passages=prepare_sidecar(name, overview) if total or given else (),
    )
