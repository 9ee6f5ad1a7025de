"""Sources that the server looks at again and again."""

from __future__ import annotations

from typing import Any

from openviking_sdk.call import Call, an_object, given
from openviking_sdk.errors import InvalidArgumentError
from openviking_sdk.uri import full_uri, segment


def list_watches(active_only: bool = False) -> Call[dict[str, Any]]:
    """``tasks``, each with ``task_id``, ``to_uri``, ``watch_interval`` (minutes), ``is_active``; and ``total``."""
    return Call(
        method="GET",
        path="/api/v1/watches",
        query=given(active_only=active_only or None),
        read=an_object,
        repeatable=True,
    )


def get_watch(task_id: str | None = None, to_uri: str | None = None) -> Call[dict[str, Any]]:
    """One watch, by its id or by what it fills. Raises `NotFoundError`."""
    return Call(method="GET", path=_path(task_id, to_uri), query=_query(to_uri), read=an_object, repeatable=True)


def update_watch(
    task_id: str | None = None,
    *,
    to_uri: str | None = None,
    watch_interval: float | None = None,
    is_active: bool | None = None,
    reason: str | None = None,
    instruction: str | None = None,
) -> Call[dict[str, Any]]:
    """Change a watch, and get it; what is None stays. ``watch_interval`` in minutes. Raises `NotFoundError`."""
    return Call(
        method="PATCH",
        path=_path(task_id, to_uri),
        query=_query(to_uri),
        body=given(watch_interval=watch_interval, is_active=is_active, reason=reason, instruction=instruction),
        read=an_object,
    )


def delete_watch(task_id: str | None = None, *, to_uri: str | None = None) -> Call[dict[str, Any]]:
    """Stop watching; what was added stays. Raises `NotFoundError`."""
    return Call(method="DELETE", path=_path(task_id, to_uri), query=_query(to_uri), read=an_object)


def trigger_watch(task_id: str | None = None, *, to_uri: str | None = None) -> Call[dict[str, Any]]:
    """Have a source looked at now; ``scheduled``, and the import as ``run_task_id``. Raises `NotFoundError`."""
    return Call(method="POST", path=f"{_path(task_id, to_uri)}/trigger", query=_query(to_uri), read=an_object)


def _path(task_id: str | None, to_uri: str | None) -> str:
    if task_id is None and not to_uri:
        raise InvalidArgumentError("Which watch? Give its task_id or its to_uri")
    return "/api/v1/watches" if task_id is None else f"/api/v1/watches/{segment(task_id, 'task_id')}"


def _query(to_uri: str | None) -> dict[str, Any]:
    return given(to_uri=None if to_uri is None else full_uri(to_uri))
