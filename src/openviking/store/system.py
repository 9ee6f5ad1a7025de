"""What the rooms above ask of the store of accounts, users and keys; it holds nobody's data.

Every call looks at the database, so what another process changed is seen at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from openviking.model.account import Account, KeyRecord, NewUser, Standing, User
from openviking.model.identity import Role

Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a sorted list: at most ``limit`` (None: all) after the first ``offset``.

    ``name`` is a pattern (``*``, ``?``, ``[ab]``) for the whole id, ``text`` a part of it in any case.
    """

    limit: int | None = None
    offset: int = 0
    name: str = ""
    text: str = ""


class SystemStore(Protocol):
    """Accounts, their users and where each account's data lie."""

    def create_account(self, account: str, settings: Settings, admin: NewUser) -> None:
        """Register an account with its first user; raises `AlreadyExistsError`.

        One whose id differs from another's in case only counts as the same: their directories would be one on some
        file systems. Data that were written before without registration become the account's.
        """
        ...

    def account(self, account: str) -> Account | None:
        """A registered account."""
        ...

    def accounts(self, page: Page) -> tuple[list[Account], int]:
        """Accounts by id, and how many there are without the limit."""
        ...

    def remove_account(self, account: str) -> str:
        """Forget an account with its users, and the place of its data, which is given back to be removed.

        From then on the id is free, and whoever uses it again gets another place. Raises `NotFoundError`.
        """
        ...

    def change_account_settings(self, account: str, change: Callable[[Settings], Settings]) -> Settings:
        """The account's settings after ``change``; raises `NotFoundError`."""
        ...

    def add_user(self, account: str, user: NewUser, clear: Callable[[], object]) -> None:
        """Register a user, after ``clear`` where there was a user of that id before; nobody else does at that time.

        Raises `NotFoundError` for the account, `AlreadyExistsError`, and `FailedPreconditionError` while the data of
        an earlier user of that id are being removed.
        """
        ...

    def user(self, account: str, user: str) -> User | None:
        """A registered user, also one who is being deleted."""
        ...

    def users(self, account: str, page: Page, role: Role | None = None) -> tuple[list[User], int]:
        """Users of an account by id, and how many there are without the limit; raises `NotFoundError`."""
        ...

    def set_role(self, account: str, user: str, role: Role) -> None:
        """Give a user another role; raises `NotFoundError`, `FailedPreconditionError` if the user is being deleted."""
        ...

    def set_key(self, account: str, user: str, key: KeyRecord, *, instead_of: KeyRecord | None = None) -> bool:
        """Give a user another key, with ``instead_of`` only in place of that one; whether it was done.

        Raises `NotFoundError`, `FailedPreconditionError` if the user is being deleted.
        """
        ...

    def change_user_settings(self, account: str, user: str, change: Callable[[Settings], Settings]) -> Settings:
        """The user's settings after ``change``; raises as `set_role` does."""
        ...

    def begin_deletion(
        self, account: str, user: str, task: str, *, watched: bool, instead_of: str | None = None
    ) -> User:
        """Note that a user's data are to be removed by a task, with ``instead_of`` in place of that one only.

        Whoever was first decides which. ``watched`` notes that the root key follows it. Raises `NotFoundError`.
        """
        ...

    def end_deletion(self, account: str, user: str, number: int) -> bool:
        """Forget the user with that number whose data were removed; False if there is none."""
        ...

    def deletions(self) -> list[User]:
        """Users whose data are to be removed."""
        ...

    def plain_keys(self, limit: int) -> list[User]:
        """Users whose keys are kept as they are."""
        ...

    def watched_tasks(self) -> list[tuple[int, str, str]]:
        """What the root key follows: a number that grows, account and task id, newest first."""
        ...

    def standing(self, account: str, user: str) -> Standing:
        """Whether an account and a user are registered, and where the account's data lie; a place for any account."""
        ...

    def removed_places(self) -> list[str]:
        """Places that no account uses again."""
        ...

    def note_work(self, account: str) -> None:
        """Note that an account's store is in use, so that it may have jobs."""
        ...

    def forget_work(self, account: str) -> None:
        """An account had no jobs left when its store was closed."""
        ...

    def with_work(self) -> list[str]:
        """Accounts that may have jobs: a hint."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...
