"""How skills look: as lists and single answers show them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from openviking.model.hit import Hit
from openviking.model.node import Node
from openviking.model.skill import FILE, Skill, skill_of_text
from openviking.store.port import View
from openviking.uri import ABSTRACT_NAME, OVERVIEW_NAME, URI

KINDS: Final = {FILE: "definition", ABSTRACT_NAME: "summary", OVERVIEW_NAME: "summary"}
"""What a file directly in a package is by its name; others are auxiliary."""


def packages_in(view: View, root: URI) -> list[str]:
    """The paths of the packages in a root, by name."""
    node = view.get(root.path)
    if node is None or not node.is_dir:
        return []
    directories = [child.path for child in view.children(root.path, hidden=False) if child.is_dir]
    return [path for path in directories if view.get(f"{path}/{FILE}") is not None]


def best_of(hits: Sequence[Hit], roots: Sequence[URI]) -> dict[str, Hit]:
    """The best hit of each package in rank order, by the path of its directory."""
    best: dict[str, Hit] = {}
    for hit in hits:
        for root in roots:
            if hit.uri.startswith(f"{root}/"):
                name = hit.uri.removeprefix(f"{root}/").partition("/")[0]
                best.setdefault(root.child(name).path, hit)
    return best


def definition(view: View, package: URI) -> str:
    """The text of a package's SKILL.md."""
    node = view.get(package.child(FILE).path)
    return "" if node is None else view.data(node).decode("utf-8", "replace")


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Skill:
    return skill_of_text(text)


def summary(view: View, package: URI) -> dict[str, Any]:
    """A stored skill as lists show it."""
    return described(_parsed(definition(view, package)), package.parent, package.name)


def described(skill: Skill, root: URI, name: str = "") -> dict[str, Any]:
    """A skill in a root as lists show it; ``name`` is that of its directory."""
    uri = root.child(name or skill.name)
    return {
        "type": "skill",
        "name": uri.name,
        "uri": str(uri),
        "root_uri": str(root),
        "skill_md_uri": str(uri.child(FILE)),
        "description": skill.description,
        "tags": list(skill.tags),
        "allowed_tools": list(skill.allowed_tools),
    }


def file_entry(package: URI, node: Node, *, integrity: bool) -> dict[str, Any]:
    """One file or directory of a package."""
    path = node.uri.below(package)
    kind = "directory" if node.is_dir else KINDS.get(path, "auxiliary")
    told: dict[str, Any] = {"name": node.name, "uri": str(node.uri), "path": path, "is_dir": node.is_dir, "kind": kind}
    if not node.is_dir:
        told["size"] = node.size
        if integrity and node.hash is not None:
            told["sha256"] = node.hash.hex()
    return told
