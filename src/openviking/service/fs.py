"""The tree: ls, tree, stat, attrs, mkdir, rm, mv (contract/core.md §3.2)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from openviking.errors import (
    AlreadyExistsError,
    ConflictError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
)
from openviking.index.choices import one_of
from openviking.index.limits import position, whole_number
from openviking.index.tags import MEMORY_TYPE, accepted_tags, merged_tags
from openviking.ingest.sidecars import CurrentSidecars
from openviking.model.identity import Identity
from openviking.model.listing import Listing
from openviking.model.node import Node
from openviking.service.access import (
    check_changeable,
    check_copyable,
    check_movable,
    check_new_directory,
    resolve,
    resolve_new,
)
from openviking.service.accounts import Accounts
from openviking.service.listed import Details, Listed, original_form, record_id, sidecar_nodes
from openviking.service.targets import sees_all, visible_roots
from openviking.service.unfinished import done_before
from openviking.service.worker import Worker, time_limit
from openviking.store.batch import Copy, MakeDirectory, Move, Remove, SetTags, TagMode
from openviking.store.pictures import Described
from openviking.store.port import View
from openviking.text import quoted
from openviking.uri import RESERVED_NAMES, URI, context_type

RECURSIVE_DEPTH: Final = 3
TAGS_AT_ONCE: Final = 500


class FileSystem:
    """Listing and changing the tree."""

    def __init__(self, accounts: Accounts, worker: Worker) -> None:
        self._accounts = accounts
        self._worker = worker

    def ls(
        self,
        identity: Identity,
        uri: str,
        *,
        simple: bool = False,
        recursive: bool = False,
        output: str = "agent",
        abs_limit: int = 256,
        show_all_hidden: bool = False,
        node_limit: int = 1000,
        offset: int = 0,
        sort_by: str | None = None,
        sort_order: str = "asc",
        details: Details = Details(),  # noqa: B008
    ) -> Listing:
        """The children of a directory; ``recursive`` gives a tree of depth 3.

        ``sort_by`` ``name`` or ``mtime`` puts directories first; with ``show_all_hidden`` the directory's own summaries
        come before all. ``details`` says what is told of each and which tags
        all must carry. Raises `NotFoundError`, `FailedPreconditionError` for a file, `InvalidArgumentError` for bad
        values.
        """
        one_of("output", output, ("agent", "original"))
        one_of("sort_by", sort_by, ("name", "mtime", None))
        one_of("sort_order", sort_order, ("asc", "desc"))
        if recursive:
            if sort_by is not None:
                raise InvalidArgumentError(
                    "sort_by orders one directory, it can't be combined with recursive", field="sort_by"
                )
            return self.tree(
                identity, uri, simple=simple, output=output, abs_limit=abs_limit, show_all_hidden=show_all_hidden,
                node_limit=node_limit, offset=offset, level_limit=RECURSIVE_DEPTH, details=details,
            )  # fmt: skip
        node_limit, offset = whole_number(node_limit, "node_limit", minimum=1), position(offset, "offset")
        abs_limit = whole_number(abs_limit, "abs_limit", minimum=0)
        target = resolve(identity, uri)
        with self._accounts.store(identity).read() as view:
            self._directory(view, target)
            listed = Listed(view, identity, simple=simple, output=output, abs_limit=abs_limit, details=details)
            wanted = listed.wanted_tags
            if (target.parts == ("user",) and identity.role != "root") or not target.parts:
                public = _tagged(view, self._public(view, identity, target), wanted)
                nodes, total = public[offset : offset + node_limit], len(public)
                return Listing(listed.entries(nodes), total=total, has_more=offset + len(nodes) < total)
            front = sidecar_nodes(view, identity, target) if show_all_hidden and not wanted else []
            shown = front[offset : offset + node_limit]
            offset, left = max(offset - len(front), 0), node_limit - len(shown)
            peers = identity.actor_peer is not None and target.scope == "user" and target.parts[2:] == ("peers",)
            narrowed = peers or bool(wanted)
            order = {None: "name", "name": "kind", "mtime": "mtime"}[sort_by]
            nodes = view.children(
                target.path,
                hidden=show_all_hidden,
                limit=None if narrowed else left,
                offset=0 if narrowed else offset,
                order=order,
                descending=sort_order == "desc",
            )
            if narrowed:
                own = _tagged(view, [node for node in nodes if not peers or _is_shown(identity, node)], wanted)
                nodes, total = own[offset : offset + left], len(own)
            else:
                total = view.count_children(target.path, hidden=show_all_hidden)
            return Listing(
                listed.entries([*shown, *nodes]), total=len(front) + total, has_more=offset + len(nodes) < total
            )

    def tree(
        self,
        identity: Identity,
        uri: str,
        *,
        simple: bool = False,
        output: str = "agent",
        abs_limit: int = 256,
        show_all_hidden: bool = False,
        node_limit: int = 1000,
        offset: int = 0,
        level_limit: int = 3,
        directories_only: bool = False,
        details: Details = Details(),  # noqa: B008
    ) -> Listing:
        """Everything below a directory down to ``level_limit`` levels, flat and in pre-order, with ``rel_path``."""
        one_of("output", output, ("agent", "original"))
        node_limit, offset = whole_number(node_limit, "node_limit", minimum=1), position(offset, "offset")
        level_limit = whole_number(level_limit, "level_limit", minimum=1)
        abs_limit = whole_number(abs_limit, "abs_limit", minimum=0)
        target = resolve(identity, uri)
        with self._accounts.store(identity).read() as view:
            self._directory(view, target)
            listed = Listed(
                view, identity, simple=simple, output=output, abs_limit=abs_limit, below=target, details=details
            )
            narrow = identity.actor_peer is not None or identity.role != "root"
            counted = narrow or directories_only or bool(listed.wanted_tags)
            nodes: list[Node] = []
            seen = 0
            for entry in view.walk(
                target.path, depth=level_limit, hidden_files=show_all_hidden, tags=listed.wanted_tags
            ):
                if (narrow and not _is_shown(identity, entry.node)) or (directories_only and not entry.node.is_dir):
                    continue
                seen += 1
                if offset < seen <= offset + node_limit:
                    nodes.append(entry.node)
                elif seen > offset + node_limit and not counted:
                    break
            total = seen if counted else view.count_below(target.path, depth=level_limit, hidden_files=show_all_hidden)
            return Listing(listed.entries(nodes), total=total, has_more=offset + len(nodes) < total)

    def stat(self, identity: Identity, uri: str) -> dict[str, Any]:
        """Name, size, times and kind of a node; ``count`` is the number of records below a directory."""
        target = resolve(identity, uri)
        with self._accounts.store(identity).read() as view:
            node = self._node(view, target)
            out = {**original_form(node), "isLocked": False, "id": record_id(node)}
            if node.is_dir and identity.actor_peer is None:
                out["count"] = sum(view.count_records(path) for path in visible_roots(view, identity, target))
            return out

    def attrs(self, identity: Identity, uri: str) -> dict[str, Any]:
        """Tags and context type of a node, and the ``origin`` of its summaries.

        For a directory, ``stored`` says whether its sidecars are stored and found; for a text file there is its
        ``encoding``; of a picture ``described_by`` names the model, or ``not_described`` says why there is none.
        """
        target = resolve(identity, uri)
        store = self._accounts.store(identity)
        with store.read() as view:
            node = self._node(view, target)
            attrs: dict[str, Any] = {"tags": list(view.tags([node.id]).get(node.id, ()))}
            if node.is_dir:
                stored = view.sidecars(node.path)
                attrs["origin"] = CurrentSidecars(view).of(node.path).origin
                attrs["stored"] = stored is not None and not stored.stale
            elif node.is_picture:
                attrs |= _said_of(store.pictures.of(node.hash or b""))
            elif node.is_text:
                attrs["encoding"] = node.encoding
                attrs["origin"] = "extractive"
            return {"uri": str(node.uri), "context_type": context_type(node.path), "attrs": attrs}

    def set_tags(
        self,
        identity: Identity,
        uri: str,
        tags: Sequence[str],
        *,
        mode: str = "replace",
        recursive: bool = False,
    ) -> dict[str, Any]:
        """Change the tags of a node, or of all below it; a tag that is not ``key=value`` is skipped and counted.

        So is ``memory_type`` of a memory, which no caller changes (contract/retrieval.md §2.4).
        """
        chosen = one_of("mode", mode, ("replace", "append", "clear"))
        target = resolve(identity, uri)
        check_changeable(identity, target)
        kept, skipped = accepted_tags(tags)
        if context_type(target.path) == "memory":
            own = tuple(tag for tag in kept if not tag.startswith(f"{MEMORY_TYPE}="))
            kept, skipped = own, skipped + len(kept) - len(own)
        store = self._accounts.store(identity)
        with store.read() as view:
            node = self._node(view, target)
            if chosen == "append" and kept:
                _check_room(view, node, kept, recursive=recursive)
        useless = bool(tags) and not kept and chosen != "clear"
        operations = [] if useless else [SetTags(target.path, kept, _tag_mode(chosen), recursive, MEMORY_TYPE)]
        applied = store.apply(operations) if operations else None
        touched = applied.outcomes[0].touched if applied else ()
        return {
            "uri": str(target),
            "updated_uris": [str(URI(tuple(path.split("/")))) for path in touched],
            "root_uri": str(target),
            "context_type": context_type(target.path),
            "tags": list(kept),
            "mode": mode,
            "success_count": len(touched),
            "skipped_count": skipped,
            "failed_count": 0,
            "tags_updated": bool(touched),
        }

    def mkdir(self, identity: Identity, uri: str, description: str | None = None) -> dict[str, Any]:
        """Make a directory and its parents; ``description`` becomes its L0. An existing one is a `ConflictError`."""
        target = resolve_new(identity, uri)
        store = self._accounts.store(identity)
        if target.parts == ("resources",):
            raise ConflictError(f"Directory already exists: {target}", resource=str(target))
        check_new_directory(identity, target)
        store.apply([MakeDirectory(target.path, description=_description(description))])
        self._worker.wake()
        return {"uri": str(target)}

    def rm(
        self, identity: Identity, uri: str, *, recursive: bool = False, wait: bool = False, timeout: float | None = None
    ) -> dict[str, Any]:
        """Remove a node; a directory needs ``recursive``, a missing one is no error. It is gone when this returns.

        ``wait`` also awaits the sidecars of the directories above, and their vectors.
        """
        time_limit(timeout)
        target = resolve(identity, uri)
        check_changeable(identity, target)
        store = self._accounts.store(identity)
        removed = store.apply([Remove(target.path, recursive)]).outcomes[0].count

        def told(*, waited: bool) -> dict[str, Any]:
            return {
                "uri": str(target),
                "estimated_deleted_count": removed,
                "semantic_root_uri": str(target.parent),
                "semantic_status": "complete" if waited or not removed else "queued",
            }

        if wait:
            with done_before(lambda: told(waited=False)):
                self._worker.drain(store, timeout, below=target.path)
        self._worker.wake()
        return told(waited=wait)

    def mv(self, identity: Identity, from_uri: str, to_uri: str) -> dict[str, Any]:
        """Give a node another URI; its records, tags and times stay as they are."""
        source, target = resolve(identity, from_uri), resolve_new(identity, to_uri)
        check_movable(identity, source, target)
        store = self._accounts.store(identity)
        with store.read() as view:
            node = self._node(view, source)
        if not node.is_dir and to_uri.endswith("/"):
            raise InvalidArgumentError(f"{to_uri} names a directory, but {source} is a file", resource=to_uri)
        try:
            store.apply([Move(source.path, target.path)])
        except AlreadyExistsError as error:
            if error.details["type"] != "directory":
                raise
            raise InvalidArgumentError(
                f"{target} is an existing directory; name the new node itself", resource=str(target)
            ) from error
        self._worker.wake()
        return {"from": str(source), "to": str(target)}

    def cp(self, identity: Identity, from_uri: str, to_uri: str, *, recursive: bool = False) -> dict[str, Any]:
        """Make another node of a file, or with ``recursive`` of a directory with all that is below.

        The target must be free and its parent exist. Tags and descriptions are copied, bytes and vectors shared.
        """
        source, target = resolve(identity, from_uri), resolve_new(identity, to_uri)
        check_copyable(identity, source, target)
        store = self._accounts.store(identity)
        with store.read() as view:
            node = self._node(view, source)
        if not node.is_dir and to_uri.endswith("/"):
            raise InvalidArgumentError(f"{to_uri} names a directory, but {source} is a file", resource=to_uri)
        if not sees_all(identity, source):
            raise PermissionDeniedError(f"Access denied for {source}", resource=str(source))
        store.apply([Copy(source.path, target.path, recursive)])
        self._worker.wake()
        return {"from": str(source), "to": str(target)}

    @staticmethod
    def _public(view: View, identity: Identity, target: URI) -> list[Node]:
        """The root shows the scopes that exist, ``viking://user`` the caller's own directory."""
        wanted = [("user", identity.user)] if target.parts else [("agent",), ("resources",), ("user",)]
        return [node for parts in wanted if (node := view.get(URI(parts).path)) is not None]

    @staticmethod
    def _node(view: View, target: URI) -> Node:
        node = view.get(target.path)
        if node is None:
            raise NotFoundError(str(target), "file" if "." in target.name else "directory")
        return node

    @classmethod
    def _directory(cls, view: View, target: URI) -> Node:
        node = cls._node(view, target)
        if not node.is_dir:
            raise FailedPreconditionError(
                f"{target} is not a directory", resource=str(target), expected="directory", actual="file"
            )
        return node


