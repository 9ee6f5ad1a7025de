"""The methods of the embedded door for relations; named as those of the SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openviking.model.identity import Identity
from openviking.service.relations import Relations


class RelationMethods:
    """Mixed into `openviking.OpenViking`."""

    _identity: Identity
    _relations: Relations

    def relations(self, uri: str) -> list[dict[str, str]]:
        """What a directory is linked to, ``uri`` and ``reason`` each; of a file nothing. Raises `NotFoundError`."""
        return self._relations.relations(self._identity, uri)

    def link(self, from_uri: str, uris: str | Sequence[str], reason: str = "") -> dict[str, Any]:
        """Link a directory to one or more places; what it is linked to already gets the new ``reason``.

        Raises `NotFoundError`, `InvalidArgumentError` for a file as ``from_uri``.
        """
        return self._relations.link(self._identity, from_uri, uris, reason)

    def unlink(self, from_uri: str, uri: str) -> dict[str, str]:
        """Undo the link of a directory to ``uri``; one that is not there is no error. Raises `NotFoundError`."""
        return self._relations.unlink(self._identity, from_uri, uri)
