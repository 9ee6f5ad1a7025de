"""The system store in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from openviking.clock import now_ms
from openviking.errors import AlreadyExistsError, FailedPreconditionError, NotFoundError, UnavailableError
from openviking.model.account import Account, KeyRecord, NewUser, Standing, User
from openviking.model.identity import Role
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.private import make_directory
from openviking.store.sqlite.system import rows
from openviking.store.sqlite.system.places import found_place, give_up_place, kept_place
from openviking.store.sqlite.system.schema import APPLICATION, MIGRATIONS
from openviking.store.system import Page, Settings
from openviking.store.tasks import FAILED_MS

FILE: Final = "system.db"
"""The name of the file in the data directory."""


class SqliteSystem:
    """The `openviking.store.system.SystemStore` of a data directory."""

    def __init__(self, directory: Path) -> None:
        try:
            make_directory(directory)
        except OSError as error:
            raise UnavailableError(
                f"The data directory {directory} can't be made: {error.strerror}",
                service="store",
                reason=str(error.strerror),
            ) from error
        self._connections = Connections(directory / FILE, application=APPLICATION, migrations=MIGRATIONS)

    def create_account(self, account: str, settings: Settings, admin: NewUser) -> None:
        """Register an account with its first user."""
        with self._connections.writing() as connection:
            present = connection.execute(
                "SELECT account_id FROM accounts WHERE account_id = ? COLLATE NOCASE", (account,)
            ).fetchone()
            if present is not None:
                raise AlreadyExistsError(present[0], "account")
            connection.execute(
                "INSERT INTO accounts (account_id, created_at, settings) VALUES (?, ?, ?)",
                (account, now_ms(), json.dumps(settings)),
            )
            kept_place(connection, account)
            _add_user(connection, account, admin)

    def account(self, account: str) -> Account | None:
        """A registered account."""
        with self._connections.reading() as connection:
            row = connection.execute(f"SELECT {rows.ACCOUNT} FROM accounts WHERE account_id = ?", (account,)).fetchone()
        return rows.account(row) if row else None

    def accounts(self, page: Page) -> tuple[list[Account], int]:
        """Accounts by id, and how many there are."""
        with self._connections.reading() as connection:
            found, total = rows.paged(connection, rows.ACCOUNT, "accounts WHERE 1", "account_id", page, ())
        return [rows.account(row) for row in found], total

    def remove_account(self, account: str) -> str:
        """Forget an account with its users; the place of its data."""
        with self._connections.writing() as connection:
            _check_account(connection, account)
            for table in ("accounts", "users", "former", "work", "watched"):
                connection.execute(f"DELETE FROM {table} WHERE account_id = ?", (account,))
            return give_up_place(connection, account)

    def change_account_settings(self, account: str, change: Callable[[Settings], Settings]) -> Settings:
        """The account's settings after ``change``."""
        with self._connections.writing() as connection:
            row = connection.execute("SELECT settings FROM accounts WHERE account_id = ?", (account,)).fetchone()
            if row is None:
                raise NotFoundError(account, "account")
            settings = change(json.loads(row[0]))
            connection.execute("UPDATE accounts SET settings = ? WHERE account_id = ?", (json.dumps(settings), account))
            return settings

    def add_user(self, account: str, user: NewUser, clear: Callable[[], object]) -> None:
        """Register a user."""
        with self._connections.writing() as connection:
            _check_account(connection, account)
            present = _user(connection, account, user.id)
            if present is not None and present.deletion is not None:
                raise _being_deleted(present)
            if present is not None:
                raise AlreadyExistsError(user.id, "user")
            former = "former WHERE account_id = ? AND user_id = ?"
            if connection.execute(f"SELECT 1 FROM {former}", (account, user.id)).fetchone():
                clear()
            _add_user(connection, account, user)

    def user(self, account: str, user: str) -> User | None:
        """A registered user."""
        with self._connections.reading() as connection:
            return _user(connection, account, user)

    def users(self, account: str, page: Page, role: Role | None = None) -> tuple[list[User], int]:
        """Users of an account by id, and how many there are."""
        with self._connections.reading() as connection:
            _check_account(connection, account)
            table, values = "users WHERE account_id = ? AND (? IS NULL OR role = ?)", (account, role, role)
            found, total = rows.paged(connection, rows.USER, table, "user_id", page, values)
        return [rows.user(row) for row in found], total

    def set_role(self, account: str, user: str, role: Role) -> None:
        """Give a user another role."""
        with self._connections.writing() as connection:
            present = _staying(connection, account, user)
            connection.execute("UPDATE users SET role = ? WHERE number = ?", (role, present.number))

    def set_key(self, account: str, user: str, key: KeyRecord, *, instead_of: KeyRecord | None = None) -> bool:
        """Give a user another key."""
        with self._connections.writing() as connection:
            present = _staying(connection, account, user)
            if instead_of is not None and present.key != instead_of:
                return False
            connection.execute(
                "UPDATE users SET key_form = ?, key_salt = ?, key_value = ?, key_prefix = ? WHERE number = ?",
                (key.form, key.salt, key.value, key.prefix, present.number),
            )
            return True

    def change_user_settings(self, account: str, user: str, change: Callable[[Settings], Settings]) -> Settings:
        """The user's settings after ``change``."""
        with self._connections.writing() as connection:
            present = _staying(connection, account, user)
            settings = change(present.settings)
            connection.execute("UPDATE users SET settings = ? WHERE number = ?", (json.dumps(settings), present.number))
            return settings

    def begin_deletion(
        self, account: str, user: str, task: str, *, watched: bool, instead_of: str | None = None
    ) -> User:
        """Note that a user's data are to be removed by a task."""
        with self._connections.writing() as connection:
            _check_account(connection, account)
            connection.execute(
                "UPDATE users SET deletion = ? WHERE account_id = ? AND user_id = ? AND deletion IS ?",
                (task, account, user, instead_of),
            )
            present = _user(connection, account, user)
            if present is None:
                raise NotFoundError(user, "user")
            if watched:
                connection.execute("DELETE FROM watched WHERE at < ?", (now_ms() - FAILED_MS,))
                connection.execute(
                    "INSERT INTO watched (account_id, task_id, at) VALUES (?, ?, ?)",
                    (account, present.deletion, now_ms()),
                )
            return present

    def end_deletion(self, account: str, user: str, number: int) -> bool:
        """Forget the user with that number."""
        with self._connections.writing() as connection:
            ended = connection.execute(
                "DELETE FROM users WHERE number = ? AND account_id = ? AND user_id = ? AND deletion IS NOT NULL",
                (number, account, user),
            ).rowcount
            if ended:
                connection.execute("INSERT INTO former VALUES (?, ?) ON CONFLICT DO NOTHING", (account, user))
            return ended > 0

    def deletions(self) -> list[User]:
        """Users whose data are to be removed."""
        return self._users("deletion IS NOT NULL ORDER BY number", ())

    def plain_keys(self, limit: int) -> list[User]:
        """Users whose keys are kept as they are."""
        return self._users("key_form = 'plain' AND deletion IS NULL ORDER BY number LIMIT ?", (limit,))

    def watched_tasks(self) -> list[tuple[int, str, str]]:
        """What the root key follows."""
        with self._connections.reading() as connection:
            found = connection.execute(
                "SELECT number, account_id, task_id FROM watched WHERE at > ? ORDER BY number DESC",
                (now_ms() - FAILED_MS,),
            )
            return found.fetchall()

    def standing(self, account: str, user: str) -> Standing:
        """Whether an account and a user are registered, and where the account's data lie."""
        with self._connections.reading() as connection:
            place = found_place(connection, account)
            if place is not None:
                return _standing(connection, account, user, place)
        with self._connections.writing() as connection:
            return _standing(connection, account, user, kept_place(connection, account))

    def removed_places(self) -> list[str]:
        """Places that no account uses again."""
        with self._connections.reading() as connection:
            return [row[0] for row in connection.execute("SELECT place FROM removed ORDER BY place")]

    def note_work(self, account: str) -> None:
        """Note that an account's store is in use."""
        with self._connections.reading() as connection:
            if connection.execute("SELECT 1 FROM work WHERE account_id = ?", (account,)).fetchone():
                return
        with self._connections.writing() as connection:
            connection.execute("INSERT INTO work VALUES (?) ON CONFLICT DO NOTHING", (account,))

    def forget_work(self, account: str) -> None:
        """An account had no jobs left."""
        with self._connections.writing() as connection:
            connection.execute("DELETE FROM work WHERE account_id = ?", (account,))

    def with_work(self) -> list[str]:
        """Accounts that may have jobs."""
        with self._connections.reading() as connection:
            return [row[0] for row in connection.execute("SELECT account_id FROM work ORDER BY account_id")]

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    def _users(self, condition: str, values: tuple[int, ...]) -> list[User]:
        with self._connections.reading() as connection:
            found = connection.execute(f"SELECT {rows.USER} FROM users WHERE {condition}", values).fetchall()
        return [rows.user(row) for row in found]


