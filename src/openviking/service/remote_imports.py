"""The import of an address, made ready: its root reserved, its job and task put together."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from openviking.errors import DeadlineExceededError, OpenVikingError
from openviking.ingest.fetch.failures import FetchCancelled
from openviking.ingest.fetch.fetcher import Fetcher
from openviking.ingest.fetch.origin import Origin
from openviking.ingest.opening import ARCHIVE
from openviking.ingest.reserve import document_stem, reserve
from openviking.model.identity import Identity
from openviking.model.imports import ImportOptions
from openviking.service.access import check_import_target
from openviking.store.batch import Remove
from openviking.store.port import AccountStore, Source
from openviking.uri import from_path


@dataclass(frozen=True, slots=True)
class Place:
    """Where a source goes: its reserved root, and which directories were made for it (the deepest first)."""

    source: Source
    made: tuple[str, ...]


def reserved_place(
    identity: Identity,
    store: AccountStore,
    origin: Origin,
    root: str | None,
    parent: str | None,
    source_name: str | None,
) -> Place:
    """The root of an origin.

    Without ``root`` and ``parent`` one that the origin filled before and the caller may change, else a new one in the
    origin's home. Raises as `openviking.ingest.reserve.reserve` does.
    """
    if root is None and parent is None:
        root = known_root(identity, store, origin)
    home = parent if parent is not None else origin.home
    stem = (
        document_stem(source_name.strip()).removesuffix(ARCHIVE) if source_name and source_name.strip() else origin.stem
    )
    with store.read() as view:
        fresh = root is None and view.get(home) is None
    source, known = reserve(store, origin.location, root, None if root is not None else home, stem)
    made = () if known else (source.root or "", home) if fresh else (source.root or "",)
    return Place(source, made)


def known_root(identity: Identity, store: AccountStore, origin: Origin) -> str | None:
    """The first place that an origin fills and the caller may import to."""
    with store.read() as view:
        found = [source.root for source in view.sources(origin.location) if source.root is not None]
    for root in found:
        try:
            check_import_target(identity, from_path(root), "to")
        except OpenVikingError:
            continue
        return root
    return None


def payload_of(
    place: Place, origin: Origin, args: dict[str, Any], options: ImportOptions, tags: tuple[str, ...], tag_mode: str
) -> dict[str, Any]:
    """What the job of an import carries."""
    return {
        "remote": origin.given, "args": args, "reserved": place.source.location, "root": place.source.root,
        "parent": None, "options": options.to_dict(), "tags": list(tags), "tag_mode": tag_mode,
        "made": bool(place.made), "made_paths": list(place.made), "name": origin.given,
    }  # fmt: skip


def forget_place(store: AccountStore, made: list[str]) -> None:
    """Remove the directories that were made for an import that brought nothing, as far as they are empty."""
    for path in made:
        store.apply([Remove(path, only_empty=True)])


def look_ahead(fetcher: Fetcher, origin: Origin, deadline: float | None, stopping: Callable[[], bool]) -> None:
    """See that the host exists and may be asked, or that the wanted state of a repository is there: slips are known at once.

    Raises `InvalidArgumentError`, `PermissionDeniedError`, and `DeadlineExceededError` at ``deadline`` (of `time.monotonic`).
    """
    began = time.monotonic()

    def over() -> bool:
        return stopping() or (deadline is not None and time.monotonic() >= deadline)

    try:
        if origin.kind == "repository":
            fetcher.look(origin, over)
        else:
            fetcher.reach(origin, over)
    except FetchCancelled as error:
        raise DeadlineExceededError(
            f"{origin.address.shown} did not answer in time; nothing was queued", operation="fetch",
            timeout=time.monotonic() - began,
        ) from error  # fmt: skip
