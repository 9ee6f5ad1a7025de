"""Commits sessions in which nobody has spoken for the idle time of their policy (contract/core.md §3.6)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from openviking.clock import now_ms
from openviking.config.settings import SessionSettings
from openviking.errors import NotFoundError, OpenVikingError, UnavailableError
from openviking.model.session import Retention
from openviking.service.due_clock import DueClock
from openviking.session.commit import commit
from openviking.store.port import AccountStore
from openviking.uri import from_path

BUSY_S: Final = 0.01
"""The sleep while more sessions are due than a batch has."""

PUT_OFF_MS: Final = 60_000
"""How long a session that could not be committed keeps no other waiting."""

_log = logging.getLogger(__name__)


class IdleSessions:
    """The clock of a process that has stores open; any process may commit a session, and only one does."""

    def __init__(
        self,
        stores: Callable[[], list[tuple[str, AccountStore]]],
        wake: Callable[[], None],
        settings: SessionSettings,
        now: Callable[[], int] = now_ms,
    ) -> None:
        self._settings = settings
        self._now = now
        self.clock = DueClock(
            "idle sessions", stores, lambda store: store.sessions.next_idle(), self.look, wake, now,
            tick_s=settings.idle_interval, busy_s=max(settings.idle_pause, BUSY_S),
        )  # fmt: skip

    def start(self) -> None:
        """Begin to look, unless it is configured that nothing is committed for being idle."""
        if self._settings.idle_commit:
            self.clock.start()

    def stop(self) -> None:
        """End the thread."""
        self.clock.stop()

    def look(self, account: str, store: AccountStore) -> int:
        """Commit a batch of the sessions whose time has come; how many commits that are.

        What is left comes with the next look, which follows at once, or after the pause that is configured: so one
        account with many keeps the others waiting for a batch at most.
        """
        return sum(
            self._commit(account, store, path)
            for path in store.sessions.idle(self._now(), self._settings.idle_batch)
            if not self.clock.stopping()
        )

    def _commit(self, account: str, store: AccountStore, path: str) -> int:
        session = store.sessions.get(path)
        policy = None if session is None else session.settings.auto_commit
        if session is None or policy is None:
            return 0
        uri = from_path(path)
        try:
            committed = commit(
                store, uri, Retention(policy["keep_recent_count"]), owner=uri.parts[1],
                tags=session.settings.event_tags, automatic=True,
            )  # fmt: skip
        except UnavailableError:
            # The store is out: all others would meet that too.
            raise
        except NotFoundError:
            return 0
        except OpenVikingError as error:
            _log.warning("the idle session %s of %s could not be committed: %s", uri, account, error.message)
            store.sessions.put_off(path, self._now() + PUT_OFF_MS)
            return 0
        if not committed.number:
            store.sessions.put_off(path, self._now() + PUT_OFF_MS)
        return int(bool(committed.number))
