"""Accounts, users and keys for those who administer them (contract/core.md §3.10)."""

from __future__ import annotations

import logging
from typing import Any, Final, cast

from openviking.clock import iso
from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.model.account import Account, NewUser, User, checked_account_id, checked_user_id
from openviking.model.identity import Identity, Role
from openviking.model.listing import Listing
from openviking.service.accounts import Accounts
from openviking.service.admin_rights import check_administers, check_keys, check_root
from openviking.service.admin_settings import account_view, changed_account, changed_user, checked_object
from openviking.service.authentication import Mode
from openviking.service.keys import Keys
from openviking.service.places import remove_place
from openviking.service.user_deletion import UserDeletions
from openviking.service.worker import Worker
from openviking.store.batch import Remove
from openviking.store.system import Page, Settings, SystemStore
from openviking.text import quoted
from openviking.uri import URI

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 10_000
MAX_PATTERN_CHARS: Final = 256

_log = logging.getLogger(__name__)


class Admin:
    """Changes who is registered. In ``trusted`` mode a gateway knows its users, so no answer holds a key."""

    def __init__(
        self,
        accounts: Accounts,
        worker: Worker,
        system: SystemStore,
        keys: Keys,
        deletions: UserDeletions,
        mode: Mode,
    ) -> None:
        self._accounts = accounts
        self._worker = worker
        self._system = system
        self._keys = keys
        self._deletions = deletions
        self._mode = mode

    def create_account(
        self,
        identity: Identity,
        account_id: str,
        admin_user_id: str,
        *,
        seed: str | None = None,
        user_config: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Register an account with its first user, an admin; the key is told this once.

        Raises `PermissionDeniedError`, `InvalidArgumentError`, `AlreadyExistsError`.
        """
        self._check_root(identity)
        account, user = checked_account_id(account_id), checked_user_id(admin_user_id)
        text, record = self._keys.issue(account, user, seed)
        first = NewUser(user, "admin", record, _config(user_config))
        self._system.create_account(account, changed_account({}, settings or {}), first)
        return self._with_key({"account_id": account, "admin_user_id": user}, text)

    def accounts(
        self,
        identity: Identity,
        *,
        name: str | None = None,
        query: str | None = None,
        limit: int | None = None,
        page: int = 1,
    ) -> Listing:
        """Accounts by id; ``name`` is a pattern for the id, ``query`` a part of it, pages are counted from 1."""
        self._check_root(identity)
        wanted = _page(name, query, limit, page)
        found, total = self._system.accounts(wanted)
        entries = [{"account_id": one.id, "created_at": iso(one.created_at), "user_count": one.users} for one in found]
        return Listing(entries, total=total, has_more=wanted.offset + len(found) < total)

    def account(self, identity: Identity, account_id: str) -> dict[str, Any]:
        """One account; raises `NotFoundError`."""
        found = self._account(identity, account_id)
        return {
            "account_id": found.id,
            "created_at": iso(found.created_at),
            "user_count": found.users,
            "status": "active",
        }

    def delete_account(self, identity: Identity, account_id: str) -> dict[str, Any]:
        """Remove an account with its users and all data. Its keys stop at once, its id is free again.

        Data that can't be removed at this moment are at the next start; nobody reads them until then. Raises
        `NotFoundError`.
        """
        self._check_root(identity)
        account = checked_account_id(account_id)
        place = self._system.remove_account(account)
        self._accounts.release(account, place)
        try:
            remove_place(self._accounts.path, place)
        except OSError as error:
            _log.warning("the data of account %s are not removed yet: %s", account, error.strerror)
        return {"deleted": True}

    def account_settings(self, identity: Identity, account_id: str) -> dict[str, Any]:
        """The settings of an account, and which of them were changed."""
        return account_view(account_id, self._account(identity, account_id).settings)

    def change_account_settings(self, identity: Identity, account_id: str, change: Settings) -> dict[str, Any]:
        """Change settings of an account; what is not named stays."""
        self._account(identity, account_id)
        changed = self._system.change_account_settings(account_id, lambda old: changed_account(old, change))
        return account_view(account_id, changed)

    def register_user(
        self,
        identity: Identity,
        account_id: str,
        user_id: str,
        role: str = "user",
        *,
        seed: str | None = None,
        user_config: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Register a user; the key is told this once.

        Raises `NotFoundError` for the account, `AlreadyExistsError`, `InvalidArgumentError`, and
        `FailedPreconditionError` while the data of an earlier user of that id are being removed.
        """
        account = self._account(identity, account_id).id
        user = checked_user_id(user_id)
        if role not in {"user", "admin"}:
            raise InvalidArgumentError(f"role must be user or admin, not {quoted(role)}", field="role")
        text, record = self._keys.issue(account, user, seed)
        added = NewUser(user, cast("Role", role), record, _config(user_config))
        store = self._accounts.of(account)

        def clear() -> None:
            # A call that began before the earlier user was deleted may have come to its end after that.
            store.apply([Remove(URI(("user", user)).path, recursive=True)])
            store.tasks.forget(user, but="")

        self._system.add_user(account, added, clear)
        return self._with_key({"account_id": account, "user_id": user}, text)

    def users(
        self,
        identity: Identity,
        account_id: str,
        *,
        name: str | None = None,
        query: str | None = None,
        role: str | None = None,
        limit: int | None = DEFAULT_LIMIT,
        page: int = 1,
    ) -> Listing:
        """Users of an account by id, with the key or its prefix; those who are being deleted say so."""
        account = self._account(identity, account_id).id
        if role is not None and role not in {"user", "admin"}:
            raise InvalidArgumentError(f"role must be user or admin, not {quoted(role)}", field="role")
        wanted = _page(name, query, limit, page)
        found, total = self._system.users(account, wanted, cast("Role | None", role))
        entries = [self._entry(user) for user in found]
        return Listing(entries, total=total, has_more=wanted.offset + len(found) < total)

    def user(self, identity: Identity, account_id: str, user_id: str) -> dict[str, Any]:
        """One user, without the key; raises `NotFoundError`."""
        return _described(self._user(identity, account_id, user_id))

    def delete_user(self, identity: Identity, account_id: str, user_id: str) -> dict[str, Any]:
        """Begin to delete a user: the key stops at once, a task removes the data, then the id is free again.

        Raises `NotFoundError`.
        """
        present = self._user(identity, account_id, user_id)
        owner = self._owner(identity, present)
        begun = self._deletions.begin(present.account, present.id, owner, watched=identity.role == "root")
        self._worker.wake()
        return {
            "account_id": begun.account,
            "user_id": begun.id,
            "status": "deleting",
            "task_id": begun.deletion,
        }

    def set_role(self, identity: Identity, account_id: str, user_id: str, role: str) -> dict[str, Any]:
        """Make a user an admin, which is the only change there is; raises `InvalidArgumentError` for another."""
        present = self._user(identity, account_id, user_id)
        if role != "admin":
            raise InvalidArgumentError(f"role can only become admin, not {quoted(role)}", field="role")
        self._system.set_role(present.account, present.id, "admin")
        return {"account_id": present.account, "user_id": present.id, "role": "admin"}

    def regenerate_key(
        self, identity: Identity, account_id: str, user_id: str, *, seed: str | None = None
    ) -> dict[str, Any]:
        """Give a user a new key; the old one stops at once. Raises `FailedPreconditionError` during a deletion."""
        present = self._user(identity, account_id, user_id)
        text, record = self._keys.issue(present.account, present.id, seed)
        self._system.set_key(present.account, present.id, record)
        return self._with_key({}, text)

    def user_settings(self, identity: Identity, account_id: str, user_id: str) -> dict[str, Any]:
        """The settings of a user."""
        present = self._user(identity, account_id, user_id)
        return _settings_view(present, present.settings)

    def change_user_settings(
        self, identity: Identity, account_id: str, user_id: str, change: Settings
    ) -> dict[str, Any]:
        """Change settings of a user; what is not named stays."""
        present = self._user(identity, account_id, user_id)
        changed = self._system.change_user_settings(present.account, present.id, lambda old: changed_user(old, change))
        return _settings_view(present, changed)

    def _check_root(self, identity: Identity) -> None:
        check_keys(self._mode)
        check_root(identity)

    def _account(self, identity: Identity, account_id: str) -> Account:
        check_keys(self._mode)
        account = checked_account_id(account_id)
        check_administers(identity, account)
        found = self._system.account(account)
        if found is None:
            raise NotFoundError(account, "account")
        return found

    def _user(self, identity: Identity, account_id: str, user_id: str) -> User:
        account = self._account(identity, account_id)
        user = checked_user_id(user_id)
        found = self._system.user(account.id, user)
        if found is None:
            raise NotFoundError(user, "user")
        return found

    def _owner(self, identity: Identity, deleted: User) -> str:
        """Who may follow the task: nobody's id but the caller's own, which has to outlive it."""
        own = identity.account == deleted.account and identity.user != deleted.id
        return identity.user if own and (identity.role != "root" or self._mode == "trusted") else ""

    def _with_key(self, answer: dict[str, Any], key: str) -> dict[str, Any]:
        return answer if self._mode == "trusted" else {**answer, "user_key": key}

    def _entry(self, user: User) -> dict[str, Any]:
        entry = _described(user)
        if self._mode == "trusted" or user.key is None:
            return entry
        text = self._keys.shown(user)
        return {**entry, "key_prefix": user.key.prefix} if text is None else {**entry, "api_key": text}


def _described(user: User) -> dict[str, Any]:
    described: dict[str, Any] = {"user_id": user.id, "role": user.role}
    return described if user.deletion is None else {**described, "status": "deleting", "task_id": user.deletion}


def _settings_view(user: User, settings: Settings) -> dict[str, Any]:
    return {"account_id": user.account, "user_id": user.id, "memory_policy": settings.get("memory_policy")}


def _config(user_config: object) -> Settings:
    return {} if user_config is None else {"user_config": checked_object("user_config", user_config)}


def _page(name: object, query: object, limit: object, page: object) -> Page:
    for field, value in (("name", name), ("query", query)):
        if value is not None and (not isinstance(value, str) or len(value) > MAX_PATTERN_CHARS):
            raise InvalidArgumentError(
                f"{field} must be a text of at most {MAX_PATTERN_CHARS} characters, not {quoted(value)}", field=field
            )
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT):
        raise InvalidArgumentError(f"limit must be 1 to {MAX_LIMIT}, not {quoted(limit)}", field="limit")
    if isinstance(page, bool) or not isinstance(page, int) or not 1 <= page <= 1 << 31:
        raise InvalidArgumentError(f"page must be 1 or more, not {quoted(page)}", field="page")
    return Page(
        limit=limit,
        offset=(page - 1) * (limit or 0),
        name=name if isinstance(name, str) else "",
        text=query if isinstance(query, str) else "",
    )
