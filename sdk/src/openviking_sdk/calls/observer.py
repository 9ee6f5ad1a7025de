"""What the server's parts are doing."""

from __future__ import annotations

from typing import Any

from openviking_sdk.call import Call
from openviking_sdk.observer import component


def get_status() -> Call[dict[str, Any]]:
    """The whole system: ``is_healthy``, ``errors``, and ``components`` by name."""
    return component("system")


def queue_status() -> Call[dict[str, Any]]:
    """The queues: ``name``, ``is_healthy``, ``has_errors``, and ``status``, a table for reading."""
    return component("queue")


def vikingdb_status() -> Call[dict[str, Any]]:
    """The index; fields as `queue_status`."""
    return component("vikingdb")


def models_status() -> Call[dict[str, Any]]:
    """The models; fields as `queue_status`."""
    return component("models")


def lock_status() -> Call[dict[str, Any]]:
    """The locks; fields as `queue_status`."""
    return component("lock")


def retrieval_status() -> Call[dict[str, Any]]:
    """Retrieval; fields as `queue_status`."""
    return component("retrieval")


def filesystem_status() -> Call[dict[str, Any]]:
    """The filesystem; fields as `queue_status`."""
    return component("filesystem")
