"""The parts of a question that find, search and context have in common, as they go over the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from openviking_sdk.errors import InvalidArgumentError
from openviking_sdk.uri import full_uri, full_uris


class SessionLike(Protocol):
    """What names a session: the object that ``client.session()`` gives."""

    session_id: str


def target(target_uri: str | Sequence[str]) -> str | list[str] | None:
    """One address or several, in full; None for none."""
    if isinstance(target_uri, str):
        return full_uri(target_uri) if target_uri else None
    return full_uris(list(target_uri)) if target_uri else None


def list_or_text(value: str | Sequence[str] | None) -> str | list[str] | None:
    """A sequence as a list, a text as it is."""
    return value if value is None or isinstance(value, str) else list(value)


def session_named(session_id: str | None, session: SessionLike | None) -> str | None:
    """The id of the session that is named by its id or given. Raises `InvalidArgumentError` for two of them."""
    if session is None:
        return session_id
    if session_id is not None and session_id != session.session_id:
        raise InvalidArgumentError(f"Two sessions are given: {session_id!r} and {session.session_id!r}")
    return session.session_id
