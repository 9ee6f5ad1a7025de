"""The tree of directories and nodes, as one write transaction changes it."""

from __future__ import annotations

import sqlite3

from openviking.clock import now_ms
from openviking.errors import ConflictError, NotFoundError
from openviking.model.node import Node
from openviking.store.port import Analyser
from openviking.store.sqlite.purge import trim_changes
from openviking.store.sqlite.rows import inside, inside_values
from openviking.store.sqlite.view import get
from openviking.store.sqlite.words import put_name
from openviking.uri import from_path


class Tree:
    """Looks up and makes nodes in one transaction, logs their changes and marks what became stale."""

    def __init__(self, connection: sqlite3.Connection, analyser: Analyser) -> None:
        self._sql = connection
        self._analyser = analyser
        self._stale: set[int] = set()
        self._directories: dict[str, int] = {}
        self.now = now_ms()
        self.change = int(
            connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'change' RETURNING value").fetchone()[0]
        )

    def existing(self, path: str) -> Node:
        """The node at ``path``; raises `NotFoundError`."""
        found = get(self._sql, path)
        if found is None:
            raise NotFoundError(uri_of(path), "file")
        return found

    def known_directory(self, path: str) -> int:
        """The id of an existing directory."""
        return int(self._sql.execute("SELECT id FROM directories WHERE path = ?", (path,)).fetchone()[0])

    def has_children(self, path: str) -> bool:
        """Whether anything is in an existing directory."""
        directory = self.known_directory(path)
        return (
            self._sql.execute(
                "SELECT 1 FROM nodes WHERE directory_id = :directory AND name <> ''"
                " UNION ALL SELECT 1 FROM directories WHERE parent_id = :directory LIMIT 1",
                {"directory": directory},
            ).fetchone()
            is not None
        )

    def directory(self, path: str) -> int:
        """The id of a directory, made with its parents where it is missing."""
        missing: list[str] = []
        found = self._directories.get(path)
        while found is None:
            row = self._sql.execute("SELECT id FROM directories WHERE path = ?", (path,)).fetchone()
            if row is not None:
                found = self._directories[path] = int(row[0])
                break
            missing.append(path)
            path = path.rpartition("/")[0]
            found = self._directories.get(path)
        for below in reversed(missing):
            found = self._directories[below] = self._new_directory(found, below)
        return found

    def _new_directory(self, parent: int, path: str) -> int:
        name = path.rpartition("/")[2]
        if self._sql.execute("SELECT 1 FROM nodes WHERE directory_id = ? AND name = ?", (parent, name)).fetchone():
            raise ConflictError(f"{uri_of(path)} is a file, nothing can be put below it", resource=uri_of(path))
        directory = int(
            self._sql.execute(
                "INSERT INTO directories (parent_id, path, name, depth, context_type, owner, dirty)"
                " VALUES (?, ?, ?, ?, context_type(?), owner(?), ?) RETURNING id",
                (parent, path, name, path.count("/") + 1, path, path, self.change),
            ).fetchone()[0]
        )
        node_id = self.insert_node(directory, "")
        self.put_name(node_id, name)
        self.log("put", node_id)
        self.touch(parent, listed=True)
        return directory

    def insert_node(self, directory: int, name: str) -> int:
        """The id of a new node of a directory; with the empty name it stands for the directory."""
        cursor = self._sql.execute(
            "INSERT INTO nodes (directory_id, name, created_at, updated_at) VALUES (?, ?, ?, ?)",
            (directory, name, self.now, self.now),
        )
        node_id = int(cursor.lastrowid or 0)
        if name:
            self.put_name(node_id, name)
        return node_id

    def rename(self, old: str, new: str) -> int:
        """Give a subtree of directory rows another path; how many rows."""
        self.forget()
        return self._sql.execute(
            f"UPDATE directories SET path = ? || substr(path, ?), context_type = context_type(? || substr(path, ?)),"
            f" owner = owner(? || substr(path, ?)), depth = depth + ? WHERE {inside('path')}",
            (*(new, len(old) + 1) * 3, new.count("/") - old.count("/"), *inside_values(old)),
        ).rowcount

    def put_name(self, node_id: int, name: str) -> None:
        """Store the terms of a node's name and tags."""
        put_name(self._sql, self._analyser, node_id, name)

    def touch(self, directory: int, *, listed: bool) -> None:
        """The sidecars of ``directory`` and above are stale; ``listed``: its list of children changed too."""
        self._stale.add(directory)
        if listed:
            self._sql.execute(
                "UPDATE nodes SET updated_at = ? WHERE directory_id = ? AND name = ''", (self.now, directory)
            )

    def log(self, op: str, node_id: int) -> None:
        """Add to the change log."""
        self._sql.execute("INSERT INTO changes VALUES (?, ?, ?)", (self.change, op, node_id))

    def forget(self) -> None:
        """Forget what was looked up, after a part of the tree was moved or undone."""
        self._directories.clear()

    def close(self) -> bool:
        """Mark directories with stale sidecars; whether there are any."""
        trim_changes(self._sql, self.change)
        marked: set[int] = set()
        for directory in self._stale:
            current: int | None = directory
            while current is not None and current not in marked:
                marked.add(current)
                row = self._sql.execute(
                    "UPDATE directories SET dirty = ? WHERE id = ? RETURNING parent_id", (self.change, current)
                ).fetchone()
                current = row[0] if row else None
        return bool(marked)


def is_directory(connection: sqlite3.Connection, path: str) -> bool:
    """Whether there is a directory at ``path``."""
    return connection.execute("SELECT 1 FROM directories WHERE path = ?", (path,)).fetchone() is not None


def uri_of(path: str) -> str:
    """The URI of a store path as text."""
    return str(from_path(path))
