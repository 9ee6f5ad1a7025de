"""Turning watches that are due into imports, with the rights that their owners have at that moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from openviking.errors import OpenVikingError, PermissionDeniedError, UnauthenticatedError
from openviking.model.identity import Identity, Role
from openviking.model.watch import Watch
from openviking.service.access import check_import_target
from openviking.service.accounts import Accounts
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.uri import from_path

AT_ONCE: Final = 8
"""Looks of one store that are queued or under way at once: what a user adds waits behind these and no more."""

Again = Callable[[Identity, Watch, bool], NewJob]
"""Makes the job, with its task, that imports a watched source once more; the task is internal if nobody asked for it."""


class WatchRuns:
    """Begins the imports of watches; any number of processes may look at the same store."""

    def __init__(self, accounts: Accounts, again: Again) -> None:
        self._accounts = accounts
        self._again = again

    def look(self, account: str, store: AccountStore) -> int:
        """Begin what is due in a store; how many looks that are.

        The watch of a user who may do that no more is paused and says why; one whose import can't even be queued is
        put off like after a failed one. Raises what the stores raise when they don't answer.
        """
        return sum(bool(self._begun(account, store, watch)) for watch in store.watches.due(AT_ONCE))

    def begin(self, identity: Identity, store: AccountStore, watch: Watch) -> str:
        """Look now, because ``identity`` asks for it; the id of the task, "" if the watch changed meanwhile.

        Raises as the adding of the source does.
        """
        check_import_target(identity, from_path(watch.path), "to_uri")
        return store.watches.begin(watch, self._again(identity, watch, False), asked=True)

    def _begun(self, account: str, store: AccountStore, watch: Watch) -> str:
        try:
            identity = self._accounts.identity_of(account, watch.owner, cast("Role", watch.role))
            check_import_target(identity, from_path(watch.path), "to_uri")
        except PermissionDeniedError as error:
            store.watches.pause(watch.id, error.message)
            return ""
        try:
            job = self._again(identity, watch, True)
        except (PermissionDeniedError, UnauthenticatedError) as error:
            store.watches.pause(watch.id, error.message)
        except OpenVikingError as error:
            store.watches.put_off(watch.id, error.message)
        else:
            return store.watches.begin(watch, job)
        return ""
