"""Which nodes a commit counts as used: those that the session told of, as far as its user may see them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from openviking.errors import OpenVikingError
from openviking.store.port import AccountStore, View
from openviking.store.sessions import CountUses
from openviking.uri import SIDECAR_NAMES, URI, parse, split_citation

MOST: Final = 10_000
"""Nodes that one commit counts at most."""


def count_of(store: AccountStore, view: View, session: URI) -> CountUses | None:
    """The operation that counts what ``session`` used since its last commit; None if nothing is to be counted.

    Each node counts once. A citation (``#L3-L9``) means its file, a sidecar its directory. What is no URI, is gone or
    belongs to another user is left out.
    """
    uris, up_to = store.sessions.uncounted(session.path)
    if not up_to:
        return None
    user = session.parts[1]
    paths = dict.fromkeys(path for uri in uris if (path := _path(uri, user)) is not None)
    there = [path for path in paths if path and view.get(path) is not None]
    return CountUses(session.path, tuple(there[:MOST]), up_to)


def _path(text: str, user: str) -> str | None:
    try:
        uri = parse(split_citation(text)[0], user=user, today=datetime.now(tz=UTC).date())
    except OpenVikingError:
        return None
    if uri.name in SIDECAR_NAMES:
        uri = uri.parent
    return None if uri.scope == "user" and uri.parts[1:2] != (user,) else uri.path
