"""Reading one consistent state of an account's database."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterator, Sequence
from typing import IO, Any

from openviking.errors import FailedPreconditionError, UnavailableError
from openviking.model.embedding import Coverage
from openviking.model.node import Node, Sidecars
from openviking.model.scope import Scope
from openviking.store.port import (
    Analyser,
    Candidate,
    Change,
    DirtyDirectory,
    Entry,
    FileText,
    PassageRow,
    Query,
    Source,
    SourceFile,
    Stats,
)
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.filtering import bounded, condition_sql
from openviking.store.sqlite.inside import Inside
from openviking.store.sqlite.rows import (
    COLUMN_COUNT,
    COLUMNS,
    INDEXED,
    JOINED,
    ORDER,
    inside,
    inside_values,
    marks,
    node,
    scope_conditions,
)
from openviking.store.sqlite.scan.scans import Scans
from openviking.store.sqlite.schema import REMOVED
from openviking.store.sqlite.searching import Search
from openviking.store.sqlite.term_counts import TermCounts
from openviking.store.sqlite.uses import active_counts
from openviking.store.sqlite.walking import entries, limit_walk, ordered_ids, texts


class SqliteView:
    """The `openviking.store.port.View` of a read transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        contents: Contents,
        analyser: Analyser,
        counts: TermCounts,
        scans: Scans,
    ) -> None:
        self._sql = connection
        self._contents = contents
        self._analyser = analyser
        self._counts = counts
        self._scans = scans
        self._inside = Inside(connection, scans)
        self._fingerprint: str | None = None

    @property
    def change(self) -> int:
        """The number of the last change in this state."""
        return int(self._sql.execute("SELECT value FROM meta WHERE name = 'change'").fetchone()[0])

    def get(self, path: str) -> Node | None:
        """The node at ``path``."""
        return get(self._sql, path)

    def by_id(self, node_id: int) -> Node | None:
        """The node with an id."""
        row = self._sql.execute(
            f"SELECT {COLUMNS} FROM {JOINED} WHERE n.id = ? AND (d.path = '' OR d.path >= ' ')", (node_id,)
        ).fetchone()
        return node(row) if row else None

    def children(
        self,
        path: str,
        *,
        hidden: bool,
        limit: int | None = None,
        offset: int = 0,
        order: str = "name",
        descending: bool = False,
    ) -> list[Node]:
        """The children of a directory."""
        direction = "DESC" if descending else "ASC"
        keys = {
            "name": f"label {direction}",
            "kind": f"is_file, label {direction}",
            "mtime": f"is_file, n.updated_at {direction}, label",
        }[order]
        rows = self._sql.execute(
            f"SELECT {COLUMNS}, c.label AS label, c.is_file AS is_file FROM ({_CHILDREN}) c"
            f" CROSS JOIN nodes n ON n.id = c.id CROSS JOIN directories d ON d.id = n.directory_id"
            f" WHERE {_shown(hidden=hidden)} ORDER BY {keys} LIMIT ? OFFSET ?",
            (path, path, -1 if limit is None else limit, offset),
        )
        return [node(row) for row in rows]

    def count_children(self, path: str, *, hidden: bool) -> int:
        """How many children there are."""
        row = self._sql.execute(
            f"SELECT count(*) FROM ({_CHILDREN}) c WHERE {_shown(hidden=hidden)}", (path, path)
        ).fetchone()
        return int(row[0])

    def walk(
        self,
        path: str,
        *,
        depth: int | None = None,
        hidden_files: bool = True,
        tags: Sequence[str] = (),
        excluded: Sequence[str] = (),
        files_only: bool = False,
        under: str = "",
    ) -> Iterator[Entry]:
        """Everything below a directory in pre-order, or the file itself."""
        if self.get(path) is None:
            return iter(())
        return entries(self._sql, self._walked(path, depth, tags, excluded, under, hidden_files, files_only), path)

    def texts(
        self,
        path: str,
        *,
        depth: int | None = None,
        tags: Sequence[str] = (),
        excluded: Sequence[str] = (),
        literal: str | None = None,
    ) -> Iterator[FileText]:
        """The texts of the files that are not hidden, in the order of `walk`."""
        if self.get(path) is None:
            return iter(())
        ids = self._walked(path, depth, tags, excluded, "", False, True)
        return texts(self._sql, self._contents, ids, literal)

    def _walked(
        self,
        path: str,
        depth: int | None,
        tags: Sequence[str],
        excluded: Sequence[str],
        under: str,
        hidden_files: bool,
        files_only: bool,
    ) -> Iterator[list[int]]:
        below = f"{path}/{under}".strip("/") if under else path
        conditions, values = self._below(Scope((below,), tuple(excluded), tags=tuple(tags)))
        limit_walk(conditions, values, path, depth, hidden_files)
        if files_only:
            conditions.append("n.name <> ''")
        return ordered_ids(self._sql, conditions, values)

    def count_below(self, path: str, *, depth: int | None = None, hidden_files: bool = True) -> int:
        """How many entries `walk` gives."""
        conditions, values = self._below(Scope((path,)))
        limit_walk(conditions, values, path, depth, hidden_files)
        row = self._sql.execute(
            f"SELECT count(*) FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id"
            f" WHERE {' AND '.join(conditions)} AND NOT (n.name = '' AND d.path = ?)",
            (*values, path),
        ).fetchone()
        return int(row[0])

    def count_records(self, path: str) -> int:
        """Records at and below ``path``."""
        conditions, values = self._below(Scope((path,)))
        row = self._sql.execute(
            f"SELECT sum({INDEXED}), 2 * sum(n.name = '' AND s.directory_id IS NOT NULL)"
            " FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id LEFT JOIN sidecars s ON s.directory_id = d.id"
            f" WHERE {' AND '.join(conditions)}",
            values,
        ).fetchone()
        return int(row[0] or 0) + int(row[1] or 0)

    def data(self, node: Node) -> bytes:
        """The original bytes of a file."""
        return self._contents.get(self._sql, node.hash) if node.hash is not None else b""

    def open(self, node: Node) -> IO[bytes]:
        """The original bytes of a file as an open file."""
        return self._contents.open(self._sql, node.hash) if node.hash is not None else io.BytesIO()

    def text(self, node: Node) -> str | None:
        """The text of a file, None if it is binary."""
        if node.text_hash is None:
            return None
        try:
            return self._contents.get(self._sql, node.text_hash).decode()
        except UnicodeDecodeError as error:
            raise UnavailableError(
                f"The text of {node.uri} is damaged: {error}", service="store", reason=str(error)
            ) from error

    def slice(self, node: Node, start: int, end: int) -> str:
        """Part of a file's UTF-8 text, by bytes."""
        if node.text_hash is None:
            return ""
        return self._contents.slice(self._sql, node.text_hash, start, end).decode("utf-8", "replace")

    def file_overview(self, node: Node) -> str:
        """The L1 of a file."""
        return str(self._sql.execute("SELECT overview FROM nodes WHERE id = ?", (node.id,)).fetchone()[0])

    def sidecars(self, path: str) -> Sidecars | None:
        """The sidecars of a directory as they are stored."""
        row = self._sql.execute(
            "SELECT abstract, overview, origin, dirty > 0 FROM directories d JOIN sidecars s ON s.directory_id = d.id"
            " WHERE d.path = ?",
            (path,),
        ).fetchone()
        return Sidecars(row[0], row[1], row[2], bool(row[3])) if row else None

    def description(self, path: str) -> str:
        """The description that a directory was made with."""
        row = self._sql.execute(
            "SELECT description FROM directories d JOIN descriptions s ON s.directory_id = d.id WHERE d.path = ?",
            (path,),
        ).fetchone()
        return str(row[0]) if row else ""

    def tags(self, node_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """The tags of nodes in alphabetical order."""
        found: dict[int, list[str]] = {}
        for start in range(0, len(node_ids), 500):
            some = node_ids[start : start + 500]
            for node_id, tag in self._sql.execute(
                f"SELECT node_id, tag FROM tags WHERE node_id IN ({marks(some)}) ORDER BY node_id, tag", tuple(some)
            ):
                found.setdefault(node_id, []).append(tag)
        return {node_id: tuple(tags) for node_id, tags in found.items()}

    def active_counts(self, node_ids: Sequence[int]) -> dict[int, int]:
        """How often sessions used nodes."""
        return active_counts(self._sql, node_ids)

    def passages(self, node: Node) -> list[PassageRow]:
        """The passages of a node in order."""
        rows = self._sql.execute(
            'SELECT id, level, start, "end", first_line, last_line, breadcrumb, symbol, hash FROM passages'
            " WHERE node_id = ? ORDER BY level, start",
            (node.id,),
        )
        return [PassageRow(*row) for row in rows]

    def search(self, query: Query, scope: Scope, limit: int) -> list[Candidate]:
        """The best passage of each record for ``query``."""
        file_roots = self._file_roots(scope)
        # Whose vectors are counted is whose passages are in memory: searching by words alone has use for these, too.
        fingerprint = self._fingerprint if query.vector is None else query.vector.fingerprint

        def make(query: Query, scope: Scope) -> Search:
            return Search(self._sql, self._analyser, self._counts, self._scans, query, scope, file_roots, fingerprint)

        with bounded(self._sql, scope.condition):
            found = None
            if scope.within is not None and fingerprint is not None:
                found = self._inside.best(query, scope, limit, fingerprint, file_roots, make)
            return make(query, scope).best(limit) if found is None else found

    def coverage(self, fingerprint: str, scope: Scope) -> Coverage:
        """How many passages in ``scope`` have a vector of the model."""
        self._fingerprint = fingerprint
        with bounded(self._sql, scope.condition):
            return self._scans.coverage(self._sql, fingerprint, scope, self._file_roots(scope))

    def records(self, scope: Scope, limit: int) -> list[tuple[Node, int]]:
        """Records in ``scope``, newest first."""
        conditions, values = self._below(scope)
        if scope.levels:
            conditions.append(f"r.level IN ({marks(scope.levels)})")
            values += scope.levels
        if scope.condition is not None:
            sql, of_filter = condition_sql(scope.condition, "r.level")
            conditions.append(sql)
            values += of_filter
        select = (
            f"SELECT {COLUMNS}, r.level FROM {JOINED} CROSS JOIN ("
            " SELECT 0 AS level UNION ALL SELECT 1 UNION ALL SELECT 2) r"
            f" WHERE {' AND '.join(conditions)}"
            f" AND CASE WHEN r.level = 2 THEN {INDEXED} ELSE n.name = '' AND d.dirty = 0 AND EXISTS ("
            "  SELECT 1 FROM passages p WHERE p.node_id = n.id AND p.level = r.level) END"
            f" ORDER BY n.updated_at DESC, {ORDER}, r.level LIMIT ?"
        )
        with bounded(self._sql, scope.condition):
            rows = self._sql.execute(select, (*values, limit)).fetchall()
        return [(node(row), int(row[COLUMN_COUNT])) for row in rows]

    def dirty(self, limit: int, path: str = "") -> list[DirtyDirectory]:
        """Directories whose sidecars are stale, deepest first."""
        scope, values = ("", ()) if not path else (f" AND {inside('path')}", inside_values(path))
        rows = self._sql.execute(
            f"SELECT path, dirty FROM directories WHERE dirty > 0 AND path >= ' '{scope}"
            " ORDER BY depth DESC, path LIMIT ?",
            (*values, limit),
        )
        return [DirtyDirectory(*row) for row in rows]

    def source(self, location: str) -> Source | None:
        """The source known by its location."""
        row = self._sql.execute(f"{_SOURCES} WHERE s.location = ?", (location,)).fetchone()
        return _source(row) if row else None

    def sources(self, location: str) -> list[Source]:
        """The sources of a location."""
        rows = self._sql.execute(
            f"{_SOURCES} WHERE s.location = ? OR s.location >= ? AND s.location < ? ORDER BY s.id",
            (location, f"{location}\n", f"{location}\v"),
        )
        return [_source(row) for row in rows]

    def sources_at(self, path: str) -> list[Source]:
        """The sources that fill a node."""
        node = self.get(path)
        rows = self._sql.execute(f"{_SOURCES} WHERE s.node_id = ? ORDER BY s.id DESC", (node.id if node else -1,))
        return [_source(row) for row in rows]

    def source_files(self, source_id: int) -> Iterator[SourceFile]:
        """What a source has made and is still there."""
        rows = self._sql.execute(
            f"SELECT n.source_name, d.path, n.name, n.hash, n.source_hash, n.text_hash IS NOT NULL AND n.kind <> 'image' FROM {JOINED}"
            " WHERE n.source_id = ? AND d.path >= ' '",
            (source_id,),
        )
        for known_as, directory, name, present, delivered, is_text in rows:
            yield SourceFile(
                known_as, f"{directory}/{name}", present, present if delivered == present else delivered, bool(is_text)
            )

    def outdated(self, prepared: int, limit: int, path: str = "") -> list[Node]:
        """Text files that another version prepared."""
        conditions, values = self._below(Scope((path,)))
        rows = self._sql.execute(
            f"SELECT {COLUMNS} FROM {JOINED} WHERE n.text_hash IS NOT NULL AND (n.prepared < ? OR n.prepared > ?)"
            f" AND {' AND '.join(conditions)} LIMIT ?",
            (prepared, prepared, *values, limit),
        )
        return [node(row) for row in rows]

    def changes(self, since: int, limit: int) -> list[Change]:
        """The change log after ``since``."""
        (forgotten,) = self._sql.execute("SELECT value FROM meta WHERE name = 'forgotten'").fetchone()
        if since < forgotten:
            raise FailedPreconditionError(
                f"The change log begins after change {forgotten}, so what came after change {since} is incomplete:"
                " read the account anew",
                since=since,
                forgotten=int(forgotten),
            )
        rows = self._sql.execute(
            "SELECT change, op, node_id FROM changes WHERE change > ? ORDER BY change, rowid LIMIT ?", (since, limit)
        )
        return [Change(*row) for row in rows]

    def stats(self, prepared: int) -> Stats:
        """Counts of what is stored."""

        def count(sql: str, *values: Any) -> int:
            return int(self._sql.execute(sql, values).fetchone()[0] or 0)

        meta = dict(self._sql.execute("SELECT name, value FROM meta").fetchall())
        live = f"FROM {JOINED} WHERE d.path >= ' '"
        return Stats(
            files=count(f"SELECT count(*) {live} AND n.name <> ''"),
            directories=count("SELECT count(*) FROM directories WHERE path >= ' '"),
            records=count(f"SELECT count(*) {live} AND {INDEXED}")
            + 2
            * count("SELECT count(*) FROM sidecars s JOIN directories d ON d.id = s.directory_id WHERE d.path >= ' '"),
            passages=int(meta["passages"]),
            dirty=count("SELECT count(*) FROM directories WHERE dirty > 0 AND path >= ' '"),
            outdated=count(
                f"SELECT count(*) {live} AND n.text_hash IS NOT NULL AND (n.prepared < ? OR n.prepared > ?)",
                prepared,
                prepared,
            ),
            change=int(meta["change"]),
        )

    def _below(self, scope: Scope) -> tuple[list[str], list[Any]]:
        return scope_conditions(scope, self._file_roots(scope))

    def _file_roots(self, scope: Scope) -> frozenset[str]:
        paths = (*(scope.roots or ()), *scope.excluded)
        return frozenset(path for path in paths if path and (found := self.get(path)) is not None and not found.is_dir)


_SOURCES = (
    "SELECT s.id, s.location, d.path, n.name, s.state FROM sources s LEFT JOIN nodes n ON n.id = s.node_id"
    " LEFT JOIN directories d ON d.id = n.directory_id"
)
_CHILDREN = (
    "SELECT n.id, e.name AS label, 0 AS is_file FROM directories p JOIN directories e ON e.parent_id = p.id"
    " JOIN nodes n ON n.directory_id = e.id AND n.name = '' WHERE p.path = ?"
    " UNION ALL SELECT n.id, n.name, 1 FROM directories p JOIN nodes n ON n.directory_id = p.id WHERE p.path = ? AND n.name <> ''"
)


def get(connection: sqlite3.Connection, path: str) -> Node | None:
    """The node at ``path`` in whatever state ``connection`` sees."""
    row = connection.execute(
        f"SELECT {COLUMNS} FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id AND n.name = '' WHERE d.path = ?",
        (path,),
    ).fetchone()
    if row is None and path:
        parent, _, name = path.rpartition("/")
        row = connection.execute(
            f"SELECT {COLUMNS} FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id AND n.name = ? WHERE d.path = ?",
            (name, parent),
        ).fetchone()
    return node(row) if row else None


def _source(row: tuple[int, str, str | None, str | None, str]) -> Source:
    number, location, directory, name, state = row
    if directory is None or directory.startswith(REMOVED):
        return Source(number, location, None)
    return Source(number, location, f"{directory}/{name}" if name else directory, state)


def _shown(*, hidden: bool) -> str:
    return "1" if hidden else "(NOT c.is_file OR substr(c.label, 1, 1) <> '.')"
