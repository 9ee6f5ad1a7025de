"""What a start makes good of what earlier processes left: accounts half removed, users half deleted, jobs of accounts that nobody has opened."""

from __future__ import annotations

import logging
from collections.abc import Callable

from openviking.errors import OpenVikingError
from openviking.service.accounts import Accounts
from openviking.service.keys import Keys
from openviking.service.places import ACCOUNTS, remove_place
from openviking.service.user_deletion import UserDeletions
from openviking.store.sqlite.peek import has_jobs
from openviking.store.system import Page, SystemStore

_log = logging.getLogger(__name__)
_AT_ONCE = 500


class Recovery:
    """Runs once at the start of a server, beside its requests: nothing of it has to be done before the first."""

    def __init__(
        self, accounts: Accounts, system: SystemStore, keys: Keys, deletions: UserDeletions, stopped: Callable[[], bool]
    ) -> None:
        self._accounts = accounts
        self._system = system
        self._keys = keys
        self._deletions = deletions
        self._stopped = stopped

    def run(self) -> None:
        """Everything, the urgent first; what fails is logged and tried again at the next start."""
        for what in (self.remove_places, self._deletions.resume, self._keys.harden, self.open_hinted, self.open_busy):
            if self._stopped():
                return
            try:
                what()
            except OpenVikingError as error:
                _log.warning("starting: %s", error.message)

    def remove_places(self) -> int:
        """Remove the data of removed accounts; how many places had some.

        All are looked at: a process that had one open may have written there after its removal.
        """
        removed = 0
        for place in self._system.removed_places():
            if self._stopped():
                break
            try:
                removed += remove_place(self._accounts.path, place)
            except OSError as error:
                _log.warning("the data at %s of a removed account can't be removed: %s", place, error.strerror)
        return removed

    def open_hinted(self) -> int:
        """Open the accounts that may have jobs and are not open, so that a worker does them; how many have some."""
        return sum(self._opened(account) for account in self._system.with_work())

    def open_busy(self) -> int:
        """Look into all registered accounts, whatever the hint says, and open those with jobs; how many have some."""
        busy = offset = 0
        while not self._stopped():
            accounts, _ = self._system.accounts(Page(limit=_AT_ONCE, offset=offset))
            busy += sum(self._opened(account.id) for account in accounts)
            offset += len(accounts)
            if not accounts:
                break
        return busy

    def _opened(self, account: str) -> bool:
        if self._stopped() or self._accounts.is_open(account):
            return False
        place = self._system.standing(account, "").place
        if not has_jobs(self._accounts.path / ACCOUNTS / place):
            return False
        try:
            self._accounts.of(account)
        except OpenVikingError as error:
            _log.warning("the account %s can't be opened: %s", account, error.message)
        return True
