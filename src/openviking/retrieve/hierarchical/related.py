"""What directories among the hits are linked to, as far as the caller may see it (contract/retrieval.md §8.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from openviking.errors import UnavailableError
from openviking.index.hidden_fields import visible
from openviking.index.relations import NAME, Link, parse_links
from openviking.model.hit import Hit
from openviking.model.node import Node
from openviking.retrieve.across import record
from openviking.store.port import View
from openviking.uri import SCHEME, URI, context_type

ABSTRACT_CHARS = 256

Place = Callable[[str], URI | None]
"""The URI of a text if it names something that the caller may read, else None."""

Tells = Callable[[URI], bool]
"""Whether the caller may read the sidecars of a directory."""


def links_of(view: View, directory: str) -> tuple[list[Link], Node | None]:
    """The links of the directory at a path, and their file; none where that can't be read."""
    node = view.get(f"{directory}/{NAME}")
    if node is None or node.is_dir:
        return [], None
    try:
        return parse_links(view.data(node)), node
    except UnavailableError:
        return [], node


def targets(view: View, links: Sequence[Link], place: Place) -> Iterator[tuple[Link, str, Node]]:
    """What links lead to, with the link and the URI as it stands there; what is gone or not to be seen is left out.

    What was moved since is where it is now.
    """
    for link in links:
        for text in link.uris:
            uri = place(text)
            if uri is None:
                continue
            known = link.nodes.get(text)
            node = None if known is None else view.by_id(known)
            if node is None:
                node = view.get(uri.path)
            if node is not None and node.path and place(str(node.uri)) is not None:
                yield link, text, node


def with_relations(view: View, hits: Sequence[Hit], most: int, place: Place, tells: Tells) -> tuple[Hit, ...]:
    """``hits`` of which directories tell at most ``most`` relations each, ``{uri, abstract, reason}``."""
    return tuple(
        hit if hit.level == 2 or most <= 0 else replace(hit, related=_related(view, hit, most, place, tells))
        for hit in hits
    )


def _related(view: View, hit: Hit, most: int, place: Place, tells: Tells) -> tuple[dict[str, str], ...]:
    directory = record(hit).removeprefix(SCHEME).rstrip("/")
    links, _ = links_of(view, directory)
    found: dict[str, dict[str, str]] = {}
    for link, _, node in targets(view, links, place):
        uri = str(node.uri)
        if uri not in found:
            found[uri] = {"uri": uri, "abstract": _abstract(view, node, tells), "reason": link.reason}
        if len(found) == most:
            break
    return tuple(found.values())


def _abstract(view: View, node: Node, tells: Tells) -> str:
    if node.is_dir:
        sidecars = view.sidecars(node.path) if tells(node.uri) else None
        return "" if sidecars is None else sidecars.abstract
    if context_type(node.path) != "memory":
        return node.abstract
    try:
        # Fields that a reader does not see are not shown here either.
        return visible(view.text(node) or "")[:ABSTRACT_CHARS]
    except UnavailableError:
        return ""
