"""How nodes look in a listing: as URIs, for agents, or with everything that `stat` tells."""

from __future__ import annotations

from typing import Any, Final

from openviking.clock import iso
from openviking.ingest.sidecars import CurrentSidecars
from openviking.model.identity import Identity
from openviking.model.node import Node
from openviking.service.targets import may_tell
from openviking.store.port import View
from openviking.uri import URI

FILE_MODE: Final = 0o644
DIRECTORY_MODE: Final = 0o755


class Listed:
    """The entries of one listing: URIs if ``simple``, else objects for agents or (``output`` ``original``) like `stat`."""

    def __init__(
        self, view: View, identity: Identity, *, simple: bool, output: str, abs_limit: int, below: URI | None = None
    ) -> None:
        self._identity = identity
        self._sidecars = CurrentSidecars(view)
        self._simple, self._output, self._abs_limit, self._below = simple, output, abs_limit, below

    def entry(self, node: Node) -> Any:
        """The node as it is listed; in a tree with its path relative to the directory ``below``."""
        if self._simple:
            return str(node.uri)
        listed = original_form(node) if self._output == "original" else self._for_agents(node)
        if self._below is not None:
            listed.pop("meta", None)
            listed["rel_path"] = node.uri.below(self._below)
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
        return text if len(text) <= self._abs_limit else text[: max(self._abs_limit - 3, 0)] + "..."


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
