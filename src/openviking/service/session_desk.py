"""Where a caller's session is, and what all that is done with one needs."""

from __future__ import annotations

from collections.abc import Callable

from openviking.config.settings import SessionSettings
from openviking.errors import NotFoundError
from openviking.index.tags import accepted_tags
from openviking.model.identity import Identity
from openviking.model.session import Session, Settings, auto_commit_policy, session_uri
from openviking.service.accounts import Accounts
from openviking.service.extraction import Extraction
from openviking.service.worker import Worker
from openviking.store.batch import MakeDirectory
from openviking.store.port import AccountStore
from openviking.store.sessions import MakeSession
from openviking.uri import URI


class SessionDesk:
    """The conversations of the caller alone; an actor peer makes no difference to them."""

    def __init__(
        self,
        accounts: Accounts,
        worker: Worker,
        settings: SessionSettings | None = None,
        expect: Callable[[int], None] = lambda _: None,
        extraction: Extraction | None = None,
    ) -> None:
        self._accounts = accounts
        self._worker = worker
        self._settings = settings or SessionSettings()
        self._expect = expect
        self._extraction = extraction or Extraction()

    def _expect_idle(self, session: Session) -> None:
        """Tell the clock of idle sessions when it may have to look at this one."""
        policy = session.settings.auto_commit
        if policy is not None and policy["idle_timeout_seconds"] and session.last_message_at is not None:
            self._expect(session.last_message_at + policy["idle_timeout_seconds"] * 1000)

    @property
    def _unsaid(self) -> Settings:
        """The settings of a session that its maker says nothing of."""
        return Settings(auto_commit_policy({}) if self._settings.auto_commit else None)

    def _place(self, identity: Identity, session_id: str) -> tuple[AccountStore, URI]:
        uri = session_uri(identity.user, session_id)
        return self._accounts.store(identity), uri

    def _make(self, store: AccountStore, uri: URI, settings: Settings, *, exist_ok: bool) -> None:
        store.apply([MakeDirectory(uri.path, exist_ok=True), MakeSession(uri.path, settings, exist_ok)])
        self._worker.wake()


def existing(session: Session | None, uri: URI) -> Session:
    """``session`` if there is one; raises `NotFoundError`."""
    if session is None:
        raise NotFoundError(uri.name, "session")
    return session


def kept_tags(given: list[str] | None) -> tuple[str, ...] | None:
    """Those of ``given`` tags that are ``key=value``; None if none were given."""
    return None if given is None else accepted_tags(given)[0]
