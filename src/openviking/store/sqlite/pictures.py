"""What models say of pictures, in the account's database."""

from __future__ import annotations

import secrets
import sqlite3
from typing import Any, Final

from openviking.clock import now_ms
from openviking.model.node import Node
from openviking.store.pictures import MOST_ATTEMPTS, RETRY_MS, ClaimedPicture, Described
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.pictures_schema import NOTHING
from openviking.store.sqlite.rows import COLUMN_COUNT, COLUMNS, VISIBLE, inside, inside_values, node

_BARE: Final = (
    "nodes n CROSS JOIN directories d ON d.id = n.directory_id LEFT JOIN pictures p ON p.hash = n.hash"
    f" WHERE n.kind = 'image' AND n.text_hash = ? AND d.path >= ' ' AND {VISIBLE}"
)
"""Files of pictures that carry no description, with what is known of them; takes `NOTHING`."""


class SqlitePictures:
    """The `openviking.store.pictures.Pictures` of one database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def claim(self, lease_ms: int, *, below: str = "") -> ClaimedPicture | None:
        """A picture without a description."""
        place, values = _below(below)
        now = now_ms()
        sql = (
            f"SELECT {COLUMNS}, coalesce(p.attempts, 0), p.description FROM {_BARE}"
            f" AND coalesce(p.error, '') = '' AND coalesce(p.due, 0) <= ? AND {place} ORDER BY n.id DESC LIMIT 1"
        )
        # Mostly there is none, and a look holds up no writer.
        with self._connections.reading() as connection:
            if connection.execute(sql, (NOTHING, now, *values)).fetchone() is None:
                return None
        lease = secrets.token_hex(8)
        with self._connections.writing() as connection:
            row = connection.execute(sql, (NOTHING, now, *values)).fetchone()
            if row is None:
                return None
            found = node(row)
            connection.execute(
                "INSERT INTO pictures (hash, due, lease) VALUES (?, ?, ?)"
                " ON CONFLICT (hash) DO UPDATE SET due = excluded.due, lease = excluded.lease",
                (found.hash, now + lease_ms, lease),
            )
        return ClaimedPicture(found, lease, row[COLUMN_COUNT], row[COLUMN_COUNT + 1])

    def describe(self, claimed: ClaimedPicture, description: str, model: str) -> bool:
        """Keep a description."""
        with self._connections.writing() as connection:
            return (
                connection.execute(
                    "UPDATE pictures SET description = ?, model = ?, error = '', due = 0, lease = NULL"
                    " WHERE hash = ? AND lease = ?",
                    (description, model, claimed.node.hash, claimed.lease),
                ).rowcount
                > 0
            )

    def give_back(self, claimed: ClaimedPicture, *, failed: str = "", refused: bool = False) -> None:
        """Let others claim it, later or never."""
        attempts = claimed.attempts + bool(failed)
        error = failed if refused or attempts >= MOST_ATTEMPTS else ""
        due = now_ms() + RETRY_MS * (1 << claimed.attempts) if failed else 0
        with self._connections.writing() as connection:
            connection.execute(
                "UPDATE pictures SET attempts = ?, error = ?, due = ?, lease = NULL WHERE hash = ? AND lease = ?",
                (attempts, error, due, claimed.node.hash, claimed.lease),
            )

    def bare(self, digest: bytes, limit: int) -> list[Node]:
        """Files with these bytes that carry no description."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM {_BARE} AND n.hash = ? ORDER BY n.id LIMIT ?", (NOTHING, digest, limit)
            ).fetchall()
        return [node(row) for row in rows]

    def waiting(self, below: str = "") -> int:
        """How many pictures may be described."""
        return self._count("AND coalesce(p.error, '') = ''", below)

    def ready(self, below: str = "") -> int:
        """How many may be described now, or are claimed."""
        return self._count(
            f"AND coalesce(p.error, '') = '' AND (p.lease IS NOT NULL OR coalesce(p.due, 0) <= {now_ms()})", below
        )

    def refused(self) -> int:
        """How many pictures have no description for good."""
        return self._count("AND p.error <> ''", "")

    def of(self, digest: bytes) -> Described | None:
        """What is known of the picture with these bytes."""
        with self._connections.reading() as connection:
            row = connection.execute(
                "SELECT coalesce(description, ''), model, error FROM pictures WHERE hash = ?", (digest,)
            ).fetchone()
        return None if row is None else Described(*row)

    def forget(self, below: str = "") -> int:
        """Forget what is known of pictures, as far as nobody is describing them."""
        place, values = _below(below)
        with self._connections.writing() as connection:
            return connection.execute(
                "DELETE FROM pictures WHERE lease IS NULL AND hash IN (SELECT n.hash FROM nodes n CROSS JOIN directories d"
                f" ON d.id = n.directory_id WHERE n.kind = 'image' AND {place})",
                values,
            ).rowcount

    def forget_refusals(self, below: str = "") -> int:
        """Have refused pictures tried again."""
        place, values = _below(below)
        with self._connections.writing() as connection:
            return connection.execute(
                "UPDATE pictures SET error = '', attempts = 0, due = 0 WHERE error <> '' AND hash IN ("
                f"SELECT n.hash FROM {_BARE} AND {place})",
                (NOTHING, *values),
            ).rowcount

    def _count(self, condition: str, below: str) -> int:
        place, values = _below(below)
        with self._connections.reading() as connection:
            return _number(
                connection,
                f"SELECT count(DISTINCT n.hash) FROM {_BARE} {condition} AND {place}",
                (NOTHING, *values),
            )


def _number(connection: sqlite3.Connection, sql: str, values: tuple[Any, ...]) -> int:
    return int(connection.execute(sql, values).fetchone()[0])


def _below(path: str) -> tuple[str, tuple[Any, ...]]:
    if not path:
        return "1", ()
    parent, _, name = path.rpartition("/")
    return f"({inside('d.path')} OR (d.path = ? AND n.name = ?))", (*inside_values(path), parent, name)
