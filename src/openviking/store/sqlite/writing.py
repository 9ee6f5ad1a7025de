"""Carrying out operations inside of one write transaction."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from typing import Any, Final

from openviking.clock import now_ms
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
    MakeDirectory,
    Move,
    NoteSource,
    Operation,
    PutFile,
    PutSidecars,
    Remove,
    SetTags,
)
from openviking.store.port import Analyser
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.rows import COLUMNS, JOINED, inside, inside_values, node
from openviking.store.sqlite.schema import GRAVE, REMOVED
from openviking.store.sqlite.view import get
from openviking.store.sqlite.words import drop_passages, put_name, put_passages
from openviking.uri import MAX_URI_CHARS, from_path

ABSTRACT_LEVEL: Final = 0
OVERVIEW_LEVEL: Final = 1
FILE_LEVEL: Final = 2

Outcome = tuple[str, int, tuple[str, ...]]


class Writer:
    """One transaction's worth of changes; `close` marks what became stale."""

    def __init__(self, connection: sqlite3.Connection, contents: Contents, analyser: Analyser) -> None:
        self._sql = connection
        self._contents = contents
        self._analyser = analyser
        self._now = now_ms()
        self.change = int(
            connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'change' RETURNING value").fetchone()[0]
        )
        self._stale: set[int] = set()
        self._directories: dict[str, int] = {}
        self.removed = False
        self.renamed = False
        self._kinds: dict[type, Callable[[Any], Outcome]] = {
            PutFile: self._put_file,
            MakeDirectory: self._make_directory,
            Remove: self._remove,
            Move: self._move,
            SetTags: self._set_tags,
            PutSidecars: self._put_sidecars,
            AdoptFile: self._adopt,
            NoteSource: self._note_location,
        }

    def apply(self, operation: Operation) -> Outcome:
        """Carry out one operation: its outcome, how many nodes it touched, and which if it lists them."""
        return self._kinds[type(operation)](operation)

    def forget_directories(self) -> None:
        """Forget what was looked up, after a part of the transaction was undone."""
        self._directories.clear()

    def close(self) -> bool:
        """Mark directories with stale sidecars; whether there are any."""
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

    def _put_file(self, operation: PutFile) -> Outcome:
        content, digest = operation.content, hashlib.sha256(operation.content.data).digest()
        present = get(self._sql, operation.path)
        self._check_put(operation, present)
        text_digest = None
        if content.text is not None:
            text_digest = digest if content.text == content.data else hashlib.sha256(content.text).digest()
        if present is not None and present.hash == digest and present.text_hash == text_digest:
            return self._same_file(operation, present)
        self._contents.put(self._sql, digest, content.data)
        if content.text is not None and text_digest is not None and text_digest != digest:
            self._contents.put(self._sql, text_digest, content.text)
        parent, _, name = operation.path.rpartition("/")
        derived = (len(content.data), digest, text_digest, content.encoding, content.kind, content.language, content.title,
                   content.abstract, content.overview, content.prepared, self._now)  # fmt: skip
        if present is None:
            directory = self._directory(parent)
            node_id, prepared = self._insert_node(directory, name), 0
        else:
            directory = self._known_directory(parent)
            node_id = present.id
            prepared = self._prepared(present)
        self._sql.execute(
            "UPDATE nodes SET size = ?, hash = ?, text_hash = ?, encoding = ?, kind = ?, language = ?, title = ?,"
            " abstract = ?, overview = ?, prepared = ?, updated_at = ? WHERE id = ?",
            (*derived, node_id),
        )
        self._note_source(node_id, operation)
        if present is not None and prepared != content.prepared:
            # Passages that look the same would keep the terms of another version.
            drop_passages(self._sql, node_id, FILE_LEVEL)
        put_passages(self._sql, node_id, FILE_LEVEL, content.passages)
        if present is not None:
            for old in {present.hash, present.text_hash} - {digest, text_digest}:
                if old is not None:
                    self._contents.release(self._sql, old)
        self._log("put", node_id)
        self._touch(directory, listed=present is None)
        return ("created" if present is None else "updated"), 1, ()

    def _check_put(self, operation: PutFile, present: Node | None) -> None:
        uri = _uri(operation.path)
        if present is not None and present.is_dir:
            raise InvalidArgumentError(
                f"{uri} is a directory, not a file", resource=uri, expected="file", actual="directory"
            )
        if operation.below and not self._is_directory(operation.below):
            raise NotFoundError(_uri(operation.below), "directory")
        if operation.mode == "create" and present is not None:
            raise AlreadyExistsError(uri, "file")
        if operation.mode == "replace" and present is None:
            raise NotFoundError(uri, "file")
        if operation.base is not None and (present is None or present.hash != operation.base):
            raise ConflictError(f"{uri} was changed by another writer meanwhile", resource=uri, retryable=True)

    def _same_file(self, operation: PutFile, present: Node) -> Outcome:
        self._note_source(present.id, operation)
        content = operation.content
        if self._prepared(present) == content.prepared:
            return "unchanged", 0, ()
        self._sql.execute(
            "UPDATE nodes SET kind = ?, language = ?, title = ?, abstract = ?, overview = ?, prepared = ? WHERE id = ?",
            (
                content.kind,
                content.language,
                content.title,
                content.abstract,
                content.overview,
                content.prepared,
                present.id,
            ),
        )
        drop_passages(self._sql, present.id, FILE_LEVEL)
        put_passages(self._sql, present.id, FILE_LEVEL, content.passages)
        put_name(self._sql, self._analyser, present.id, present.name)
        self._log("put", present.id)
        self._touch(self._known_directory(present.path.rpartition("/")[0]), listed=False)
        return "updated", 1, ()

    def _prepared(self, present: Node) -> int:
        return int(self._sql.execute("SELECT prepared FROM nodes WHERE id = ?", (present.id,)).fetchone()[0])

    def _note_source(self, node_id: int, operation: PutFile | AdoptFile) -> None:
        if operation.source is not None:
            self._sql.execute(
                "UPDATE nodes SET source_id = ?, source_name = ?, source_hash = ? WHERE id = ?",
                (operation.source.source_id, operation.source.name, operation.source.hash, node_id),
            )

    def _note_location(self, operation: NoteSource) -> Outcome:
        present = self._existing(operation.path)
        row = self._sql.execute(
            "SELECT s.node_id FROM sources s JOIN nodes n ON n.id = s.node_id JOIN directories d ON d.id = n.directory_id"
            " WHERE s.location = ? AND d.path >= ' '",
            (operation.location,),
        ).fetchone()
        if row is not None and row[0] == present.id:
            return "unchanged", 0, ()
        if row is not None:
            raise ConflictError(f"{operation.location} fills another directory already", resource=operation.location)
        self._sql.execute(
            "INSERT INTO sources (location, node_id, updated_at) VALUES (?, ?, ?)"
            " ON CONFLICT (location) DO UPDATE SET node_id = excluded.node_id, updated_at = excluded.updated_at",
            (operation.location, present.id, self._now),
        )
        return "updated", 0, ()

    def _adopt(self, operation: AdoptFile) -> Outcome:
        present = self._existing(operation.path)
        self._note_source(present.id, operation)
        return "unchanged", 0, ()

    def _make_directory(self, operation: MakeDirectory) -> Outcome:
        present = get(self._sql, operation.path)
        if present is not None:
            if not present.is_dir:
                raise ConflictError(f"{_uri(operation.path)} is a file", resource=_uri(operation.path))
            if not operation.exist_ok:
                raise ConflictError(f"Directory already exists: {_uri(operation.path)}", resource=_uri(operation.path))
            return "unchanged", 0, ()
        directory = self._directory(operation.path)
        if operation.description:
            self._sql.execute("INSERT OR REPLACE INTO descriptions VALUES (?, ?)", (directory, operation.description))
        self._touch(directory, listed=False)
        return "created", 1, ()

    def _remove(self, operation: Remove) -> Outcome:
        present = get(self._sql, operation.path)
        uri = _uri(operation.path)
        if present is None:
            return "missing", 0, ()
        if operation.base is not None and present.hash != operation.base:
            raise ConflictError(f"{uri} was changed by another writer meanwhile", resource=uri, retryable=True)
        if operation.only_empty and present.is_dir and self._has_children(operation.path):
            return "kept", 0, ()
        if present.is_dir and not operation.recursive and not operation.only_empty:
            raise FailedPreconditionError(
                f"{uri} is a directory: say recursive to remove it with all that is below",
                resource=uri,
                expected_flag="recursive",
            )
        _check_not_root(operation.path, "removed")
        parent = self._known_directory(operation.path.rpartition("/")[0])
        self.removed = True
        self._log("remove", present.id)
        self._touch(parent, listed=True)
        if not present.is_dir:
            self._sql.execute(
                "UPDATE nodes SET directory_id = ?, name = ? WHERE id = ?", (GRAVE, str(present.id), present.id)
            )
            return "removed", 1, ()
        count = self._sql.execute(
            f"SELECT count(*) FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id WHERE {inside('d.path')}",
            inside_values(operation.path),
        ).fetchone()[0]
        top = self._known_directory(operation.path)
        self._sql.execute("UPDATE directories SET parent_id = NULL WHERE id = ?", (top,))
        self._rename(operation.path, f"{REMOVED}{top}")
        return "removed", int(count), ()

    def _move(self, operation: Move) -> Outcome:
        _check_not_root(operation.from_path, "moved")
        source = self._existing(operation.from_path)
        target_uri = _uri(operation.to_path)
        if operation.to_path == operation.from_path:
            return "unchanged", 0, ()
        if source.is_dir and operation.to_path.startswith(operation.from_path + "/"):
            raise InvalidArgumentError(
                f"{_uri(operation.from_path)} can't be moved below itself, to {target_uri}", resource=target_uri
            )
        if get(self._sql, operation.to_path) is not None:
            raise AlreadyExistsError(target_uri, "file" if not self._is_directory(operation.to_path) else "directory")
        parent_path, _, name = operation.to_path.rpartition("/")
        if not self._is_directory(parent_path):
            raise NotFoundError(_uri(parent_path), "directory")
        self._check_depth(source, operation.to_path)
        old_parent = self._known_directory(operation.from_path.rpartition("/")[0])
        new_parent = self._known_directory(parent_path)
        count = 1
        if source.is_dir:
            top = self._known_directory(operation.from_path)
            self._sql.execute("UPDATE directories SET parent_id = ?, name = ? WHERE id = ?", (new_parent, name, top))
            count = self._rename(operation.from_path, operation.to_path)
            self._touch(top, listed=False)
        else:
            self._sql.execute("UPDATE nodes SET directory_id = ?, name = ? WHERE id = ?", (new_parent, name, source.id))
            if source.is_text and name != source.name:
                # How a file is parsed and what its L0 says depend on its name: it is to be prepared anew.
                self._sql.execute("UPDATE nodes SET prepared = 0 WHERE id = ?", (source.id,))
                self.renamed = True
        put_name(self._sql, self._analyser, source.id, name)
        self._log("move", source.id)
        self._touch(old_parent, listed=True)
        self._touch(new_parent, listed=True)
        return "moved", count, ()

    def _check_depth(self, source: Node, target: str) -> None:
        """Raises unless all that moves along still has a URI that may be spelled."""
        longest = len(source.path)
        if source.is_dir:
            row = self._sql.execute(
                "SELECT max(length(d.path) + length(n.name) + (n.name <> '')) FROM directories d"
                f" CROSS JOIN nodes n ON n.directory_id = d.id WHERE {inside('d.path')}",
                inside_values(source.path),
            ).fetchone()
            longest = int(row[0])
        length = len(_uri(target)) + longest - len(source.path)
        if length > MAX_URI_CHARS:
            raise InvalidArgumentError(
                f"{source.uri} can't be moved: below its target a URI would have {length} characters,"
                f" at most {MAX_URI_CHARS} are allowed",
                resource=str(source.uri),
            )

    def _rename(self, old: str, new: str) -> int:
        """Give a subtree of directory rows another path; how many rows."""
        self._directories.clear()
        return self._sql.execute(
            f"UPDATE directories SET path = ? || substr(path, ?), context_type = context_type(? || substr(path, ?)),"
            f" owner = owner(? || substr(path, ?)) WHERE {inside('path')}",
            (*(new, len(old) + 1) * 3, *inside_values(old)),
        ).rowcount

    def _set_tags(self, operation: SetTags) -> Outcome:
        present = self._existing(operation.path)
        targets = [present]
        if operation.recursive and present.is_dir:
            rows = self._sql.execute(
                f"SELECT {COLUMNS} FROM {JOINED} WHERE {inside('d.path')}", inside_values(operation.path)
            )
            targets = sorted(map(node, rows), key=lambda target: target.path)
        for target in targets:
            if operation.mode != "append":
                self._sql.execute("DELETE FROM tags WHERE node_id = ?", (target.id,))
            for tag in operation.tags if operation.mode != "clear" else ():
                key = tag.partition("=")[0] + "="
                self._sql.execute(
                    "DELETE FROM tags WHERE node_id = ? AND substr(tag, 1, ?) = ?", (target.id, len(key), key)
                )
                self._sql.execute("INSERT INTO tags VALUES (?, ?)", (target.id, tag))
            put_name(self._sql, self._analyser, target.id, target.name)
            self._log("tags", target.id)
        return "updated", len(targets), tuple(target.path for target in targets)

    def _put_sidecars(self, operation: PutSidecars) -> Outcome:
        present = get(self._sql, operation.path)
        if present is None or not present.is_dir:
            return "missing", 0, ()
        directory = self._known_directory(operation.path)
        self._sql.execute(
            "INSERT OR REPLACE INTO sidecars VALUES (?, ?, ?, ?)",
            (directory, operation.abstract, operation.overview, operation.origin),
        )
        put_passages(self._sql, present.id, ABSTRACT_LEVEL, operation.abstract_passages)
        put_passages(self._sql, present.id, OVERVIEW_LEVEL, operation.overview_passages)
        # While a child's are stale its own are made from old ones: it must be rendered once more.
        self._sql.execute(
            "UPDATE directories SET dirty = 0 WHERE id = ?1 AND dirty = ?2"
            " AND NOT EXISTS (SELECT 1 FROM directories c WHERE c.parent_id = ?1 AND c.dirty > 0)",
            (directory, operation.seen),
        )
        self._log("sidecars", present.id)
        return "updated", 1, ()

    def _existing(self, path: str) -> Node:
        found = get(self._sql, path)
        if found is None:
            raise NotFoundError(_uri(path), "file")
        return found

    def _has_children(self, path: str) -> bool:
        directory = self._known_directory(path)
        return (
            self._sql.execute(
                "SELECT 1 FROM nodes WHERE directory_id = ?1 AND name <> ''"
                " UNION ALL SELECT 1 FROM directories WHERE parent_id = ?1 LIMIT 1",
                (directory,),
            ).fetchone()
            is not None
        )

    def _is_directory(self, path: str) -> bool:
        return self._sql.execute("SELECT 1 FROM directories WHERE path = ?", (path,)).fetchone() is not None

    def _known_directory(self, path: str) -> int:
        return int(self._sql.execute("SELECT id FROM directories WHERE path = ?", (path,)).fetchone()[0])

    def _directory(self, path: str) -> int:
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
            raise ConflictError(f"{_uri(path)} is a file, nothing can be put below it", resource=_uri(path))
        directory = int(
            self._sql.execute(
                "INSERT INTO directories (parent_id, path, name, context_type, owner, dirty)"
                " VALUES (?1, ?2, ?3, context_type(?2), owner(?2), ?4) RETURNING id",
                (parent, path, name, self.change),
            ).fetchone()[0]
        )
        node_id = self._insert_node(directory, "")
        put_name(self._sql, self._analyser, node_id, name)
        self._log("put", node_id)
        self._touch(parent, listed=True)
        return directory

    def _insert_node(self, directory: int, name: str) -> int:
        cursor = self._sql.execute(
            "INSERT INTO nodes (directory_id, name, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)",
            (directory, name, self._now),
        )
        node_id = int(cursor.lastrowid or 0)
        if name:
            put_name(self._sql, self._analyser, node_id, name)
        return node_id

    def _touch(self, directory: int, *, listed: bool) -> None:
        """The sidecars of ``directory`` and above are stale; ``listed``: its list of children changed too."""
        self._stale.add(directory)
        if listed:
            self._sql.execute(
                "UPDATE nodes SET updated_at = ? WHERE directory_id = ? AND name = ''", (self._now, directory)
            )

    def _log(self, op: str, node_id: int) -> None:
        self._sql.execute("INSERT INTO changes VALUES (?, ?, ?)", (self.change, op, node_id))


def _check_not_root(path: str, what: str) -> None:
    if not path:
        raise PermissionDeniedError(f"{_uri(path)} can't be {what}", resource=_uri(path))


def _uri(path: str) -> str:
    return str(from_path(path))
