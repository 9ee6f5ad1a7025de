"""Where context mode looks: the finds that a request needs, bucket by bucket or everywhere at once (contract/retrieval.md §5.4).

None of them reaches beyond the caller's own tree, ``viking://resources`` and the shared skills. Other peers of the caller
are looked at without the restriction to one peer, and only where the request wants them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from openviking.context.categories import MEMORY_BUCKETS
from openviking.context.exclusion import Exclusion
from openviking.context.parameters import ContextRequest
from openviking.context.selection import peer_width_of, width_of
from openviking.model.identity import Identity
from openviking.model.skill import FILE
from openviking.service.search_request import SearchRequest
from openviking.service.targets import type_roots
from openviking.store.port import View
from openviking.uri import SCHEME, SIDECAR_NAMES, URI, from_path

MOST: Final = 1_000
"""Hits of one find at most: more entries don't fit in any budget."""

NEVER_ENTRIES: Final = 8
"""So many more hits are asked for everywhere at once: profiles and preset directories may be among them."""

FEW_PEERS: Final = 64
"""Of so many peers the places of a bucket are looked at; of more all memories of peers are, and those of it are kept."""


@dataclass(frozen=True, slots=True)
class Look:
    """One find. ``bucket`` is whose hits it gives, "" where it looks everywhere; ``names`` are what answers call its places.

    ``enough`` hits must be left when those that are excluded are gone, else it looks again: with ``beside`` left out,
    then for ``behind`` hits or more.
    Only hits with ``keeps`` in their URI count. ``packages`` is a search for whole skills. ``identity`` is whose view is
    searched, None for the caller's.
    """

    bucket: str
    names: tuple[str, ...]
    request: SearchRequest
    enough: int = 0
    beside: tuple[str, ...] = ()
    behind: int = 0
    keeps: str = ""
    packages: bool = False
    identity: Identity | None = None


def looks(
    view: View, identity: Identity, request: ContextRequest, asked: SearchRequest, exclusion: Exclusion
) -> Iterator[Look]:
    """The finds for one query of a request, wider for what ``exclusion`` takes away; places that are not there are left out."""
    places = _Places(view, identity, request, asked, exclusion)
    if request.quotas is None:
        yield from places.everywhere()
    for bucket in request.active:
        if bucket in MEMORY_BUCKETS:
            yield from places.memories(bucket, request.quotas[bucket] if request.quotas else 0)
        elif bucket == "resources":
            yield from places.resources()
        else:
            yield from places.skills()


