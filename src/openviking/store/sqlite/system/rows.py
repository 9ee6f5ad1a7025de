"""Rows of the system database as values, and pages of them."""

from __future__ import annotations

import fnmatch
import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from openviking.model.account import Account, KeyRecord, User
from openviking.store.system import Page

USER: Final = (
    "number, account_id, user_id, role, created_at, settings, key_form, key_salt, key_value, key_prefix, deletion"
)
ACCOUNT: Final = (
    "number, account_id, created_at, settings,"
    " (SELECT count(*) FROM users u WHERE u.account_id = accounts.account_id AND u.deletion IS NULL)"
)


def user(row: Sequence[Any]) -> User:
    """The user of a row of `USER`."""
    key = KeyRecord(row[6], row[7], row[8], row[9])
    return User(row[0], row[1], row[2], row[3], row[4], json.loads(row[5]), key, row[10])


def account(row: Sequence[Any]) -> Account:
    """The account of a row of `ACCOUNT`."""
    return Account(row[0], row[1], row[2], row[4], json.loads(row[3]))


def paged(
    connection: sqlite3.Connection, columns: str, table: str, key: str, page: Page, values: tuple[Any, ...]
) -> tuple[list[Sequence[Any]], int]:
    """The rows of a page of ``table`` (with its condition, to which ``values`` belong) by ``key``, and their number."""
    if page.text:
        table += f" AND instr(lower({key}), ?)"
        values = (*values, page.text.lower())
    if page.name:
        # Python's patterns can't run away on an id, as those of SQLite can.
        names = [row[0] for row in connection.execute(f"SELECT {key} FROM {table} ORDER BY {key}", values)]
        matching = [name for name in names if fnmatch.fnmatchcase(name, page.name)]
        total = len(matching)
        end = None if page.limit is None else page.offset + page.limit
        table += f" AND {key} IN (SELECT value FROM json_each(?))"
        values = (*values, json.dumps(matching[page.offset : end]))
        rows = connection.execute(f"SELECT {columns} FROM {table} ORDER BY {key}", values).fetchall()
        return rows, total
    (total,) = connection.execute(f"SELECT count(*) FROM {table}", values).fetchone()
    rows = connection.execute(
        f"SELECT {columns} FROM {table} ORDER BY {key} LIMIT ? OFFSET ?",
        (*values, -1 if page.limit is None else page.limit, page.offset),
    ).fetchall()
    return rows, total
