"""Carrying out operations inside of one write transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Final

from openviking.errors import (
    AlreadyExistsError,
    ConflictError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
)
from openviking.model.node import Node
from openviking.store.batch import (
    AdoptFile,
    Copy,
    MakeDirectory,
    Move,
    NoteFetched,
    NoteSource,
    Operation,
    Outcome,
    Outdate,
    PutFile,
    PutSidecars,
    Remove,
    SetTags,
)
from openviking.store.port import Analyser
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.copying import Copier
from openviking.store.sqlite.files import Files
from openviking.store.sqlite.passages import Staged
from openviking.store.sqlite.purge import Budget, clear_directory, clear_file
from openviking.store.sqlite.rows import COLUMNS, JOINED, inside, inside_values, node
from openviking.store.sqlite.schema import GRAVE, REMOVED
from openviking.store.sqlite.sessions import forget_sessions, session_operations
from openviking.store.sqlite.tree import Tree, is_directory, uri_of
from openviking.store.sqlite.view import get
from openviking.store.sqlite.watches import move_watches, pause_watches
from openviking.store.sqlite.words import put_passages
from openviking.uri import MAX_DEPTH, MAX_URI_CHARS, context_type

ABSTRACT_LEVEL: Final = 0
OVERVIEW_LEVEL: Final = 1


class Writer:
    """One transaction's worth of changes; ``renamed`` says that there are files to be prepared anew."""

    def __init__(self, connection: sqlite3.Connection, contents: Contents, analyser: Analyser) -> None:
        self._sql = connection
        self._contents = contents
        self._budget = Budget()
        self._tree = Tree(connection, analyser)
        self._files = Files(connection, contents, self._tree, self._budget)
        self._removed = False
        self.renamed = False
        self._kinds: dict[type, Callable[[Any], Outcome]] = {
            MakeDirectory: self._make_directory,
            Remove: self._remove,
            Move: self._move,
            SetTags: self._set_tags,
            PutSidecars: self._put_sidecars,
            AdoptFile: self._files.adopt,
            NoteSource: self._files.note_location,
            NoteFetched: self._files.note_fetched,
            Copy: self._copy,
            Outdate: self._outdate,
            **session_operations(connection),
        }

    @property
    def change(self) -> int:
        """The number of this change."""
        return self._tree.change

    @property
    def removed(self) -> bool:
        """Whether there may be something for the purge."""
        return self._removed or self._files.buried

    def apply(self, operation: Operation, staged: Staged | None) -> Outcome:
        """Carry out one operation; of a file whose passages were ``staged``, with those."""
        if isinstance(operation, PutFile):
            return self._files.put(operation, staged)
        return self._kinds[type(operation)](operation)

    def forget(self) -> None:
        """Forget what was looked up, after a part of the transaction was undone."""
        self._tree.forget()

    def close(self) -> bool:
        """Mark directories with stale sidecars; whether there are any."""
        return self._tree.close()

    def _make_directory(self, operation: MakeDirectory) -> Outcome:
        present = get(self._sql, operation.path)
        if present is not None:
            if not present.is_dir:
                raise ConflictError(f"{uri_of(operation.path)} is a file", resource=uri_of(operation.path))
            if not operation.exist_ok:
                raise ConflictError(
                    f"Directory already exists: {uri_of(operation.path)}", resource=uri_of(operation.path)
                )
            return Outcome("unchanged")
        directory = self._tree.directory(operation.path)
        if operation.description:
            self._sql.execute("INSERT OR REPLACE INTO descriptions VALUES (?, ?)", (directory, operation.description))
        self._tree.touch(directory, listed=False)
        return Outcome("created", 1)

    def _remove(self, operation: Remove) -> Outcome:
        present = get(self._sql, operation.path)
        uri = uri_of(operation.path)
        if present is None:
            return Outcome("missing")
        if operation.base is not None and present.hash != operation.base:
            raise ConflictError(f"{uri} was changed by another writer meanwhile", resource=uri, retryable=True)
        if operation.only_empty and present.is_dir and self._tree.has_children(operation.path):
            return Outcome("kept")
        if present.is_dir and not operation.recursive and not operation.only_empty:
            raise FailedPreconditionError(
                f"{uri} is a directory: say recursive to remove it with all that is below",
                resource=uri,
                expected_flag="recursive",
            )
        _check_not_root(operation.path, "removed")
        if not operation.only_empty:
            pause_watches(self._sql, operation.path)
        parent = self._tree.known_directory(operation.path.rpartition("/")[0])
        self._removed = True
        self._tree.log("remove", present.id)
        self._tree.touch(parent, listed=True)
        if not present.is_dir:
            if self._budget.covers_file(self._sql, present.id):
                clear_file(self._sql, self._contents, present.id)
            else:
                self._sql.execute(
                    "UPDATE nodes SET directory_id = ?, name = ? WHERE id = ?", (GRAVE, str(present.id), present.id)
                )
            return Outcome("removed", 1)
        (count,) = self._sql.execute(
            f"SELECT count(*) FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id WHERE {inside('d.path')}",
            inside_values(operation.path),
        ).fetchone()
        self._tree.forget()
        forget_sessions(self._sql, operation.path)
        if self._budget.covers_directory(self._sql, operation.path, count):
            clear_directory(self._sql, self._contents, operation.path)
        else:
            top = self._tree.known_directory(operation.path)
            self._sql.execute("UPDATE directories SET parent_id = NULL WHERE id = ?", (top,))
            self._sql.execute(f"UPDATE directories SET dirty = 0 WHERE {inside('path')}", inside_values(operation.path))
            self._tree.rename(operation.path, f"{REMOVED}{top}")
        return Outcome("removed", int(count))

    def _move(self, operation: Move) -> Outcome:
        _check_not_root(operation.from_path, "moved")
        source = self._tree.existing(operation.from_path)
        if operation.to_path == operation.from_path:
            return Outcome("unchanged")
        self._check_target(source, operation.to_path, "moved")
        move_watches(self._sql, operation.from_path, operation.to_path)
        parent_path, _, name = operation.to_path.rpartition("/")
        old_parent = self._tree.known_directory(operation.from_path.rpartition("/")[0])
        new_parent = self._tree.known_directory(parent_path)
        count = 1
        if source.is_dir:
            top = self._tree.known_directory(operation.from_path)
            self._sql.execute("UPDATE directories SET parent_id = ?, name = ? WHERE id = ?", (new_parent, name, top))
            count = self._tree.rename(operation.from_path, operation.to_path)
            self._tree.touch(top, listed=False)
        else:
            self._sql.execute("UPDATE nodes SET directory_id = ?, name = ? WHERE id = ?", (new_parent, name, source.id))
            if source.is_text and name != source.name:
                # How a file is parsed and what its L0 says depend on its name: it is to be prepared anew.
                self._sql.execute("UPDATE nodes SET prepared = 0 WHERE id = ?", (source.id,))
                self.renamed = True
        self._tree.put_name(source.id, name)
        self._tree.log("move", source.id)
        self._tree.touch(old_parent, listed=True)
        self._tree.touch(new_parent, listed=True)
        return Outcome("moved", count)

    def _copy(self, operation: Copy) -> Outcome:
        _check_not_root(operation.from_path, "copied")
        source = self._tree.existing(operation.from_path)
        if source.is_dir and not operation.recursive:
            raise FailedPreconditionError(
                f"{source.uri} is a directory: say recursive to copy it with all that is below",
                resource=str(source.uri),
                expected_flag="recursive",
            )
        self._check_target(source, operation.to_path, "copied")
        copier = Copier(self._sql, self._tree)
        count = copier.copy(source, operation.to_path)
        self.renamed |= copier.renamed
        return Outcome("copied", count)

    def _outdate(self, operation: Outdate) -> Outcome:
        present = self._tree.existing(operation.path)
        if not present.is_dir:
            self._sql.execute("UPDATE nodes SET prepared = 0 WHERE id = ? AND text_hash IS NOT NULL", (present.id,))
            self._tree.touch(self._tree.known_directory(operation.path.rpartition("/")[0]), listed=False)
            return Outcome("updated", 1)
        where: str = "path = ?"
        values: tuple[str, ...] = (operation.path,)
        if operation.recursive:
            where, values = f"path >= ' ' AND {inside('path')}", inside_values(operation.path)
        if operation.recursive and not operation.path:
            where, values = "path >= ' '", ()
        count = self._sql.execute(
            "UPDATE nodes SET prepared = 0 WHERE text_hash IS NOT NULL AND directory_id IN ("
            f"SELECT id FROM directories WHERE {where})",
            values,
        ).rowcount
        self._sql.execute(f"UPDATE directories SET dirty = ? WHERE {where}", (self._tree.change, *values))
        self._tree.touch(self._tree.known_directory(operation.path), listed=False)
        return Outcome("updated", count)

    def _check_target(self, source: Node, target: str, what: str) -> None:
        """Raises unless ``source`` may be ``what`` ("moved" or "copied") to ``target``."""
        target_uri = uri_of(target)
        if (source.is_dir and target.startswith(source.path + "/")) or target == source.path:
            raise InvalidArgumentError(
                f"{source.uri} can't be {what} {'below' if target != source.path else 'onto'} itself, to {target_uri}",
                resource=target_uri,
            )
        if get(self._sql, target) is not None:
            raise AlreadyExistsError(target_uri, "file" if not is_directory(self._sql, target) else "directory")
        parent = target.rpartition("/")[0]
        if not is_directory(self._sql, parent):
            raise NotFoundError(uri_of(parent), "directory")
        self._check_depth(source, target, what)

    def _check_depth(self, source: Node, target: str, what: str) -> None:
        """Raises unless all that moves along still has a URI that may be spelled and is not too deep."""
        longest, deepest = len(source.path), source.path.count("/") + 1
        if source.is_dir:
            longest, deepest = self._sql.execute(
                "SELECT max(length(d.path) + length(n.name) + (n.name <> '')), max(d.depth + (n.name <> ''))"
                f" FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id WHERE {inside('d.path')}",
                inside_values(source.path),
            ).fetchone()
        length = len(uri_of(target)) + longest - len(source.path)
        depth = deepest + target.count("/") - source.path.count("/")
        for found, most, unit in ((length, MAX_URI_CHARS, "characters"), (depth, MAX_DEPTH, "segments")):
            if found > most:
                raise InvalidArgumentError(
                    f"{source.uri} can't be {what}: below its target a URI would have {found} {unit},"
                    f" at most {most} are allowed",
                    resource=str(source.uri),
                )

    def _set_tags(self, operation: SetTags) -> Outcome:
        present = self._tree.existing(operation.path)
        targets = [present]
        if operation.recursive and present.is_dir:
            rows = self._sql.execute(
                f"SELECT {COLUMNS} FROM {JOINED} WHERE {inside('d.path')}", inside_values(operation.path)
            )
            targets = sorted(map(node, rows), key=lambda target: target.path)
        for target in targets:
            kept = operation.protected and context_type(target.path) == "memory" and f"{operation.protected}="
            if operation.mode != "append":
                self._sql.execute(
                    "DELETE FROM tags WHERE node_id = ? AND (? = '' OR substr(tag, 1, ?) <> ?)",
                    (target.id, kept or "", len(kept or ""), kept or ""),
                )
            for tag in operation.tags if operation.mode != "clear" else ():
                key = tag.partition("=")[0] + "="
                if key == kept:
                    continue
                self._sql.execute(
                    "DELETE FROM tags WHERE node_id = ? AND substr(tag, 1, ?) = ?", (target.id, len(key), key)
                )
                self._sql.execute("INSERT INTO tags VALUES (?, ?)", (target.id, tag))
            self._tree.put_name(target.id, target.name)
            self._tree.log("tags", target.id)
        return Outcome("updated", len(targets), tuple(target.path for target in targets))

    def _put_sidecars(self, operation: PutSidecars) -> Outcome:
        present = get(self._sql, operation.path)
        if present is None or not present.is_dir:
            return Outcome("missing")
        directory = self._tree.known_directory(operation.path)
        self._sql.execute(
            "INSERT OR REPLACE INTO sidecars VALUES (?, ?, ?, ?)",
            (directory, operation.abstract, operation.overview, operation.origin),
        )
        put_passages(self._sql, present.id, ABSTRACT_LEVEL, operation.abstract_passages)
        put_passages(self._sql, present.id, OVERVIEW_LEVEL, operation.overview_passages)
        # While a child's are stale its own are made from old ones: it must be rendered once more.
        self._sql.execute(
            "UPDATE directories SET dirty = 0 WHERE id = :directory AND dirty = :seen"
            " AND NOT EXISTS (SELECT 1 FROM directories c WHERE c.parent_id = :directory AND c.dirty > 0)",
            {"directory": directory, "seen": operation.seen},
        )
        self._tree.log("sidecars", present.id)
        return Outcome("updated", 1)


def _check_not_root(path: str, what: str) -> None:
    if not path:
        raise PermissionDeniedError(f"{uri_of(path)} can't be {what}", resource=uri_of(path))
