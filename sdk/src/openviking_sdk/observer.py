"""What the server's parts are doing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openviking_sdk.call import Call, an_object


def component(name: str) -> Call[dict[str, Any]]:
    """One part of the server by the name of its route."""
    return Call(method="GET", path=f"/api/v1/observer/{name}", read=an_object, repeatable=True)


class Observer:
    """What the server's parts are doing, as attributes that ask the server when they are read."""

    def __init__(self, send: Callable[[Call[dict[str, Any]]], dict[str, Any]]) -> None:
        self._send = send

    @property
    def system(self) -> dict[str, Any]:
        """The whole system, as ``get_status()``."""
        return self._send(component("system"))

    @property
    def queue(self) -> dict[str, Any]:
        """The queues."""
        return self._send(component("queue"))

    @property
    def vikingdb(self) -> dict[str, Any]:
        """The index."""
        return self._send(component("vikingdb"))

    @property
    def models(self) -> dict[str, Any]:
        """The models."""
        return self._send(component("models"))

    @property
    def lock(self) -> dict[str, Any]:
        """The locks."""
        return self._send(component("lock"))

    @property
    def retrieval(self) -> dict[str, Any]:
        """Retrieval."""
        return self._send(component("retrieval"))

    @property
    def filesystem(self) -> dict[str, Any]:
        """The filesystem."""
        return self._send(component("filesystem"))
