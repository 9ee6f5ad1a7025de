"""The session that a call of context mode belongs to: made when it is unknown, and what was served in its turns.

The ledger is a file of the session, ``.recall_log.json``. It is written by compare-and-swap in a transaction of its own:
of several requests at once each adds what it served, and none undoes another's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from openviking.context.ledger import FILE, turn_of
from openviking.errors import AlreadyExistsError, ConflictError, OpenVikingError
from openviking.ingest.prepare import prepare
from openviking.model.hit import Degradation
from openviking.model.identity import Identity
from openviking.model.session import Settings
from openviking.service.session_desk import SessionDesk
from openviking.store.batch import PutFile
from openviking.store.port import AccountStore
from openviking.uri import URI

ATTEMPTS: Final = 100
"""Times that a writer of the ledger looks again because another was faster."""

STAGE: Final = "session"
"""The stage of an answer that is without its session."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """A session as a call finds it: the number of its turn, and the text of its ledger, None if there is none.

    ``made``: it is new by this call.
    """

    uri: URI
    turn: int
    ledger: str | None
    made: bool = False


class ContextSessions(SessionDesk):
    """Sessions as context mode uses them."""

    def opened(self, identity: Identity, session_id: str) -> tuple[Opened | None, tuple[Degradation, ...]]:
        """The caller's session, which is made if it is unknown; None, and why, where it can't be had."""
        try:
            store, uri = self._place(identity, session_id)
            found = _opened(store, uri)
            if found is None:
                self._make(store, uri, Settings(), exist_ok=True)
                found = _opened(store, uri)
                found = None if found is None else replace(found, made=True)
        except OpenVikingError as error:
            return None, (Degradation(STAGE, error.message),)
        return found, ()

    def note(self, identity: Identity, opened: Opened, changed: Callable[[str | None], str]) -> bool:
        """Write what ``changed`` makes of the ledger's present text; whether that was possible."""
        try:
            store = self._accounts.store(identity)
            for _ in range(ATTEMPTS):
                with store.read() as view:
                    node = view.get(opened.uri.child(FILE).path)
                    text = None if node is None else _text(view.data(node))
                try:
                    store.apply([_putting(opened.uri, changed(text), None if node is None else node.hash)])
                except (ConflictError, AlreadyExistsError):
                    continue
                return True
        except OpenVikingError as error:
            _log.warning("what was served in %s could not be noted: %s", opened.uri, error.message)
        return False


def _opened(store: AccountStore, uri: URI) -> Opened | None:
    with store.read() as view:
        session = store.sessions.get(uri.path)
        if session is None:
            return None
        node = view.get(uri.child(FILE).path)
        text = None if node is None else _text(view.data(node))
        return Opened(uri, turn_of(session.total, session.messages), text)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _putting(session: URI, text: str, base: bytes | None) -> PutFile:
    content = prepare(FILE, text.encode(), bookkeeping=True)
    # A session that was removed meanwhile does not come back as a directory.
    return PutFile(session.child(FILE).path, content, "create" if base is None else "replace", base, below=session.path)
