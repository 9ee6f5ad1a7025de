"""Skills: directories with a ``SKILL.md``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from openviking_sdk.call import Call, Steps, an_object, given, with_options
from openviking_sdk.calls.system import waiting_for
from openviking_sdk.ignore import SendRules
from openviking_sdk.settings import UploadDefaults
from openviking_sdk.sources import local_path
from openviking_sdk.uploading import uploaded
from openviking_sdk.uri import full_uri, segment

SkillData: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""The path of a ``SKILL.md`` or its folder, the text of one, or an object with ``name``, ``description``, ``content``."""


def add_skill(
    defaults: UploadDefaults,
    data: SkillData,
    wait: bool = False,
    options: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    target_uri: str | None = None,
    source_metadata: Mapping[str, Any] | None = None,
    telemetry: bool | dict[str, Any] = False,
) -> Steps[dict[str, Any]]:
    """Add a skill: ``name``, ``uri``, ``root_uri``, ``auxiliary_files``; without ``wait`` a ``task_id``.

    ``data`` is the path of a ``SKILL.md`` or of its folder on this machine, the text of one, or an object with ``name``,
    ``description`` and ``content``, or a tool as MCP describes it. One of the same name is replaced. Secrets in it are
    replaced by placeholders: ``masked`` says in which lines, ``warnings`` in words. Raises `InvalidArgumentError`.
    """
    fields = with_options(_common(wait, timeout, target_uri, source_metadata, telemetry), options)
    fields |= yield from _sent(defaults, data)
    result: dict[str, Any] = yield Call(
        method="POST", path="/api/v1/skills", body=fields, read=an_object, seconds=waiting_for(fields)
    )
    return result


def update_skill(
    defaults: UploadDefaults,
    name: str,
    data: SkillData,
    wait: bool = False,
    options: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    target_uri: str | None = None,
    source_metadata: Mapping[str, Any] | None = None,
    telemetry: bool | dict[str, Any] = False,
) -> Steps[dict[str, Any]]:
    """Replace all files of a skill; ``data`` and result as in `add_skill`. Raises `NotFoundError`."""
    path = f"/api/v1/skills/{segment(name, 'name')}"
    fields = with_options(_common(wait, timeout, target_uri, source_metadata, telemetry), options)
    fields |= yield from _sent(defaults, data)
    result: dict[str, Any] = yield Call(
        method="PUT", path=path, body=fields, read=an_object, seconds=waiting_for(fields)
    )
    return result


def list_skills(node_limit: int | None = None, target_uri: str | None = None) -> Call[dict[str, Any]]:
    """``skills``, each with ``name``, ``uri``, ``description``, ``tags``; and ``total``. At most ``node_limit`` (1,000)."""
    return Call(
        method="GET",
        path="/api/v1/skills",
        query=given(node_limit=node_limit, target_uri=_uri(target_uri)),
        read=an_object,
        repeatable=True,
    )


def find_skills(
    query: str,
    limit: int | None = None,
    score_threshold: float | None = None,
    *,
    level: Sequence[int] | None = None,
    target_uri: str | None = None,
    telemetry: bool | dict[str, Any] = False,
) -> Call[dict[str, Any]]:
    """``skills`` that answer the query, best first, each with ``score``; and ``total``. At most ``limit`` (10)."""
    return Call(
        method="POST",
        path="/api/v1/skills/find",
        body=given(
            query=query,
            limit=limit,
            score_threshold=score_threshold,
            level=None if level is None else list(level),
            target_uri=_uri(target_uri),
            telemetry=telemetry or None,
        ),
        read=an_object,
        repeatable=True,
    )


def get_skill(
    name: str,
    include_content: bool | None = None,
    *,
    include_files: bool | None = None,
    include_integrity: bool = False,
    include_source: bool = False,
    level: Literal[0, 1, 2] | None = None,
    target_uri: str | None = None,
) -> Call[dict[str, Any]]:
    """One skill: ``name``, ``uri``, ``description``, ``tags``, ``files``, ``abstract``, ``overview``, ``content`` as asked.

    The caller's own goes before the shared one of the same name. Raises `NotFoundError`.
    """
    return Call(
        method="GET",
        path=f"/api/v1/skills/{segment(name, 'name')}",
        query=given(
            include_content=include_content,
            include_files=include_files,
            include_integrity=include_integrity or None,
            include_source=include_source or None,
            level=level,
            target_uri=_uri(target_uri),
        ),
        read=an_object,
        repeatable=True,
    )


def delete_skill(name: str, target_uri: str | None = None) -> Call[dict[str, Any]]:
    """Remove a skill; ``name``, ``uri``, ``root_uri``. Raises `NotFoundError`."""
    return Call(
        method="DELETE",
        path=f"/api/v1/skills/{segment(name, 'name')}",
        query=given(target_uri=_uri(target_uri)),
        read=an_object,
    )


def validate_skill(
    data: str | Mapping[str, Any],
    strict: bool = False,
    source_path: str | None = None,
    *,
    skill_dir_name: str | None = None,
    target_uri: str | None = None,
) -> Call[dict[str, Any]]:
    """Whether the text of a ``SKILL.md``, or an object, is a right skill: ``valid``, ``errors``, ``warnings``."""
    return Call(
        method="POST",
        path="/api/v1/skills/validate",
        body=given(
            data=data if isinstance(data, str) else dict(data),
            strict=strict or None,
            source_path=source_path,
            skill_dir_name=skill_dir_name,
            target_uri=_uri(target_uri),
        ),
        read=an_object,
        repeatable=True,
    )


def _sent(defaults: UploadDefaults, data: SkillData) -> Steps[dict[str, Any]]:
    """The field of the request that carries the skill."""
    if isinstance(data, Mapping):
        return {"data": dict(data)}
    local = local_path(data)
    if local is None:
        return {"data": os.fspath(data)}
    temp_file_id = yield from uploaded(local, SendRules(), defaults.mode)
    return {"temp_file_id": temp_file_id}


def _common(
    wait: bool,
    timeout: float | None,
    target_uri: str | None,
    source_metadata: Mapping[str, Any] | None,
    telemetry: bool | dict[str, Any],
) -> dict[str, Any]:
    return given(
        wait=wait or None,
        timeout=timeout,
        target_uri=_uri(target_uri),
        source_metadata=None if source_metadata is None else dict(source_metadata),
        telemetry=telemetry or None,
    )


def _uri(uri: str | None) -> str | None:
    return None if uri is None else full_uri(uri)
