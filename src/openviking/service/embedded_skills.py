"""The methods of the embedded door that have to do with skills, named as those of the SDK."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.model.identity import Identity
from openviking.service.skill_packages import is_path
from openviking.service.skills import Skills
from openviking.text import quoted


class SkillMethods:
    """Mixed into `openviking.OpenViking`."""

    _identity: Identity
    _skills: Skills

    def add_skill(
        self,
        data: str | os.PathLike[str] | Mapping[str, Any],
        wait: bool = False,
        *,
        skills: Sequence[str] | None = None,
        list_only: bool = False,
        timeout: float | None = None,
        target_uri: str | None = None,
        source_metadata: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Add a skill: ``name``, ``uri``, ``root_uri``, ``auxiliary_files``; of several a list ``skills``.

        ``data`` is the path of a ``SKILL.md``, of a zip or of a folder with one in any of its directories, the text of
        one, or an object with ``name``, ``description`` and ``content``, or a tool as MCP describes it. One of the same
        name is replaced. ``skills`` names which of them; ``list_only`` stores nothing. Secrets in a skill are replaced by
        placeholders: ``masked`` says in which lines, ``warnings`` in words. Raises `InvalidArgumentError`.
        """
        return self._skills.add(
            self._identity, _local(data), skills=skills, list_only=list_only, source_metadata=source_metadata,
            target_uri=target_uri, wait=wait, timeout=timeout,
        )  # fmt: skip

    def update_skill(
        self,
        name: str,
        data: str | os.PathLike[str] | Mapping[str, Any],
        wait: bool = False,
        *,
        timeout: float | None = None,
        target_uri: str | None = None,
        source_metadata: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Replace all files of a skill; ``data`` and result as in `add_skill`. Raises `NotFoundError`."""
        return self._skills.update(
            self._identity, name, _local(data), source_metadata=source_metadata, target_uri=target_uri, wait=wait,
            timeout=timeout,
        )  # fmt: skip

    def list_skills(self, node_limit: int = 1000, target_uri: str | None = None) -> dict[str, Any]:
        """``skills``, each with ``name``, ``uri``, ``description``, ``tags``; and ``total``."""
        return self._skills.ls(self._identity, node_limit=node_limit, target_uri=target_uri)

    def find_skills(
        self,
        query: str,
        limit: int = 10,
        score_threshold: float | None = None,
        *,
        level: int | str | Sequence[int] | None = None,
        target_uri: str | None = None,
    ) -> dict[str, Any]:
        """``skills`` that answer the query, best first, each with ``score``; and ``total``."""
        return self._skills.find(
            self._identity, query, limit=limit, score_threshold=score_threshold, level=level, target_uri=target_uri
        )

    def get_skill(
        self,
        name: str,
        include_content: bool | None = None,
        *,
        include_files: bool = True,
        include_integrity: bool = False,
        include_source: bool = False,
        level: int | None = None,
        target_uri: str | None = None,
    ) -> dict[str, Any]:
        """One skill: ``name``, ``uri``, ``description``, ``tags``, ``files``, ``abstract``, ``overview``, ``content`` as asked.

        The caller's own goes before the shared one of the same name. Raises `NotFoundError`.
        """
        return self._skills.show(
            self._identity, name, target_uri=target_uri, include_content=include_content, include_files=include_files,
            include_integrity=include_integrity, include_source=include_source, level=level,
        )  # fmt: skip

    def delete_skill(self, name: str, target_uri: str | None = None) -> dict[str, Any]:
        """Remove a skill; ``name``, ``uri``, ``root_uri``. Raises `NotFoundError`."""
        return self._skills.delete(self._identity, name, target_uri=target_uri)

    def validate_skill(
        self,
        data: str | Mapping[str, Any],
        strict: bool = False,
        source_path: str | None = None,
        *,
        skill_dir_name: str | None = None,
        target_uri: str | None = None,
    ) -> dict[str, Any]:
        """Whether the text of a ``SKILL.md``, or an object, is a right skill: ``valid``, ``errors``, ``warnings``.

        Raises `InvalidArgumentError` for a path: that is to be read first.
        """
        if isinstance(data, str) and is_path(data):
            raise InvalidArgumentError(
                f"data is {quoted(data)}, a path: give the text of its SKILL.md instead",
                field="data",
                value=quoted(data),
            )
        return self._skills.validate(
            self._identity, data, strict=strict, source_path=source_path, skill_dir_name=skill_dir_name,
            target_uri=target_uri,
        )  # fmt: skip


def _local(data: str | os.PathLike[str] | Mapping[str, Any]) -> Any:
    """``data`` as a `Path` where it names something on this machine."""
    if isinstance(data, os.PathLike):
        return Path(data).expanduser()
    if isinstance(data, str) and data.strip() and "\n" not in data:
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            path = Path(data).expanduser()
            if path.exists():
                return path
        if is_path(data):
            raise NotFoundError(quoted(data), "path")
    return data
