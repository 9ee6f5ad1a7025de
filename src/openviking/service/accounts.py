"""The stores of a data directory, one per account, opened when they are first needed."""

from __future__ import annotations

import threading
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


class Accounts:
    """Opens ``<data>/accounts/<account>`` for each account and keeps it open.

    Without ``create`` a directory that holds no data yet is a `NotFoundError`.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self._path = path
        self._create = create
        self._lock = threading.Lock()
        self._stores: dict[str, AccountStore] = {}
        self._homes: set[tuple[str, str]] = set()
        self._closed = False

    def store(self, identity: Identity) -> AccountStore:
        """The store of the caller's account, with the caller's own tree in it."""
        with self._lock:
            if self._closed:
                raise FailedPreconditionError("This OpenViking is closed", resource=str(self._path))
            store = self._stores.get(identity.account)
            if store is None:
                _check("account", identity.account)
                if identity.account.startswith("_"):
                    raise InvalidArgumentError(
                        f"The account {identity.account!r} may not start with '_'", account=identity.account
                    )
                directory = self._path / "accounts" / identity.account
                if not self._create and not directory.parent.is_dir():
                    raise NotFoundError(str(self._path), "data directory")
                store = SqliteStore(directory, PathAnalyser())
                self._stores[identity.account] = store
                with store.read() as view:
                    outdated = bool(view.outdated(PREPARED, 1))
                if outdated:
                    store.jobs.enqueue(NewJob("prepare", "", {}))
        if (identity.account, identity.user) not in self._homes:
            self._make_home(store, identity)
        return store

    def open_stores(self) -> list[AccountStore]:
        """The stores that are open now."""
        with self._lock:
            return list(self._stores.values())

    def close(self) -> None:
        """Close all stores."""
        with self._lock:
            self._closed = True
            for store in self._stores.values():
                store.close()
            self._stores.clear()

    def _make_home(self, store: AccountStore, identity: Identity) -> None:
        _check("user", identity.user)
        wanted = preset_directories(identity.user)
        with store.read() as view:
            missing = [path for path in wanted if view.get(path) is None]
        if missing:
            store.apply([MakeDirectory(path, exist_ok=True) for path in missing])
        self._homes.add((identity.account, identity.user))


def _check(kind: str, value: str) -> None:
    if not is_identifier(value):
        raise InvalidArgumentError(
            f"{value!r} is not a valid {kind} id: letters, digits and _ . @ - only, at most one @", **{kind: value}
        )
