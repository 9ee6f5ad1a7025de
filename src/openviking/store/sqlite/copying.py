"""Copying a file or a subtree inside of one write transaction: contents and vectors are shared, words are written again."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from openviking.errors import ResourceExhaustedError
from openviking.model.node import Node
from openviking.store.sqlite.passages import FILE_LEVEL
from openviking.store.sqlite.rows import COLUMNS, JOINED, inside, inside_values, node
from openviking.store.sqlite.tree import Tree
from openviking.store.sqlite.words import copy_passages

COPIED_NODES: Final = 20_000
COPIED_PASSAGES: Final = 50_000
"""One copy makes at most so many, because all other writers wait for it."""

_DERIVED: Final = "size, hash, text_hash, encoding, kind, language, title, abstract, overview"


class Copier:
    """Copies nodes with their tags and descriptions; a copy belongs to no source. ``renamed``: one is to be prepared anew."""

    def __init__(self, connection: sqlite3.Connection, tree: Tree) -> None:
        self._sql = connection
        self._tree = tree
        self.renamed = False

    def copy(self, source: Node, target: str) -> int:
        """Copy ``source`` to a free path whose parent exists; how many nodes. Raises `ResourceExhaustedError`."""
        self._check_size(source)
        if not source.is_dir:
            parent, _, name = target.rpartition("/")
            directory = self._tree.known_directory(parent)
            self._copy_file(source, directory, name)
            self._tree.touch(directory, listed=True)
            return 1
        rows = self._sql.execute(
            f"SELECT {COLUMNS} FROM {JOINED} WHERE {inside('d.path')} ORDER BY d.path, n.name",
            inside_values(source.path),
        ).fetchall()
        for found in map(node, rows):
            path = target + found.path[len(source.path) :]
            if found.is_dir:
                self._copy_directory(found, path)
            else:
                parent, _, name = path.rpartition("/")
                self._copy_file(found, self._tree.directory(parent), name)
        return len(rows)

    def _check_size(self, source: Node) -> None:
        where: str = "n.id = ?"
        values: tuple[Any, ...] = (source.id,)
        if source.is_dir:
            where, values = inside("d.path"), inside_values(source.path)
        counts = (
            ("nodes", COPIED_NODES, f"SELECT count(*) FROM {JOINED} WHERE {where}"),
            ("passages", COPIED_PASSAGES, f"SELECT count(*) FROM {JOINED} CROSS JOIN passages p ON p.node_id = n.id WHERE {where}"),
        )  # fmt: skip
        for what, most, sql in counts:
            (count,) = self._sql.execute(sql, values).fetchone()
            if count > most:
                raise ResourceExhaustedError(
                    f"{source.uri} has {count:,} {what}; at most {most:,} are copied at once: copy its parts",
                    resource=str(source.uri),
                    limit=most,
                )

    def _copy_directory(self, source: Node, path: str) -> None:
        directory = self._tree.directory(path)
        self._sql.execute(
            "INSERT OR REPLACE INTO descriptions SELECT ?, s.description FROM descriptions s"
            " JOIN directories d ON d.id = s.directory_id WHERE d.path = ?",
            (directory, source.path),
        )
        (copied,) = self._sql.execute(
            "SELECT id FROM nodes WHERE directory_id = ? AND name = ''", (directory,)
        ).fetchone()
        self._copy_tags(source.id, copied, path.rpartition("/")[2])

    def _copy_file(self, source: Node, directory: int, name: str) -> None:
        copied = self._tree.insert_node(directory, name)
        self._sql.execute(
            f"UPDATE nodes SET ({_DERIVED}, prepared) = (SELECT {_DERIVED}, prepared FROM nodes WHERE id = ?) WHERE id = ?",
            (source.id, copied),
        )
        if source.is_text and name != source.name:
            # How a file is parsed and what its L0 says depend on its name.
            self._sql.execute("UPDATE nodes SET prepared = 0 WHERE id = ?", (copied,))
            self.renamed = True
        copy_passages(self._sql, source.id, copied, FILE_LEVEL)
        self._copy_tags(source.id, copied, name)
        self._tree.log("put", copied)

    def _copy_tags(self, source: int, copied: int, name: str) -> None:
        there = self._sql.execute(
            "INSERT INTO tags SELECT ?, tag FROM tags WHERE node_id = ?", (copied, source)
        ).rowcount
        if there:
            self._tree.put_name(copied, name)
