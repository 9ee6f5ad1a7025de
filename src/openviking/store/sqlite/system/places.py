"""Where an account's data lie: a directory name that is never used again once its account was removed.

SQLite finds its log by the name of the database. If a new database took the name of one that some process still has
open, that process would remove the new one's log when it closes; so a name is used up with its account.
"""

from __future__ import annotations

import secrets
import sqlite3

from openviking.clock import now_ms


def found_place(connection: sqlite3.Connection, account: str) -> str | None:
    """The place of an account; None if one has to be chosen first, which needs a write transaction."""
    row = connection.execute("SELECT place FROM places WHERE account_id = ?", (account,)).fetchone()
    if row is not None:
        return str(row[0])
    used = connection.execute(
        "SELECT 1 FROM removed WHERE place = ? UNION ALL SELECT 1 FROM places WHERE place = ? COLLATE NOCASE LIMIT 1",
        (account, account),
    ).fetchone()
    return None if used else account


def kept_place(connection: sqlite3.Connection, account: str) -> str:
    """The place of an account, chosen and noted inside of a write transaction if need be."""
    place = found_place(connection, account)
    if place is None:
        # No id has a "~", so this is never the place of another account.
        place = f"{account}~{secrets.token_hex(4)}"
    connection.execute("INSERT INTO places VALUES (?, ?) ON CONFLICT DO NOTHING", (account, place))
    return place


def give_up_place(connection: sqlite3.Connection, account: str) -> str:
    """Note inside of a write transaction that what lies at an account's place is to be removed; the place."""
    place = kept_place(connection, account)
    connection.execute("DELETE FROM places WHERE account_id = ?", (account,))
    connection.execute("INSERT INTO removed VALUES (?, ?) ON CONFLICT DO NOTHING", (place, now_ms()))
    return place
