"""A piece of the tree: each node with its bytes, passages, words and vectors."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from openviking.errors import UnavailableError
from openviking.model.hidden_fields import visible
from openviking.store.audit import Damage
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.models import IN_USE
from openviking.store.sqlite.tree import is_directory

NODES: Final = 200
PASSAGES: Final = 20_000
READ_BYTES: Final = 64 * 1024 * 1024
"""A piece ends after so many nodes, or with the node that brings it to so many passages or bytes."""

BLOCK_BYTES: Final = 1024 * 1024
ROOT: Final = 1
FILE_LEVEL: Final = 2
_LAST: Final = "\U0010ffff"
_NODE: Final = (
    "d.id, d.path, d.parent_id, d.name, d.depth, d.context_type, d.owner, d.dirty, n.id, n.name, n.hash, n.text_hash,"
    " n.source_id, n.size"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """Directories with paths from ``low`` up to before ``high``; with ``name`` one file in the one at ``low``."""

    low: str
    high: str
    name: str | None = None


def segments(connection: sqlite3.Connection, roots: Iterable[str], *, recursive: bool = True) -> list[Segment]:
    """What is at and below ``roots``, as ranges of an index; without ``recursive`` what is right in them."""
    found: list[Segment] = []
    for root in roots:
        if not root or is_directory(connection, root):
            found.append(Segment(root, f"{root}\0"))
            if recursive:
                found.append(Segment(f"{root}/", f"{root}0") if root else Segment(" ", _LAST))
        else:
            parent, _, name = root.rpartition("/")
            found.append(Segment(parent, f"{parent}\0", name))
    return found


def content_state(connection: sqlite3.Connection, contents: Contents, digest: bytes) -> tuple[str, int]:
    """What is wrong with a content, ``missing``, ``changed`` or nothing, and how many bytes were read to know it."""
    digester, read = hashlib.sha256(), 0
    try:
        with contents.open(connection, digest) as file:
            while block := file.read(BLOCK_BYTES):
                digester.update(block)
                read += len(block)
    except (UnavailableError, OSError):
        return "missing", read
    return "" if digester.digest() == digest else "changed", read


class NodeLook:
    """Looks at nodes in one state of the database."""

    def __init__(self, connection: sqlite3.Connection, contents: Contents, *, bytes_too: bool) -> None:
        self._sql = connection
        self._contents = contents
        self._bytes_too = bytes_too
        self._models = connection.execute(
            f"SELECT id, dimension, backlog FROM models WHERE {IN_USE} ORDER BY used_at DESC, id DESC"
        ).fetchall()
        self.counts: Counter[str] = Counter()
        self.found: list[Damage] = []
        self.nodes: list[int] = []
        self.wanting: list[int] = []
        self._read = 0

    def piece(self, segment: Segment, after: tuple[str, str] | None) -> tuple[str, str] | None:
        """Look at the nodes of ``segment`` that come after one; the last of them, None at the end."""
        # A position comes from a caller, who may look at this segment alone.
        path, name = after if after and after[0] >= segment.low else (segment.low, None)
        condition, values = "d.path >= ? AND d.path < ?", [path, segment.high]
        if segment.name is not None:
            condition += " AND n.name = ?"
            values.append(segment.name)
        elif name is not None:
            condition += " AND (d.path > ? OR n.name > ?)"
            values += [path, name]
        rows = self._sql.execute(
            f"SELECT {_NODE} FROM directories d LEFT JOIN nodes n ON n.directory_id = d.id WHERE {condition}"
            " ORDER BY d.path, n.name LIMIT ?",
            (*values, NODES),
        ).fetchall()
        seen = after[0] if after else None
        for row in rows:
            if segment.name is None and row[1] != seen and row[9] != "":
                self._note("directory", "it has no node", row[1], (row[0],))
            seen = row[1]
            if row[8] is not None:
                self._node(row)
            if self.counts["passages"] >= PASSAGES or self._read >= READ_BYTES:
                return row[1], row[9] or ""
        return None if len(rows) < NODES or segment.name is not None else (rows[-1][1], rows[-1][9] or "")

    def _note(self, kind: str, detail: str, path: str, key: Sequence[Any], level: int = FILE_LEVEL) -> None:
        self.found.append(Damage(kind, detail, path, level, tuple(key)))

    def _node(self, row: tuple[Any, ...]) -> None:
        directory, node_id, name = row[1], row[8], row[9]
        if name == "":
            path = directory
            self.counts["directories"] += 1
            self._directory(row)
        else:
            path = f"{directory}/{name}" if directory else name
            self.counts["files"] += 1
            self._file(row, path)
        if (row[0] != ROOT or name) and self._one("SELECT 1 FROM names_docsize WHERE id = ?", node_id) is None:
            self._note("name_terms", "its name has no terms", path, (node_id,), 0 if name == "" else FILE_LEVEL)
        self._passages(path, node_id, row[11], is_dir=name == "")
        self.nodes.append(node_id)
        for number, (model, dimension, backlog) in enumerate(self._models):
            self._vectors(path, node_id, (model, dimension, backlog), counted=number == 0)

    def _directory(self, row: tuple[Any, ...]) -> None:
        number, path, parent_id, name, depth, kind, owner, dirty, node_id = row[:9]
        if number == ROOT:
            return
        above, _, last = path.rpartition("/")
        parent = self._sql.execute("SELECT path, dirty FROM directories WHERE id = ?", (parent_id,)).fetchone()
        derived = self._sql.execute("SELECT context_type(?), owner(?)", (path, path)).fetchone()
        if parent is None or parent[0] != above or (name, depth) != (last, path.count("/") + 1):
            self._note("directory", "its parent, name or depth is not what its path says", path, (number,), 0)
        elif (kind, owner) != derived:
            self._note("directory", "its type or owner is not what its path says", path, (number,), 0)
        elif dirty and not parent[1] and above:
            self._note("stale", "its parent does not know that it changed", path, (number,), 0)
        twin = "SELECT id FROM nodes WHERE directory_id = ? AND name = ? AND name <> ''"
        if (file := self._one(twin, parent_id, name)) is not None:
            self._note("name_twice", "there is a file of that name too", path, (file,), 0)
        self.counts["stale_directories"] += bool(dirty)
        if not dirty and self._one("SELECT 1 FROM sidecars WHERE directory_id = ?", number) is None:
            self._note("summary", "it has no summary", path, (node_id,), 0)

    def _file(self, row: tuple[Any, ...], path: str) -> None:
        node_id, digest, text, source = row[8], row[10], row[11], row[12]
        if state := "missing" if digest is None else self._content(digest):
            self._note(f"content_{state}", f"its bytes are {state}", path, (node_id, digest))
        elif text not in (None, digest) and (state := self._content(text)):
            self._note("text", f"the text made of its bytes is {state}", path, (node_id, text))
        if source is not None and self._one("SELECT 1 FROM sources WHERE id = ?", source) is None:
            self._note("source", f"its source {source} is not known", path, (node_id,))

    def _content(self, digest: bytes) -> str:
        if not self._bytes_too:
            return "" if self._contents.is_there(self._sql, digest) else "missing"
        state, read = content_state(self._sql, self._contents, digest)
        self._read += read
        return state

    def _passages(self, path: str, node_id: int, text: bytes | None, *, is_dir: bool) -> None:
        """Whether the passages of a node follow each other without gap, cover its text and have words."""
        end = {0: 0, 1: 0, FILE_LEVEL: 0}
        faults: dict[int, str] = {}
        wordless: set[int] = set()
        rows = self._sql.execute(
            'SELECT p.level, p.start, p."end", EXISTS (SELECT 1 FROM words_docsize w WHERE w.id = p.id)'
            " FROM passages p WHERE p.node_id = ? ORDER BY p.level, p.start, p.id",
            (node_id,),
        )
        for level, start, until, has_words in rows:
            self.counts["passages"] += 1
            self.counts["postings"] += has_words
            if start != end.get(level):
                faults[level] = "its passages leave a gap or overlap"
            end[level] = until
            if not has_words:
                wordless.add(level)
        if text is not None:
            size = self._one("SELECT size FROM contents WHERE hash = ?", text)
            if size is not None and size != end[FILE_LEVEL] and self._shown(text) != end[FILE_LEVEL]:
                faults.setdefault(FILE_LEVEL, "its text is not covered by passages")
        for level, detail in faults.items():
            self._note("passages", detail, path, (node_id, is_dir), level)
        for level in sorted(wordless):
            self._note("postings", "it has passages without words", path, (node_id, is_dir), level)

    def _shown(self, digest: bytes) -> int:
        """Bytes of a text but for the fields at its end that nobody gets to see; -1 where it can't be read."""
        try:
            text = self._contents.get(self._sql, digest).decode("utf-8", "replace")
        except UnavailableError:
            return -1
        return len(visible(text).encode("utf-8", "replace"))

    def _vectors(self, path: str, node_id: int, model: tuple[int, int, int], *, counted: bool) -> None:
        number, dimension, backlog = model
        missing: set[int] = set()
        damaged: set[int] = set()
        refused = False
        rows = self._sql.execute(
            "SELECT p.level, p.id, length(v.vector), q.error FROM passages p"
            " LEFT JOIN vectors v ON v.model_id = :model AND v.hash = p.hash"
            " LEFT JOIN pending q ON q.hash = p.hash AND q.model_id = :model WHERE p.node_id = :node",
            {"model": number, "node": node_id},
        )
        for level, passage, size, error in rows:
            if size is not None and size % (2 * dimension):
                damaged.add(level)
            elif size is None and error is None and passage > backlog:
                missing.add(level)
            refused |= size is None and bool(error)
            if counted:
                self.counts["vectors"] += bool(size)
                self.counts["vectors_refused"] += size is None and bool(error)
                self.counts["vectors_waiting"] += size is None and not error
        if missing or damaged or refused:
            self.wanting.append(node_id)
        for level in sorted(missing):
            self._note("vectors", "it has passages that have no vector and wait for none", path, (node_id,), level)
        for level in sorted(damaged):
            self._note("vector_damaged", "it has a vector of a wrong size", path, (node_id,), level)

    def _one(self, sql: str, *values: Any) -> Any:
        row = self._sql.execute(sql, values).fetchone()
        return None if row is None else row[0]
