"""The stores of a data directory, one per account, opened when they are first needed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from openviking.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpenVikingError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from openviking.ingest.prepare import PREPARED, PathAnalyser
from openviking.ingest.presets import preset_directories
from openviking.model.account import Standing
from openviking.model.identity import Identity, Role
from openviking.store.batch import MakeDirectory
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.system.store import FILE, SqliteSystem
from openviking.store.system import SystemStore
from openviking.uri import is_identifier


@dataclass(slots=True)
class _Account:
    """One account's store, with a lock of its own: opening one may take long and keeps no other waiting.

    ``homes`` tells at which change number of the store each user's tree was last seen to be whole, ``place`` where the
    store lies: an account that was removed and made again lies elsewhere.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    store: AccountStore | None = None
    place: str = ""
    homes: dict[str, int] = field(default_factory=dict)


class Accounts:
    """Opens ``<data>/accounts/<place>`` for each account and keeps it open.

    Without ``create`` a directory that holds no data yet is a `NotFoundError`. ``introduce`` is told of each store
    that was opened. ``system`` knows who is registered; without it the system database of the data directory is used if
    there is one, else an account's place is its id. With ``registered_only`` other accounts don't exist.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        introduce: Callable[[AccountStore], None] = lambda _: None,
        system: SystemStore | None = None,
        registered_only: bool = False,
    ) -> None:
        self._path = path
        self._introduce = introduce
        self._create = create
        self._system = system
        self._own_system: SystemStore | None = None
        self._registered_only = registered_only
        self._lock = threading.Lock()
        self._accounts: dict[str, _Account] = {}
        self._closed = False

    @property
    def path(self) -> Path:
        """The data directory."""
        return self._path

    def store(self, identity: Identity) -> AccountStore:
        """The store of the caller's account, with the caller's own tree in it.

        Raises `UnauthenticatedError` for a caller who is no longer registered, `FailedPreconditionError` for one who
        is being deleted.
        """
        _check("account", identity.account)
        _check("user", identity.user)
        if identity.account.startswith("_"):
            raise InvalidArgumentError(
                f"The account {identity.account!r} may not start with '_'", account=identity.account
            )
        account, store = self._open(identity.account, self._admitted(identity))
        self._keep_home(account, store, identity.user)
        return store

    def of(self, account: str) -> AccountStore:
        """The store of an account for work that is no caller's own."""
        _check("account", account)
        return self._open(account, self._standing(account, ""))[1]

    def _open(self, name: str, standing: Standing | None) -> tuple[_Account, AccountStore]:
        if self._registered_only and (standing is None or standing.account is None):
            raise NotFoundError(name, "account")
        with self._lock:
            account = self._accounts.setdefault(name, _Account())
        with account.lock:
            if self._closed:
                raise FailedPreconditionError("This OpenViking is closed", resource=str(self._path))
            if account.store is None or (standing is not None and account.place != standing.place):
                # Another thread may have seen a later state meanwhile.
                latest = self._standing(name, "")
                place = name if latest is None else latest.place
                if account.place != place:
                    self._release(account)
                if account.store is None:
                    account.store, account.place = self._opened(name, place), place
            return account, account.store

    def place(self, identity: Identity) -> str:
        """Where in the data directory the data of the caller's account lie; the account must be open."""
        return self.place_of(identity.account)

    def place_of(self, account: str) -> str:
        """Where in the data directory an open account's data lie."""
        with self._lock:
            return self._accounts[account].place

    def release(self, name: str, place: str) -> None:
        """Close the store of an account that lay at ``place`` and was removed."""
        with self._lock:
            account = self._accounts.get(name)
        if account is not None:
            with account.lock:
                if account.place == place:
                    self._release(account)

    def release_removed(self) -> None:
        """Close the stores of accounts that another process removed."""
        system = self._known_system()
        if system is None:
            return
        with self._lock:
            accounts = list(self._accounts.items())
        gone = set(system.removed_places())
        for name, account in accounts:
            if account.place in gone:
                self.release(name, account.place)

    @staticmethod
    def _release(account: _Account) -> None:
        if account.store is not None:
            account.store.close()
        account.store = None
        account.place = ""
        account.homes.clear()

    def _known_system(self) -> SystemStore | None:
        if self._system is not None or not (self._path / FILE).exists():
            return self._system
        with self._lock:
            if self._own_system is None and not self._closed:
                self._system = self._own_system = SqliteSystem(self._path)
            return self._system

    def _standing(self, account: str, user: str) -> Standing | None:
        system = self._known_system()
        return None if system is None else system.standing(account, user)

    def _admitted(self, identity: Identity) -> Standing | None:
        standing = self._standing(identity.account, identity.user)
        if standing is not None and standing.deletion is not None:
            raise FailedPreconditionError(
                f"The user {identity.user} is being deleted", resource=identity.user, task_id=standing.deletion
            )
        if identity.registration is not None and (standing is None or standing.user != identity.registration):
            raise UnauthenticatedError("The user of this key is no longer registered")
        return standing

    def check(self, identity: Identity) -> None:
        """Raises as `store` does for a caller whose account or user is gone, or going; opens nothing."""
        standing = self._admitted(identity)
        if self._registered_only and (standing is None or standing.account is None):
            raise NotFoundError(identity.account, "account")

    def is_open(self, name: str) -> bool:
        """Whether this process has an account's store open."""
        with self._lock:
            account = self._accounts.get(name)
        return account is not None and account.store is not None

    def identity_of(self, account: str, user: str, role: Role) -> Identity:
        """The user for whom work is done without a call, with the role of this moment; ``role`` for who is not registered.

        Raises `PermissionDeniedError` for one who may do nothing any more.
        """
        system = self._known_system()
        registered = None if system is None else system.user(account, user)
        if registered is None and not self._registered_only:
            return Identity(account, user, role)
        if registered is None or registered.deletion is not None:
            state = "is not registered" if registered is None else "is being deleted"
            raise PermissionDeniedError(f"The user {user} {state}", resource=user)
        return Identity(account, user, registered.role, registration=registered.number)

    def open_accounts(self) -> list[tuple[str, AccountStore]]:
        """The accounts that are open now, with their stores."""
        with self._lock:
            return [(name, account.store) for name, account in self._accounts.items() if account.store is not None]

    def open_stores(self) -> list[AccountStore]:
        """The stores that are open now."""
        with self._lock:
            return [account.store for account in self._accounts.values() if account.store is not None]

    def close(self) -> None:
        """Close all stores, also one that is being opened at this moment."""
        self._closed = True
        with self._lock:
            accounts = list(self._accounts.items())
        for name, account in accounts:
            with account.lock:
                self._note_idle(name, account)
                self._release(account)
        with self._lock:
            if self._own_system is not None:
                self._own_system.close()

    def _note_idle(self, name: str, account: _Account) -> None:
        """Tell the system store that an account has nothing left to be done, if so; that is a hint and may fail."""
        with contextlib.suppress(OpenVikingError):
            store = account.store
            if self._system is None or store is None or store.jobs.waiting() or store.watches.next_due() is not None:
                return
            if store.sessions.next_idle() is not None:
                return
            self._system.forget_work(name)

    def _opened(self, name: str, place: str) -> AccountStore:
        directory = self._path / "accounts" / place
        if not self._create and not directory.parent.is_dir():
            raise NotFoundError(str(self._path), "OpenViking data")
        if self._system is not None:
            self._system.note_work(name)
        store = SqliteStore(directory, PathAnalyser())
        with store.read() as view:
            outdated = bool(view.outdated(PREPARED, 1))
        if outdated:
            store.jobs.enqueue(NewJob("prepare", "", {}))
        self._introduce(store)
        return store

    @staticmethod
    def _keep_home(account: _Account, store: AccountStore, user: str) -> None:
        """Make what is missing of a user's tree; any process may have removed it since the last call."""
        wanted = preset_directories(user)
        with store.read() as view:
            change = view.change
            if account.homes.get(user) == change:
                return
            missing = any(view.get(path) is None for path in wanted)
        if missing:
            change = store.apply([MakeDirectory(path, exist_ok=True) for path in wanted]).change
        account.homes[user] = change


def _check(kind: str, value: str) -> None:
    if not is_identifier(value):
        raise InvalidArgumentError(
            f"{value!r} is not a valid {kind} id: letters, digits and _ . @ - only, at most one @", **{kind: value}
        )