def _said_of(known: Described | None) -> dict[str, Any]:
    """What attributes tell of a picture's description."""
    if known is not None and known.description:
        return {"origin": "model", "described_by": known.model}
    return {"origin": "extractive", "not_described": (known and known.error) or "no model has looked at it yet"}


def _description(text: object) -> str:
    """What a directory is said to be for; raises `InvalidArgumentError` for what is no text."""
    if text is None:
        return ""
    with contextlib.suppress(UnicodeEncodeError):
        if isinstance(text, str) and text.encode() is not None:
            return text
    raise InvalidArgumentError(f"description must be a text, not {quoted(text)}", field="description")


def _check_room(view: View, node: Node, tags: Sequence[str], *, recursive: bool) -> None:
    """Raises `InvalidArgumentError` if a node would carry more tags than one may."""
    below = (entry.node.id for entry in view.walk(node.path)) if recursive and node.is_dir else iter(())
    ids = [node.id]
    while ids:
        for stored in view.tags(ids).values():
            merged_tags(stored, tags)
        ids = list(islice(below, TAGS_AT_ONCE))


def _tagged(view: View, nodes: list[Node], wanted: Sequence[str]) -> list[Node]:
    """Those of ``nodes`` that carry all the tags."""
    if not wanted:
        return nodes
    carried = view.tags([node.id for node in nodes])
    return [node for node in nodes if set(wanted) <= set(carried.get(node.id, ()))]


def _is_shown(identity: Identity, node: Node) -> bool:
    """Whether a listing may show a node: no other user's tree, no foreign peer under a peer view."""
    parts = node.uri.parts
    if parts[-1] in RESERVED_NAMES:
        return False
    if parts[0] != "user" or len(parts) < 2:
        return True
    if identity.role != "root" and parts[1] != identity.user:
        return False
    foreign = (
        identity.actor_peer is not None and len(parts) > 3 and parts[2] == "peers" and parts[3] != identity.actor_peer
    )
    return not foreign


def _tag_mode(mode: str) -> TagMode:
    modes: dict[str, TagMode] = {"replace": "replace", "append": "append", "clear": "clear"}
    return modes[mode]
