"""Which directories a search looks at (contract/retrieval.md §3.3), and which of a tree a caller may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openviking.errors import InvalidArgumentError, InvalidURIError
from openviking.model.identity import Identity
from openviking.service.access import resolve
from openviking.store.port import View
from openviking.text import quoted
from openviking.uri import SCHEME, SIDECAR_NAMES, URI, USERS_ROOT, from_path

MAX_TARGETS: Final = 256

_PEER_AREAS = ("memories", "resources")
_USER_AREAS = ("memories", "resources", "skills")


@dataclass(frozen=True, slots=True)
class Targets:
    """The store paths to search, and whether the caller ``named`` them."""

    roots: tuple[str, ...]
    named: bool

    def searched(self, identity: Identity, context_types: Sequence[str]) -> tuple[str, ...]:
        """The URIs of the directories that an answer says were searched: those named, else those of the one type."""
        roots = self.roots
        if not self.named and len(context_types) == 1:
            of_type = [root.path for root in type_roots(identity, context_types[0])]
            roots = tuple(root for root in of_type if any(_is_below(root, other) for other in self.roots))
        return tuple(str(from_path(root)) for root in roots)


def search_targets(identity: Identity, target_uri: str | Sequence[str] | None) -> Targets:
    """Where to search (contract/retrieval.md §3.3); an empty target means the user's root and ``viking://resources``.

    Raises `InvalidURIError` for what names nothing or can't be searched, `InvalidArgumentError` for what is no URI,
    `PermissionDeniedError` for another user's tree or another peer's.
    """
    given = [resolve(identity, text) for text in _given(target_uri) if text not in {"", "/", SCHEME}]
    # A directory among the hits is spelled as its sidecar; as a target it means the directory.
    targets = [target.parent if target.name in SIDECAR_NAMES else target for target in given]
    home = URI(("user", identity.user))
    if targets:
        roots = [root for target in targets for root in _expand(identity, target)]
    elif identity.actor_peer is None:
        roots = [home, URI(("resources",))]
    else:
        roots = [URI(("resources",)), *_seen_with_peer(home, identity.actor_peer)]
    return Targets(tuple(dict.fromkeys(root.path for root in roots)), bool(targets))


def sees_all(identity: Identity, target: URI) -> bool:
    """Whether the caller may see everything below ``target``, which must be readable."""
    home = URI((USERS_ROOT, identity.user))
    if identity.actor_peer is not None and (home.is_within(target) or target == home.child("peers")):
        return False
    return identity.role == "root" or target.path not in {"", USERS_ROOT}


def may_tell(identity: Identity, directory: URI) -> bool:
    """Whether the sidecars of ``directory``, which must be readable, tell of nothing that the caller may not see."""
    return directory.path == USERS_ROOT or sees_all(identity, directory)


def visible_roots(view: View, identity: Identity, target: URI) -> tuple[str, ...]:
    """``target``, or where that holds more than the caller may see, what below it the caller may, in order.

    These are store paths of directories, and of files that lie beside a directory that is left out.
    """
    if sees_all(identity, target):
        return (target.path,)
    home = URI((USERS_ROOT, identity.user))
    if identity.actor_peer is None:
        own: tuple[str, ...] = (home.path,)
    else:
        peers = home.child("peers")
        peer = peers.child(identity.actor_peer).path
        beside = [child.path for child in view.children(home.path, hidden=False) if child.path != peers.path]
        own = (peer,) if target == peers else tuple(sorted([*beside, peer], key=lambda path: path.split("/")))
    return own if target.parts else ("agent", "resources", *own)


def type_roots(identity: Identity, context_type: str) -> list[URI]:
    """Where what is of one type lies, as far as the caller sees it (contract/retrieval.md §3.3)."""
    home, shared, peer = URI(("user", identity.user)), URI(("resources",)), identity.actor_peer
    if context_type == "skill":
        return [home.child("skills"), URI(("agent", "skills"))]
    if context_type == "memory":
        return [home] if peer is None else [home.child("memories"), home.child("peers", peer, "memories")]
    return [shared, home] if peer is None else [shared, home.child("resources"), home.child("peers", peer, "resources")]


def _is_below(path: str, other: str) -> bool:
    return path == other or not other or path.startswith(f"{other}/")


def _given(target_uri: object) -> list[str]:
    given = [target_uri] if isinstance(target_uri, str) else target_uri or []
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise InvalidArgumentError(
            f"target_uri must be a URI or a list of URIs, not {quoted(target_uri)}", field="target_uri"
        )
    distinct = list(dict.fromkeys(given))
    if len(distinct) > MAX_TARGETS:
        raise InvalidArgumentError(
            f"target_uri names {len(distinct)} places, at most {MAX_TARGETS} are allowed", field="target_uri"
        )
    return distinct


def _expand(identity: Identity, target: URI) -> list[URI]:
    if target.parts == ("user",) and (identity.role != "root" or identity.actor_peer is not None):
        target = URI(("user", identity.user))
    if target.scope != "user" or len(target.parts) < 2:
        return [target]
    home = URI(target.parts[:2])
    peer = identity.actor_peer
    if len(target.parts) == 2:
        return [target] if peer is None else _seen_with_peer(home, peer)
    if target.parts[2] != "peers":
        return [target]
    if len(target.parts) == 3:
        return [target] if peer is None else [home.child("peers", peer, area) for area in _PEER_AREAS]
    if len(target.parts) == 4:
        return [target.child(area) for area in _PEER_AREAS]
    if target.parts[4] not in _PEER_AREAS:
        raise InvalidURIError(str(target), "only the memories and resources of a peer can be searched")
    return [target]


def _seen_with_peer(home: URI, peer: str) -> list[URI]:
    return [home.child(area) for area in _USER_AREAS] + [home.child("peers", peer, area) for area in _PEER_AREAS]
