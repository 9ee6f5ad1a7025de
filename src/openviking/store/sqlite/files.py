"""Putting files, and noting which source they come from."""

from __future__ import annotations

import sqlite3

from openviking.errors import AlreadyExistsError, ConflictError, InvalidArgumentError, NotFoundError
from openviking.model.node import Node
from openviking.store.batch import AdoptFile, NoteFetched, NoteSource, Outcome, PutFile
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.passages import Staged, put_file_passages
from openviking.store.sqlite.purge import Budget
from openviking.store.sqlite.tree import Tree, is_directory, uri_of
from openviking.store.sqlite.view import get


class Files:
    """Writes files in one transaction; ``buried`` is whether passages were left to the purge."""

    def __init__(self, connection: sqlite3.Connection, contents: Contents, tree: Tree, budget: Budget) -> None:
        self._sql = connection
        self._contents = contents
        self._tree = tree
        self._budget = budget
        self.buried = False

    def put(self, operation: PutFile, staged: Staged | None) -> Outcome:
        """Write a file, its passages from where they were ``staged``; raises `passages.Overtaken`."""
        content = operation.content
        digest, text_digest = content.hash, content.text_hash
        present = get(self._sql, operation.path)
        check_put(self._sql, operation, present)
        if present is not None and present.hash == digest and present.text_hash == text_digest:
            return self._same(operation, present, staged)
        self._contents.put(self._sql, digest, content.data)
        if content.text is not None and text_digest is not None and text_digest != digest:
            self._contents.put(self._sql, text_digest, content.text)
        parent, _, name = operation.path.rpartition("/")
        derived = (len(content.data), digest, text_digest, content.encoding, content.kind, content.language, content.title,
                   content.abstract, content.overview, content.prepared)  # fmt: skip
        if present is None:
            directory = self._tree.directory(parent)
            node_id, prepared = self._tree.insert_node(directory, name), 0
            written = self._tree.now
        else:
            directory = self._tree.known_directory(parent)
            node_id = present.id
            prepared = prepared_by(self._sql, present)
            # Of the same bytes only the text is another: nobody wrote the file.
            written = present.updated_at if present.hash == digest else self._tree.now
        self._sql.execute(
            "UPDATE nodes SET size = ?, hash = ?, text_hash = ?, encoding = ?, kind = ?, language = ?, title = ?,"
            " abstract = ?, overview = ?, prepared = ?, updated_at = ? WHERE id = ?",
            (*derived, written, node_id),
        )
        self._note_source(node_id, operation)
        # Passages that look the same would keep the terms of another version.
        self._put_passages(operation, node_id, staged, anew=prepared != content.prepared)
        if present is not None:
            for old in {present.hash, present.text_hash} - {digest, text_digest}:
                if old is not None:
                    self._contents.release(self._sql, old)
        self._tree.log("put", node_id)
        if not name.startswith("."):
            # No list and no summary tells of a hidden file.
            self._tree.touch(directory, listed=present is None)
        return Outcome("created" if present is None else "updated", 1)

    def _same(self, operation: PutFile, present: Node, staged: Staged | None) -> Outcome:
        self._note_source(present.id, operation)
        content = operation.content
        if prepared_by(self._sql, present) == content.prepared:
            return Outcome("unchanged")
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
        self._put_passages(operation, present.id, staged, anew=True)
        self._tree.put_name(present.id, present.name)
        self._tree.log("put", present.id)
        self._tree.touch(self._tree.known_directory(present.path.rpartition("/")[0]), listed=False)
        return Outcome("updated", 1)

    def _note_source(self, node_id: int, operation: PutFile | AdoptFile) -> None:
        if operation.source is not None:
            self._sql.execute(
                "UPDATE nodes SET source_id = ?, source_name = ?, source_hash = ? WHERE id = ?",
                (operation.source.source_id, operation.source.name, operation.source.hash, node_id),
            )

    def note_fetched(self, operation: NoteFetched) -> Outcome:
        """Keep what an import wants to know of a fetched source."""
        self._sql.execute("UPDATE sources SET state = ? WHERE location = ?", (operation.state, operation.location))
        return Outcome("updated", 1)

    def note_location(self, operation: NoteSource) -> Outcome:
        """Note which node a source fills."""
        present = self._tree.existing(operation.path)
        row = self._sql.execute(
            "SELECT s.node_id FROM sources s JOIN nodes n ON n.id = s.node_id JOIN directories d ON d.id = n.directory_id"
            " WHERE s.location = ? AND d.path >= ' '",
            (operation.location,),
        ).fetchone()
        if row is not None and row[0] == present.id:
            return Outcome("unchanged")
        if row is not None:
            raise ConflictError(f"{operation.location} fills another directory already", resource=operation.location)
        self._sql.execute(
            "INSERT INTO sources (location, node_id, updated_at) VALUES (?, ?, ?)"
            " ON CONFLICT (location) DO UPDATE SET node_id = excluded.node_id, updated_at = excluded.updated_at",
            (operation.location, present.id, self._tree.now),
        )
        return Outcome("updated")

    def adopt(self, operation: AdoptFile) -> Outcome:
        """Note that a file is what a source delivers."""
        present = self._tree.existing(operation.path)
        self._note_source(present.id, operation)
        return Outcome("unchanged")

    def _put_passages(self, operation: PutFile, node_id: int, staged: Staged | None, *, anew: bool) -> None:
        passages = operation.content.passages
        if put_file_passages(self._sql, self._budget, node_id, passages, staged, anew=anew):
            self.buried = True


def check_put(connection: sqlite3.Connection, operation: PutFile, present: Node | None) -> None:
    """Raises what speaks against putting a file where ``present`` is now."""
    uri = uri_of(operation.path)
    if present is not None and present.is_dir:
        raise InvalidArgumentError(
            f"{uri} is a directory, not a file", resource=uri, expected="file", actual="directory"
        )
    if operation.below and not is_directory(connection, operation.below):
        raise NotFoundError(uri_of(operation.below), "directory")
    if operation.mode == "create" and present is not None:
        raise AlreadyExistsError(uri, "file")
    if operation.mode == "replace" and present is None:
        raise NotFoundError(uri, "file")
    if operation.base is not None and (present is None or present.hash != operation.base):
        raise ConflictError(f"{uri} was changed by another writer meanwhile", resource=uri, retryable=True)


def prepared_by(connection: sqlite3.Connection, present: Node) -> int:
    """The version that prepared a file."""
    return int(connection.execute("SELECT prepared FROM nodes WHERE id = ?", (present.id,)).fetchone()[0])
