"""How nodes look in a listing: as URIs, for agents, or with everything that `stat` tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from openviking.clock import iso
from openviking.errors import InvalidArgumentError
from openviking.index.limits import whole_number
from openviking.index.tags import accepted_tags
from openviking.ingest.sidecars import CurrentSidecars
from openviking.model.identity import Identity
from openviking.model.node import Node
from openviking.service.targets import may_tell
from openviking.store.port import View
from openviking.text import quoted
from openviking.uri import ABSTRACT_NAME, OVERVIEW_NAME, URI

FILE_MODE: Final = 0o644
DIRECTORY_MODE: Final = 0o755


EXTRA_FIELDS: Final = ("name", "path", "type", "size", "mode", "mtime", "locked", "id")
"""What can be asked for beside what a listing tells anyway (contract/retrieval.md §5); other names are ignored."""


@dataclass(frozen=True, slots=True)
class Details:
    """What a listing tells of each node beyond its usual keys, and the ``tags`` that all it lists must carry.

    ``abstract`` None is as usual: directories for agents; True gives every node's L0 in every output. ``overview``
    gives the L1, of at most ``overview_limit`` characters. A tag that is not ``key=value`` narrows nothing.
    """

    abstract: bool | None = None
    overview: bool = False
    overview_limit: int = 4000
    extra_fields: Sequence[str] = ()
    tags: Sequence[str] = ()
    include_tags: bool = False


class Listed:
    """The entries of one listing: URIs if ``simple``, else objects for agents or (``output`` ``original``) like `stat`."""

    def __init__(
        self,
        view: View,
        identity: Identity,
        *,
        simple: bool,
        output: str,
        abs_limit: int,
        below: URI | None = None,
        details: Details = Details(),
    ) -> None:
        self._view = view
        self._identity = identity
        self._sidecars = CurrentSidecars(view)
        self._simple, self._output, self._abs_limit, self._below = simple, output, abs_limit, below
        self._details = details
        self._overview_limit = whole_number(details.overview_limit, "overview_limit", minimum=0)
        if isinstance(details.extra_fields, str) or not all(isinstance(one, str) for one in details.extra_fields):
            raise InvalidArgumentError(
                f"extra_fields is {quoted(details.extra_fields)}, it must be a list of names", field="extra_fields"
            )
        self.wanted_tags = accepted_tags(details.tags)[0]

    def entries(self, nodes: Sequence[Node]) -> list[Any]:
        """The nodes as they are listed; in a tree with their paths relative to the directory ``below``."""
        tags = self._view.tags([node.id for node in nodes]) if self._details.include_tags and not self._simple else {}
        return [self._entry(node, tags.get(node.id, ())) for node in nodes]

    def _entry(self, node: Node, tags: Sequence[str]) -> Any:
        if self._simple:
            return str(node.uri)
        details = self._details
        listed = original_form(node) if self._output == "original" else self._for_agents(node)
        if self._below is not None:
            listed.pop("meta", None)
            listed["rel_path"] = node.uri.below(self._below)
        if details.abstract:
            listed["abstract"] = self._abstract(node) if node.is_dir else cut(node.abstract, self._abs_limit)
        elif details.abstract is False:
            listed.pop("abstract", None)
        if details.overview:
            listed["overview"] = cut(self._overview(node), self._overview_limit)
        if details.extra_fields:
            extra = _extra(node)
            listed |= {name: extra[name] for name in EXTRA_FIELDS if name in details.extra_fields}
        if details.include_tags:
            listed["tags"] = list(tags)
        return listed

    def _for_agents(self, node: Node) -> dict[str, Any]:
        return {
            "uri": str(node.uri),
            "size": node.size,
            "isDir": node.is_dir,
            "modTime": iso(node.updated_at),
            "abstract": self._abstract(node) if node.is_dir else "",
        }

    def _abstract(self, node: Node) -> str:
        """The L0 of a directory, but none that tells of what the caller may not see."""
        uri = node.uri
        text = self._sidecars.of(node.path).abstract if may_tell(self._identity, uri) else abstract_placeholder(uri)
        return cut(text, self._abs_limit)

    def _overview(self, node: Node) -> str:
        if not node.is_dir:
            return self._view.file_overview(node)
        uri = node.uri
        return self._sidecars.of(node.path).overview if may_tell(self._identity, uri) else overview_placeholder(uri)


def sidecar_nodes(view: View, identity: Identity, directory: URI) -> list[Node]:
    """The summaries of a directory as the files that `Content.read` gives them as; none that the caller may not read."""
    node = view.get(directory.path)
    if node is None or not directory.parts or not may_tell(identity, directory):
        return []
    sidecars = CurrentSidecars(view).of(directory.path)
    texts = {ABSTRACT_NAME: sidecars.abstract, OVERVIEW_NAME: sidecars.overview}
    return [
        replace(node, id=0, path=f"{node.path}/{name}", is_dir=False, size=len(text.encode()), kind="markdown")
        for name, text in texts.items()
    ]


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text; three dots say that there are more."""
    return text if len(text) <= limit else text[: max(limit - 3, 0)] + "..."


def record_id(node: Node) -> str:
    """What a node is known by wherever it is moved: 32 hexadecimal digits."""
    return node.record_id


def _extra(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "path": node.path,
        "type": "dir" if node.is_dir else "file",
        "size": node.size,
        "mode": DIRECTORY_MODE if node.is_dir else FILE_MODE,
        "mtime": node.updated_at / 1000,
        "locked": False,
        "id": record_id(node),
    }


def original_form(node: Node) -> dict[str, Any]:
    """Name, size, mode, time, kind and URI of a node."""
    return {
        "name": node.name,
        "size": node.size,
        "mode": DIRECTORY_MODE if node.is_dir else FILE_MODE,
        "modTime": iso(node.updated_at),
        "isDir": node.is_dir,
        "meta": {},
        "uri": str(node.uri),
    }


def abstract_placeholder(directory: URI) -> str:
    """What stands for an abstract that the caller may not read."""
    return f"# {directory} [Directory abstract is not ready]"


def overview_placeholder(directory: URI) -> str:
    """What stands for an overview that the caller may not read."""
    return f"# {directory}\n\n[Directory overview is not ready]"
