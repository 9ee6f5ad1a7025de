"""Skills: listing, finding, showing, removing and checking them (contract/core.md §3.5)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from openviking.errors import InvalidArgumentError, OpenVikingError
from openviking.index.limits import whole_number
from openviking.ingest.sidecars import CurrentSidecars
from openviking.model.hit import Hit
from openviking.model.identity import Identity
from openviking.model.skill import FILE, Finding, Skill, findings
from openviking.service.listed import sidecar_nodes
from openviking.service.skill_adding import SkillAdding
from openviking.service.skill_desk import SOURCE
from openviking.service.skill_packages import check_text, skill_of
from openviking.service.skill_views import best_of, definition, file_entry, packages_in, summary
from openviking.store.batch import Remove
from openviking.text import quoted
from openviking.uri import URI, from_path

_WIDTH: Final = 4
"""Hits that are looked at for each wanted package at first: a package has several records."""


class Skills(SkillAdding):
    """The skills of the caller, and those that the account shares."""

    def ls(self, identity: Identity, *, node_limit: int = 1000, target_uri: str | None = None) -> dict[str, Any]:
        """The skills by name, the caller's own first; ``total`` counts all that there are."""
        limit = whole_number(node_limit, "node_limit", minimum=1)
        roots = self._roots(identity, target_uri)
        with self._accounts.store(identity).read() as view:
            packages = [path for root in roots for path in packages_in(view, root)]
            listed = [summary(view, from_path(path)) for path in packages[:limit]]
        return {"skills": listed, "total": len(packages), **_named(roots, target_uri)}

    def find(
        self,
        identity: Identity,
        query: str,
        *,
        limit: int = 10,
        score_threshold: float | None = None,
        level: int | str | Sequence[int] | None = None,
        target_uri: str | None = None,
    ) -> dict[str, Any]:
        """The best skills for a question, each once. Raises `InvalidArgumentError` for a blank one."""
        wanted = whole_number(limit, "limit", minimum=1)
        if not query.strip():
            raise InvalidArgumentError("query must not be empty", field="query")
        roots = self._roots(identity, target_uri)
        store = self._accounts.store(identity)
        with store.read() as view:
            there = [str(root) for root in roots if view.get(root.path) is not None]
        width = _WIDTH * wanted
        best: dict[str, Hit] = {}
        retrieval: dict[str, Any] = {}
        while there:
            found = self._search.find(
                identity, query, there, limit=width, score_threshold=score_threshold, context_type="skill", level=level
            )
            hits = [hit for hit in found if hit.context_type == "skill"]
            best = best_of(hits, roots)
            retrieval = {"retrieval": found.to_dict()["retrieval"]}
            if len(best) >= wanted or len(hits) < width:
                break
            width *= 4
        told = []
        with store.read() as view:
            for path, hit in list(best.items())[:wanted]:
                if view.get(f"{path}/{FILE}") is not None:
                    beside = {"score": hit.score, "match_reason": hit.match_reason, "level": hit.level}
                    abstract = CurrentSidecars(view).of(path).abstract
                    told.append({**summary(view, from_path(path)), **beside, "abstract": abstract})
        return {**_named(roots, target_uri), "skills": told, "total": len(told), **retrieval}

    def show(
        self,
        identity: Identity,
        name: str,
        *,
        target_uri: str | None = None,
        include_content: bool | None = None,
        include_files: bool = True,
        include_integrity: bool = False,
        include_source: bool = False,
        level: int | None = None,
    ) -> dict[str, Any]:
        """A skill: the caller's own, else the shared one of that name.

        ``level`` 0 gives its abstract, 1 the overview too, 2 (and none) the content too, unless ``include_content``
        says otherwise. Raises `NotFoundError`, `InvalidArgumentError` for another level.
        """
        if level is not None and (isinstance(level, bool) or level not in (0, 1, 2)):
            raise InvalidArgumentError(f"level must be 0, 1 or 2, not {quoted(level)}", field="level")
        with self._accounts.store(identity).read() as view:
            package = self._found(view, identity, name, target_uri)
            sidecars = CurrentSidecars(view).of(package.path)
            told = summary(view, package) | {"abstract": sidecars.abstract}
            if level != 0:
                told["overview"] = sidecars.overview
            if include_content if include_content is not None else level in (None, 2):
                told["content"] = definition(view, package)
            entries = [one.node for one in view.walk(package.path) if one.node.name != SOURCE]
            if include_files:
                listed = (*sidecar_nodes(view, identity, package), *entries)
                told["files"] = [file_entry(package, node, integrity=include_integrity) for node in listed]
            if include_integrity:
                hashes = {node.uri.below(package): node.hash.hex() for node in entries if node.hash is not None}
                told["content_sha256"] = hashes.get(FILE)
                joined = "".join(f"{path}\0{digest}\n" for path, digest in sorted(hashes.items()))
                told["revision"] = hashlib.sha256(joined.encode()).hexdigest()
            if include_source:
                node = view.get(package.child(SOURCE).path)
                told["source"] = None if node is None else json.loads(view.data(node))
        return told

    def delete(self, identity: Identity, name: str, *, target_uri: str | None = None) -> dict[str, Any]:
        """Remove a skill with all its files. Raises `NotFoundError`."""
        store = self._accounts.store(identity)
        with store.read() as view:
            package = self._found(view, identity, name, target_uri)
        removed = store.apply([Remove(package.path, recursive=True)]).outcomes[0].count
        self._worker.wake()
        return {
            "name": name,
            "uri": str(package),
            "root_uri": str(package.parent),
            "estimated_deleted_count": removed,
            "privacy_deleted": False,
        }

    def validate(
        self,
        identity: Identity,
        data: Any,
        *,
        strict: bool = False,
        source_path: str | None = None,
        skill_dir_name: str | None = None,
        target_uri: str | None = None,
    ) -> dict[str, Any]:
        """Which rules a skill breaks; nothing is stored, and a broken one is no error."""
        self._root(identity, target_uri)
        try:
            skill = skill_of(data)
        except OpenVikingError as error:
            skill = Skill("", fault=error.message)
        try:
            check_text(skill)
        except OpenVikingError as error:
            skill = replace(skill, fault=skill.fault or error.message)
        errors, warnings = findings(skill, strict=strict, directory=skill_dir_name or "")
        return {
            "valid": not errors,
            "strict": strict,
            "name": skill.name,
            "description": skill.description,
            "tags": list(skill.tags),
            "allowed_tools": list(skill.allowed_tools),
            "body_lines": skill.body_lines,
            "source_path": source_path,
            "skill_dir_name": skill_dir_name,
            "errors": list(map(Finding.to_dict, errors)),
            "warnings": list(map(Finding.to_dict, warnings)),
        }


def _named(roots: Sequence[URI], target_uri: str | None) -> dict[str, Any]:
    return {"root_uri": str(roots[0])} if target_uri else {"root_uris": [str(root) for root in roots]}
