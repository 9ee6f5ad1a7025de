"""The stores of a data directory, one per account, opened when they are first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from openviking.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from openviking.ingest.prepare import PREPARED, PathAnalyser
from openviking.ingest.presets import preset_directories
from openviking.model.identity import Identity
from openviking.store.batch import MakeDirectory
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore
from openviking.uri import is_identifier


@dataclass(slots=True)
class _Account:
    """One account's store, with a lock of its own: opening one may take long and keeps no other waiting.

    ``homes`` tells at which change number of the store each user's tree was last seen to be whole.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    store: AccountStore | None = None
    homes: dict[str, int] = field(default_factory=dict)


class Accounts:
    """Opens ``<data>/accounts/<account>`` for each account and keeps it open.

    Without ``create`` a directory that holds no data yet is a `NotFoundError`. ``introduce`` is told of each store
    that was opened.
    """

    def __init__(
        self, path: Path, *, create: bool = True, introduce: Callable[[AccountStore], None] = lambda _: None
    ) -> None:
        self._path = path
        self._introduce = introduce
        self._create = create
        self._lock = threading.Lock()
        self._accounts: dict[str, _Account] = {}
        self._closed = False

    @property
    def path(self) -> Path:
        """The data directory."""
        return self._path

    def store(self, identity: Identity) -> AccountStore:
        """The store of the caller's account, with the caller's own tree in it."""
        _check("account", identity.account)
        _check("user", identity.user)
        if identity.account.startswith("_"):
            raise InvalidArgumentError(
                f"The account {identity.account!r} may not start with '_'", account=identity.account
            )
        with self._lock:
            account = self._accounts.setdefault(identity.account, _Account())
        with account.lock:
            if self._closed:
                raise FailedPreconditionError("This OpenViking is closed", resource=str(self._path))
            if account.store is None:
                account.store = self._opened(identity.account)
            store = account.store
        self._keep_home(account, store, identity.user)
        return store

    def open_stores(self) -> list[AccountStore]:
        """The stores that are open now."""
        with self._lock:
            return [account.store for account in self._accounts.values() if account.store is not None]

    def close(self) -> None:
        """Close all stores, also one that is being opened at this moment."""
        self._closed = True
        with self._lock:
            accounts = list(self._accounts.values())
        for account in accounts:
            with account.lock:
                if account.store is not None:
                    account.store.close()
                    account.store = None

    def _opened(self, name: str) -> AccountStore:
        directory = self._path / "accounts" / name
        if not self._create and not directory.parent.is_dir():
            raise NotFoundError(str(self._path), "OpenViking data")
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