class _Places:
    def __init__(
        self, view: View, identity: Identity, request: ContextRequest, asked: SearchRequest, exclusion: Exclusion
    ) -> None:
        self._view = view
        self._identity = identity
        self._request = request
        self._asked = asked
        self._exclusion = exclusion
        self._home = URI(("user", identity.user))
        self._peers = self._home.child("peers")
        self._sessions = self._home.child("sessions")
        self._beside = _beside(exclusion.named)
        self._cooled = [uri.removeprefix(SCHEME) for uri in exclusion.cooled]
        self._width = width_of(request, exclusion)
        self._others = self._other_peers() if request.peer_scope == "all" else []

    def everywhere(self) -> Iterator[Look]:
        """What a find without a target looks at, its peers apart: what is taken from their rank must not hide others."""
        limit, types = self._request.limit, self._asked.scope.context_types
        roots = self._asked.scope.roots or ()
        left_out = [] if self._identity.actor_peer else [self._peers.path]
        if types:
            # An archive is told from its directory to be a resource; here it is a memory.
            left_out.append(self._sessions.path)
        names = tuple(str(from_path(root)) for root in roots)
        yield self._look("", names, roots, self._width + NEVER_ENTRIES, types, left_out=left_out, enough=limit)
        if "memory" in types and not self._identity.actor_peer:
            yield from self._archives(limit)
        if self._others and (wanted := self._of_peers()) is not None:
            width = peer_width_of(self._request, self._exclusion)
            yield self._look("", (str(self._peers),), (self._peers.path,), width, wanted, enough=limit, others=True)

    def memories(self, bucket: str, quota: int) -> Iterator[Look]:
        """The memories of one type: the caller's own, those about the actor peer, and those about others."""
        types = self._asked.scope.context_types
        if types and "memory" not in types:
            return
        own = [self._home.child("memories", bucket)]
        if self._identity.actor_peer:
            own.append(self._peers.child(self._identity.actor_peer, "memories", bucket))
        yield from self._there(bucket, own, self._width, quota)
        if bucket == "events" and not self._identity.actor_peer:
            yield from self._archives(quota, bucket)
        width = peer_width_of(self._request, self._exclusion, bucket)
        if 0 < len(self._others) <= FEW_PEERS:
            places = [self._peers.child(peer, "memories", bucket) for peer in self._others]
            yield from self._there(bucket, places, width, quota, others=True)
        elif self._others:
            keeps = f"/memories/{bucket}/"
            yield self._look(
                bucket, (bucket,), (self._peers.path,), width, ("memory",), enough=quota, others=True, keeps=keeps
            )

    def resources(self) -> Iterator[Look]:
        """Resources, shared and the caller's own."""
        types = self._asked.scope.context_types
        if types and "resource" not in types:
            return
        roots = [root.path for root in type_roots(self._identity, "resource")]
        left_out = [self._sessions.path]
        if not self._identity.actor_peer and self._request.peer_scope == "actor":
            left_out.append(self._peers.path)
        quotas = self._request.quotas or {}
        yield self._look(
            "resources", ("resources",), roots, self._width, ("resource",), left_out=left_out,
            enough=quotas.get("resources", 0),
        )  # fmt: skip

    def skills(self) -> Iterator[Look]:
        """Skills, shared and the caller's own; none are looked for with a picture."""
        types = self._asked.scope.context_types
        if self._asked.pictures or (types and "skill" not in types):
            return
        roots = [root.path for root in type_roots(self._identity, "skill") if self._view.get(root.path) is not None]
        if roots:
            quota = (self._request.quotas or {}).get("skills", 0)
            look = self._look("skills", ("skills",), roots, self._width, ("skill",), enough=quota)
            yield replace(look, packages=bool(self._asked.query))

    def _archives(self, enough: int, bucket: str = "") -> Iterator[Look]:
        """Conversations of the caller that were archived: they are events that were not made memories."""
        if self._view.get(self._sessions.path) is not None:
            roots = (self._sessions.path,)
            yield self._look(bucket, (bucket or str(self._sessions),), roots, self._width, (), enough=enough)

    def _there(
        self, bucket: str, places: Sequence[URI], width: int, quota: int, *, others: bool = False
    ) -> Iterator[Look]:
        roots = [place.path for place in places if self._view.get(place.path) is not None]
        if roots:
            yield self._look(bucket, (bucket,), roots, width, ("memory",), enough=quota, others=others)

    def _look(
        self,
        bucket: str,
        names: tuple[str, ...],
        roots: Sequence[str],
        width: int,
        types: Sequence[str],
        *,
        left_out: Sequence[str] = (),
        enough: int = 0,
        others: bool = False,
        keeps: str = "",
    ) -> Look:
        own = self._identity.actor_peer
        left = (*left_out, self._peers.child(own).path) if others and own else tuple(left_out)
        scope = replace(self._asked.scope, roots=tuple(roots), context_types=tuple(types), excluded=left)
        beside = (*left, *self._beside) if self._beside else ()
        identity = replace(self._identity, actor_peer=None) if others else None
        behind = enough + NEVER_ENTRIES + sum(any(_is_below(path, root) for root in roots) for path in self._cooled)
        request = replace(self._asked, scope=scope, limit=min(width, MOST))
        return Look(bucket, names, request, enough, beside, behind, keeps, identity=identity)

    def _of_peers(self) -> tuple[str, ...] | None:
        """The types that are wanted of other peers, () for all; None for nothing. Who acts for one sees only memories."""
        types = self._asked.scope.context_types
        if not self._identity.actor_peer:
            return types
        return ("memory",) if not types or "memory" in types else None

    def _other_peers(self) -> list[str]:
        """Some of the other peers that there are, all if they are few."""
        if self._view.get(self._peers.path) is None:
            return []
        children = self._view.children(self._peers.path, hidden=False, limit=FEW_PEERS + 2, order="kind")
        return [one.name for one in children if one.is_dir and one.name != self._identity.actor_peer]


def _is_below(path: str, root: str) -> bool:
    return not root or path.startswith(f"{root}/")


def _beside(named: Iterable[str]) -> tuple[str, ...]:
    """The store paths of what a caller does not want: of a SKILL.md its package, of a sidecar nothing but that."""
    uris = [from_path(uri.removeprefix(SCHEME)) for uri in named]
    paths = [
        uri.parent.path if uri.name == FILE and "skills" in uri.parts else uri.path
        for uri in uris
        if uri.parts and uri.name not in SIDECAR_NAMES
    ]
    return tuple(sorted(set(paths)))
