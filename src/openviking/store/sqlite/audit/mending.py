"""Mends what an audit found, inside of one write transaction; what is whole by now is left alone."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from openviking.clock import now_ms
from openviking.errors import UnavailableError
from openviking.model.session import Settings, archive_id
from openviking.store.audit import Damage
from openviking.store.port import Analyser
from openviking.store.sqlite.audit.conversations import UNKNOWN
from openviking.store.sqlite.audit.nodes import content_state
from openviking.store.sqlite.audit.tables import PROMISES, VOCABULARIES, broken
from openviking.store.sqlite.contents import Contents
from openviking.store.sqlite.loose import note_dropped
from openviking.store.sqlite.models import IN_USE
from openviking.store.sqlite.pending import queue_again
from openviking.store.sqlite.purge import clear_file
from openviking.store.sqlite.tree import Tree
from openviking.store.sqlite.view import get
from openviking.store.sqlite.words import drop_passages

AT_ONCE: Final = 500
NO_TEXT: Final = bytes(32)
"""Stands as digest of a file's text that is lost, until it is made anew: no content has it."""

WORK_LOST: Final = "The work of this task was lost with its row in the queue"


class Mender:
    """One transaction; ``outdated`` says that files are to be prepared anew."""

    def __init__(self, connection: sqlite3.Connection, contents: Contents, analyser: Analyser) -> None:
        self._sql = connection
        self._contents = contents
        self._tree = Tree(connection, analyser)
        self.outdated = False
        self._kinds: dict[str, Callable[..., bool]] = {
            "text": self._text,
            "passages": self._again,
            "postings": self._again,
            "summary": self._summary,
            "name_terms": self._name,
            "directory": self._directory,
            "stale": self._stale,
            "name_twice": self._other_name,
            "vectors": self._vectors,
            "vector_damaged": self._vectors,
            "source": self._source,
            "session": self._session,
            "archive": self._archive,
            "orphan_node": self._orphan,
            "orphan_passage": self._orphan,
            "orphan_posting": self._orphan,
            "orphan_name": self._orphan,
            "orphan_vector": self._orphan,
            "orphan_content": self._orphan,
            "orphan_row": self._orphan,
            "orphan_file": self._file,
            "task": self._orphan,
            "postings_damaged": self._rebuild,
            "count": self._count,
        }

    def mend(self, found: Sequence[Damage]) -> int:
        """Mend all of it; how much."""
        # One mending may set right, or make wrong, what the count says: it comes last.
        ordered = sorted(found, key=lambda damage: damage.kind == "count")
        return sum(self._kinds[damage.kind](*damage.key) for damage in ordered if damage.kind in self._kinds)

    def close(self) -> bool:
        """Mark directories with stale sidecars; whether there are any."""
        return self._tree.close()

    def _row(self, sql: str, *values: Any) -> Any:
        return self._sql.execute(sql, values).fetchone()

    def _text(self, node_id: int, digest: bytes) -> bool:
        """Have the text of a file made from its bytes anew, in place of one that is missing or changed."""
        if not content_state(self._sql, self._contents, digest)[0]:
            return False
        # What is stored under a digest is never written over.
        self._sql.execute("DELETE FROM contents WHERE hash = ?", (digest,))
        self.outdated = True
        return (
            self._sql.execute(
                "UPDATE nodes SET text_hash = ?, prepared = 0 WHERE id = ? AND text_hash = ?",
                (NO_TEXT, node_id, digest),
            ).rowcount
            > 0
        )

    def _again(self, node_id: int, is_dir: bool) -> bool:
        if is_dir:
            return self._summary(node_id)
        self.outdated = True
        return self._sql.execute("UPDATE nodes SET prepared = 0 WHERE id = ?", (node_id,)).rowcount > 0

    def _summary(self, node_id: int) -> bool:
        """Have the summaries of a directory made from nothing: passages that look the same would be kept."""
        row = self._row("SELECT directory_id FROM nodes WHERE id = ? AND name = ''", node_id)
        if row is None:
            return False
        for level in (0, 1):
            drop_passages(self._sql, node_id, level, -(1 << 40))
        self._sql.execute("DELETE FROM sidecars WHERE directory_id = ?", row)
        self._tree.log("sidecars", node_id)
        self._tree.touch(row[0], listed=False)
        return True

    def _name(self, node_id: int) -> bool:
        row = self._row(
            "SELECT CASE WHEN n.name = '' THEN d.name ELSE n.name END FROM nodes n"
            " JOIN directories d ON d.id = n.directory_id WHERE n.id = ?",
            node_id,
        )
        if row is None:
            return False
        self._tree.put_name(node_id, row[0])
        return True

    def _directory(self, number: int) -> bool:
        """Put a directory where its path says."""
        row = self._row("SELECT path FROM directories WHERE id = ? AND path >= ' '", number)
        if row is None:
            return False
        path: str = row[0]
        above, _, name = path.rpartition("/")
        parent = self._tree.directory(above)
        self._sql.execute(
            "UPDATE directories SET parent_id = ?, name = ?, depth = ?, context_type = context_type(path),"
            " owner = owner(path) WHERE id = ?",
            (parent, name, path.count("/") + 1, number),
        )
        node = self._row("SELECT id FROM nodes WHERE directory_id = ? AND name = ''", number)
        node_id = node[0] if node else self._tree.insert_node(number, "")
        self._tree.put_name(node_id, name)
        self._tree.log("put", node_id)
        self._tree.touch(number, listed=False)
        return True

    def _stale(self, number: int) -> bool:
        self._tree.touch(number, listed=False)
        return True

    def _other_name(self, node_id: int) -> bool:
        row = self._row(
            "SELECT n.directory_id, n.name FROM nodes n JOIN directories d ON d.parent_id = n.directory_id AND d.name = n.name"
            " WHERE n.id = ?",
            node_id,
        )
        if row is None:
            return False
        directory, name = row
        taken = (
            "SELECT 1 FROM nodes WHERE directory_id = :d AND name = :n"
            " UNION ALL SELECT 1 FROM directories WHERE parent_id = :d AND name = :n"
        )
        free = next(
            one
            for one in (f"{name}_{number}" for number in range(1, 1 << 30))
            if self._sql.execute(taken, {"d": directory, "n": one}).fetchone() is None
        )
        self._sql.execute("UPDATE nodes SET name = ?, prepared = 0 WHERE id = ?", (free, node_id))
        self.outdated = True
        self._tree.put_name(node_id, free)
        self._tree.log("move", node_id)
        self._tree.touch(directory, listed=True)
        return True

    def _vectors(self, node_id: int) -> bool:
        return queue_vectors(self._sql, node_id) > 0

    def _source(self, node_id: int) -> bool:
        self._sql.execute(
            "UPDATE nodes SET source_id = NULL, source_name = '', source_hash = NULL WHERE id = ?", (node_id,)
        )
        return True

    def _session(self, path: str) -> bool:
        if self._row("SELECT 1 FROM directories WHERE path = ?", path) is None:
            return self._sql.execute("DELETE FROM sessions WHERE path = ?", (path,)).rowcount > 0
        self._known(path)
        live = "(SELECT count(*) FROM session_messages WHERE session_id = sessions.id)"
        archived = "(SELECT coalesce(sum(messages), 0) FROM session_archives WHERE session_id = sessions.id)"
        newest = "(SELECT coalesce(max(number), 0) FROM session_archives WHERE session_id = sessions.id)"
        self._sql.execute(
            f"UPDATE sessions SET messages = {live}, total = max(total, {live} + {archived}),"
            f" commits = {newest} WHERE path = ?",
            (path,),
        )
        return True

    def _known(self, path: str) -> None:
        """Have a session for a directory of one, and its archives known, as failed: what was said in them is read then."""
        now = now_ms()
        self._sql.execute(
            "INSERT INTO sessions (path, directory, created_at, updated_at, settings) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (path) DO NOTHING",
            (path, path.rpartition("/")[0], now, now, json.dumps(Settings().to_dict())),
        )
        for number, archive in self._sql.execute(UNKNOWN, {"session": path}).fetchall():
            if archive.endswith(f"/{archive_id(number)}"):
                self._sql.execute(
                    "INSERT INTO session_archives (session_id, number, state, messages, created_at)"
                    " SELECT id, ?, 'failed', ?, ? FROM sessions WHERE path = ?",
                    (number, self._lines(f"{archive}/messages.jsonl"), now, path),
                )

    def _lines(self, path: str) -> int:
        node = get(self._sql, path)
        try:
            return 0 if node is None or node.hash is None else self._contents.get(self._sql, node.hash).count(b"\n")
        except UnavailableError:
            return 0

    def _archive(self, path: str, number: int) -> bool:
        return (
            self._sql.execute(
                "UPDATE session_archives SET state = 'failed' WHERE number = ?"
                " AND session_id = (SELECT id FROM sessions WHERE path = ?)",
                (number, path),
            ).rowcount
            > 0
        )

    def _orphan(self, number: int, key: int) -> bool:
        """Clear away a row that breaks a promise of `tables`."""
        if not broken(self._sql, number, key):
            return False
        one = PROMISES[number]
        if one.kind == "orphan_node":
            clear_file(self._sql, self._contents, key)
        elif one.kind == "orphan_passage":
            node_id, digest = self._row("SELECT node_id, hash FROM passages WHERE id = ?", key)
            self._sql.execute("DELETE FROM words WHERE rowid = ?", (key,))
            self._sql.execute("DELETE FROM passages WHERE id = ?", (key,))
            self._sql.execute("UPDATE meta SET value = value - 1 WHERE name = 'passages'")
            note_dropped(self._sql, [digest])
            self._tree.log("put", node_id)
        elif one.kind in {"orphan_posting", "orphan_name"}:
            table = one.table.removesuffix("_docsize")
            self._sql.execute(f"DELETE FROM {table} WHERE rowid = ?", (key,))
        elif one.kind == "orphan_content":
            self._contents.release(self._sql, self._row("SELECT hash FROM contents WHERE rowid = ?", key)[0])
        elif one.kind == "task":
            self._sql.execute(
                "UPDATE tasks SET status = 'failed', error = ?, job_id = NULL WHERE id = ?", (WORK_LOST, key)
            )
        else:
            self._sql.execute(f"DELETE FROM {one.table} WHERE {one.key} = ?", (key,))
        return True

    def _file(self, path: str) -> bool:
        self._contents.sweep_strays(self._sql, [Path(path)])
        return True

    def _rebuild(self, table: str) -> bool:
        if table in {known for known, _ in VOCABULARIES}:
            self._sql.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
        return True

    def _count(self) -> bool:
        with contextlib.closing(self._sql.execute("SELECT count(*) FROM passages")) as counted:
            (passages,) = counted.fetchone()
        self._sql.execute("UPDATE meta SET value = ? WHERE name = 'passages'", (passages,))
        return True


def queue_vectors(connection: sqlite3.Connection, node_id: int, *, force: bool = False) -> int:
    """Queue the passages of a node for the models in use, inside of a write transaction; how many.

    Those without a vector or with a damaged one, refused ones too; with ``force`` all.
    """
    ids = [row[0] for row in connection.execute("SELECT id FROM passages WHERE node_id = ?", (node_id,))]
    queued = 0
    for model, dimension in connection.execute(f"SELECT id, dimension FROM models WHERE {IN_USE}").fetchall():
        gone = connection.execute(
            "DELETE FROM vectors WHERE model_id = ? AND hash IN (SELECT hash FROM passages WHERE node_id = ?)"
            " AND (? OR length(vector) % ? <> 0)",
            (model, node_id, force, 2 * dimension),
        ).rowcount
        if gone:
            # Who holds a scan in memory would go on with what is gone.
            connection.execute("UPDATE models SET cleared = cleared + ? WHERE id = ?", (gone, model))
        before = connection.total_changes
        for start in range(0, len(ids), AT_ONCE):
            queue_again(connection, model, ids[start : start + AT_ONCE])
        queued += connection.total_changes - before
    return queued
