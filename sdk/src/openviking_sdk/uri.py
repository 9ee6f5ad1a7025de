"""Addresses as callers may shorten them, and names as parts of a request's path."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from openviking_sdk.errors import InvalidArgumentError

SCHEME: Final = "viking://"
_RECORD_ID: Final = re.compile(r"[0-9a-fA-F]{32}")
_OTHER_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def full_uri(uri: str) -> str:
    """The address with ``viking://`` before it; ``resources/a.md``, ``/resources/a.md`` and ``~/memories`` will do.

    Untouched are the empty string, an address that has a scheme, and the 32 hexadecimal digits of a record's id: the
    server says what is wrong with the first two, and resolves the third (contract/core.md §2.3, contract/retrieval.md
    §7). Raises `InvalidArgumentError` for what is no string.
    """
    if not isinstance(uri, str):
        raise InvalidArgumentError(f"An address is a string, not {type(uri).__name__}: {uri!r}")
    if not uri.strip() or _OTHER_SCHEME.match(uri) or _RECORD_ID.fullmatch(uri):
        return uri
    return SCHEME + uri.lstrip("/")


def full_uris(uris: str | list[str] | tuple[str, ...]) -> str | list[str]:
    """`full_uri` of one address or of each of several."""
    return full_uri(uris) if isinstance(uris, str) else [full_uri(uri) for uri in uris]


def segment(name: str, what: str) -> str:
    """``name`` as one segment of a request's path.

    Raises `InvalidArgumentError` for an empty name and for ``.`` and ``..``, which would lead to another route: removing
    the user ``..`` must not remove the account.
    """
    if not isinstance(name, str):
        raise InvalidArgumentError(f"{what} is a string, not {type(name).__name__}: {name!r}")
    if name in {"", ".", ".."}:
        raise InvalidArgumentError(f"{what} is {name!r}; it must be a name", details={"field": what, "value": name})
    try:
        return quote(name, safe="")
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{what} can't be written as UTF-8: {error}") from error