def _add_user(connection: sqlite3.Connection, account: str, user: NewUser) -> None:
    key = user.key
    connection.execute(
        "INSERT INTO users (account_id, user_id, role, created_at, settings, key_form, key_salt, key_value, key_prefix)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            account, user.id, user.role, now_ms(), json.dumps(user.settings), key.form, key.salt, key.value, key.prefix,
        ),
    )  # fmt: skip


def _check_account(connection: sqlite3.Connection, account: str) -> None:
    if connection.execute("SELECT 1 FROM accounts WHERE account_id = ?", (account,)).fetchone() is None:
        raise NotFoundError(account, "account")


def _user(connection: sqlite3.Connection, account: str, user: str) -> User | None:
    row = connection.execute(
        f"SELECT {rows.USER} FROM users WHERE account_id = ? AND user_id = ?", (account, user)
    ).fetchone()
    return rows.user(row) if row else None


def _staying(connection: sqlite3.Connection, account: str, user: str) -> User:
    _check_account(connection, account)
    present = _user(connection, account, user)
    if present is None:
        raise NotFoundError(user, "user")
    if present.deletion is not None:
        raise _being_deleted(present)
    return present


def _standing(connection: sqlite3.Connection, account: str, user: str, place: str) -> Standing:
    row = connection.execute(
        "SELECT (SELECT number FROM accounts WHERE account_id = :account), u.number, u.deletion FROM (SELECT 1)"
        " LEFT JOIN users u ON u.account_id = :account AND u.user_id = :user",
        {"account": account, "user": user},
    ).fetchone()
    return Standing(place, *row)


def _being_deleted(user: User) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"The user {user.id} is being deleted by task {user.deletion}; the id is free again when that is completed",
        resource=user.id,
        task_id=user.deletion,
    )
