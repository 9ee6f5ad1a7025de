"""glob: the files and directories whose relative path matches a pattern (contract/retrieval.md §6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from openviking.index.path_pattern import PathPattern
from openviking.model.matches import GlobResult
from openviking.model.node import Node
from openviking.store.port import View

FIELDS: Final = ("name", "path", "type", "size", "mode", "mtime", "locked", "id")


@dataclass(frozen=True, slots=True)
class GlobRequest:
    """A validated glob below each of ``paths``; patterns are matched against paths relative to ``base``.

    ``limit`` None means no limit; ``fields`` and ``tags`` are None unless given.
    """

    base: str
    paths: tuple[str, ...]
    pattern: PathPattern
    limit: int | None = 256
    fields: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    show_tags: bool = False


def glob(view: View, request: GlobRequest) -> GlobResult:
    """Matching nodes in order of their path components; files whose own name starts with a dot are left out."""
    found: list[Node] = []
    total = 0
    skip = len(request.base) + 1 if request.base else 0
    for path in request.paths:
        under = request.pattern.literal_prefix if path == request.base else ""
        depth = request.pattern.max_depth if path == request.base else None
        for entry in view.walk(path, depth=depth, hidden_files=False, tags=request.tags or (), under=under):
            if request.pattern.matches(entry.node.path[skip:]):
                total += 1
                if request.limit is None or len(found) < request.limit:
                    found.append(entry.node)
    show_tags = request.tags is not None or request.show_tags
    if request.fields is None and not show_tags:
        return GlobResult(tuple(f"{node.uri}/" if node.is_dir else str(node.uri) for node in found), total)
    tags = view.tags([node.id for node in found]) if show_tags else {}
    return GlobResult(
        tuple(_object(node, request.fields, tags.get(node.id, ()) if show_tags else None) for node in found), total
    )


def _object(node: Node, fields: Sequence[str] | None, tags: tuple[str, ...] | None) -> dict[str, Any]:
    out: dict[str, Any] = {"uri": str(node.uri)}
    if fields is not None:
        out["isDir"] = node.is_dir
        values = {
            "name": node.name,
            "path": node.path,
            "type": "dir" if node.is_dir else "file",
            "size": node.size,
            "mode": 0o755 if node.is_dir else 0o644,
            "mtime": node.updated_at / 1000,
            "locked": False,
            "id": node.record_id,
        }
        out.update({field: values[field] for field in FIELDS if field in fields})
    if tags is not None:
        out["tags"] = list(tags)
    return out
