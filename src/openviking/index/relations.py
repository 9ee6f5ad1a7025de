"""The links of a directory as its file ``.relations.json`` has them (contract/retrieval.md §8.8): read whatever it holds, and written.

Our entries also have ``nodes``: by URI the id of what was linked, so that a link still leads there once it was moved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

NAME: Final = ".relations.json"

MAX_BYTES: Final = 1024 * 1024
"""A file of more is none of ours and not read."""

MAX_URIS: Final = 1_000
"""So many URIs one directory is linked to at most."""

MAX_REASON_CHARS: Final = 2_000

_MAX_NODE: Final = 2**63


@dataclass(frozen=True, slots=True)
class Link:
    """One entry: the ``uris`` that belong to the directory for ``reason``."""

    id: str
    uris: tuple[str, ...]
    reason: str = ""
    created_at: str = ""
    nodes: Mapping[str, int] = field(default_factory=dict)


def parse_links(data: bytes) -> list[Link]:
    """The links in a file, in its order; what makes no sense is left out, and it never raises.

    Reads the list of entries, and the older form ``{namespace: {user: [entries]}}``.
    """
    if len(data) > MAX_BYTES:
        return []
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return []
    links: list[Link] = []
    left = MAX_URIS
    for entry in _entries(told):
        link = _link(entry)
        if link is not None and left > 0:
            links.append(replace(link, uris=link.uris[:left]))
            left -= len(links[-1].uris)
    return links


def to_bytes(links: Sequence[Link]) -> bytes:
    """What the file of ``links`` holds."""
    told = [
        {"id": one.id, "uris": list(one.uris), "reason": one.reason, "created_at": one.created_at,
         "nodes": {uri: one.nodes[uri] for uri in one.uris if uri in one.nodes}}
        for one in links
    ]  # fmt: skip
    return (json.dumps(told, ensure_ascii=False, indent=2) + "\n").encode()


def with_link(links: Sequence[Link], nodes: Mapping[str, int], reason: str, created_at: str) -> list[Link]:
    """``links`` and one more to the URIs of ``nodes``, with the smallest number that is free."""
    taken = {one.id for one in links}
    number = next(number for number in range(1, len(links) + 2) if f"link_{number}" not in taken)
    return [*links, Link(f"link_{number}", tuple(nodes), reason, created_at, dict(nodes))]


def without(links: Sequence[Link], uris: Sequence[str]) -> list[Link]:
    """``links`` that no longer lead to any of ``uris``; entries without URIs are left out."""
    kept = [replace(one, uris=tuple(uri for uri in one.uris if uri not in uris)) for one in links]
    return [one for one in kept if one.uris]


def count(links: Sequence[Link]) -> int:
    """How many URIs there are."""
    return sum(len(one.uris) for one in links)


def _entries(told: Any) -> Iterator[Any]:
    if isinstance(told, list):
        yield from told
    elif isinstance(told, dict):
        for users in told.values():
            for entries in users.values() if isinstance(users, dict) else ():
                yield from entries if isinstance(entries, list) else ()


def _link(entry: Any) -> Link | None:
    if not isinstance(entry, dict):
        return None
    uris = entry.get("uris")
    given = [uris] if isinstance(uris, str) else uris if isinstance(uris, list) else []
    sound = tuple(dict.fromkeys(uri for uri in given if isinstance(uri, str) and uri and uri == _sound(uri)))
    nodes = entry.get("nodes")
    known = {
        uri: node
        for uri, node in (nodes.items() if isinstance(nodes, dict) else ())
        if isinstance(node, int) and not isinstance(node, bool) and 0 < node < _MAX_NODE
    }
    texts = [entry.get(name) for name in ("id", "reason", "created_at")]
    name, reason, created_at = (_sound(text)[:MAX_REASON_CHARS] if isinstance(text, str) else "" for text in texts)
    return Link(name, sound, reason, created_at, known) if sound else None


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
