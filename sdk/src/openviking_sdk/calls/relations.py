"""Links between directories and what belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openviking_sdk.call import Call, a_list, an_object, given
from openviking_sdk.uri import full_uri


def relations(uri: str) -> Call[list[dict[str, Any]]]:
    """What a directory is linked to, ``uri`` and ``reason`` each; of a file nothing. Raises `NotFoundError`."""
    return Call(method="GET", path="/api/v1/relations", query=given(uri=full_uri(uri)), read=a_list, repeatable=True)


def link(from_uri: str, uris: str | Sequence[str], reason: str = "") -> Call[dict[str, Any]]:
    """Link a directory to one or more places; what it is linked to already gets the new ``reason``.

    Raises `NotFoundError`, `InvalidArgumentError` for a file as ``from_uri``.
    """
    to_uris = [full_uri(uri) for uri in ([uris] if isinstance(uris, str) else uris)]
    body = {"from_uri": full_uri(from_uri), "to_uris": to_uris, **given(reason=reason or None)}
    return Call(method="POST", path="/api/v1/relations/link", body=body, read=an_object, repeatable=True)


def unlink(from_uri: str, uri: str) -> Call[dict[str, Any]]:
    """Undo the link of a directory to ``uri``; one that is not there is no error. Raises `NotFoundError`."""
    body = {"from_uri": full_uri(from_uri), "to_uri": full_uri(uri)}
    return Call(method="DELETE", path="/api/v1/relations/link", body=body, read=an_object, repeatable=True)
