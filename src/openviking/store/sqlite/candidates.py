"""Which passages may be the best for a query's terms, inside of a scope: read from postings, without their text.

FTS5 lists postings without regard to how good they are. Therefore rare terms select by an exact score over all of their
postings, more frequent ones only in pairs, and what is common only where nothing else was found.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from openviking.model.scope import Scope
from openviking.store.bm25 import BODY_WEIGHT, HEADING_WEIGHT, TITLE_WEIGHT, saturation_sql
from openviking.store.sqlite.rows import VISIBLE, marks, scope_conditions

NAMED_NODES: Final = 64
"""Nodes that are looked at because the query's words are in their name."""

RECENT_POSTINGS: Final = 5000
"""About so many of the newest postings of a common term are gone through before its scope is looked at."""

HEADED_PASSAGES: Final = 4000
"""Passages with a common term in their title or heading that are compared; more say nothing."""

COMMON_STEP: Final = 200
"""Passages with a common term that are scored at a time."""

PAIRED_TERMS: Final = 8
"""More frequent terms that select only where another term of the query is too."""

_CHUNK: Final = 2000
_DECIMALS: Final = 9
"""Scores that are equal to so many decimals are equal: the order in which SQL sums up must not decide."""

_INSTANCES = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_instances USING fts5vocab('main', 'words', 'instance')"
_OF_TERM = (
    "SELECT doc, ? AS weight, sum(CASE col"
    f" WHEN 'title' THEN {TITLE_WEIGHT} WHEN 'heading' THEN {HEADING_WEIGHT} ELSE {BODY_WEIGHT} END) AS frequency"
    " FROM temp.word_instances WHERE term = ? GROUP BY doc"
)
_RANK = f"bm25(words, {TITLE_WEIGHT}, {HEADING_WEIGHT}, {BODY_WEIGHT})"
_TEXT = "w.title || ' ' || w.heading || ' ' || w.body"
_BELOW = "directories d CROSS JOIN nodes n ON n.directory_id = d.id CROSS JOIN passages p ON p.node_id = n.id"
_PLACE = "CROSS JOIN nodes n ON n.id = p.node_id CROSS JOIN directories d ON d.id = n.directory_id"


@dataclass(frozen=True, slots=True)
class Term:
    """A distinct term of a query: how many passages and how many names have it, and its idf times how often it is asked."""

    text: str
    postings: int
    names: int
    weight: float


class Candidates:
    """Finds passages of one scope in one read transaction; every answer is a list of passage ids."""

    def __init__(self, connection: sqlite3.Connection, scope: Scope, file_roots: frozenset[str]) -> None:
        self._sql = connection
        self._roots = scope_conditions(Scope(scope.roots, scope.excluded), file_roots)
        conditions, self._values = scope_conditions(scope, file_roots)
        conditions += ["(p.level = 2 OR d.dirty = 0)", VISIBLE]
        if scope.levels:
            conditions.append(f"p.level IN ({marks(scope.levels)})")
            self._values += scope.levels
        self._where = " AND ".join(conditions)

    def best(self, terms: Sequence[Term], k: int) -> list[int]:
        """The ``k`` passages that score best by ``terms`` in their text, equal scores by path, of all their postings."""
        if not terms:
            return []
        self._sql.execute(_INSTANCES)
        cursor = self._sql.execute(
            f"SELECT f.doc, round(sum(f.weight * {saturation_sql('f.frequency', 'p.length')}), {_DECIMALS}) AS score"
            f" FROM ({' UNION ALL '.join([_OF_TERM] * len(terms))}) f CROSS JOIN passages p ON p.id = f.doc"
            " GROUP BY f.doc ORDER BY score DESC",
            [value for term in terms for value in (term.weight, term.text)],
        )
        kept: list[tuple[float, str, int, int, int]] = []
        size = k
        while chunk := cursor.fetchmany(size):
            if len(kept) == k and -kept[-1][0] > chunk[0][1]:
                break
            kept = sorted(kept + self._placed(dict(chunk)))[:k]
            size = min(2 * size, _CHUNK)
        cursor.close()
        return [row[-1] for row in kept]

    def pairs(self, terms: Sequence[Term], first: int, k: int) -> list[int]:
        """Up to ``k`` good passages that have two of ``terms``, one of them among the rarest from number ``first`` on."""
        rest = terms[first : first + PAIRED_TERMS]
        matches = [f"({_quoted(term)} AND ({_either(rest[number:])}))" for number, term in enumerate(rest[:-1], 1)]
        if rest and first:
            matches.append(f"(({_either(rest)}) AND ({_either(terms[:first])}))")
        return self._matching(" OR ".join(matches), k) if matches else []

    def common(self, term: Term) -> Iterator[list[int]]:
        """Passages with a common term, some at a time: by title or heading, the newest, the first of the scope, the rest."""
        heads = f"{{title heading}} : {_quoted(term)}"
        (count,) = self._sql.execute(
            "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (heads, HEADED_PASSAGES + 1)
        ).fetchone()
        if 0 < count <= HEADED_PASSAGES:
            yield self._matching(heads, COMMON_STEP)
        (last,) = self._sql.execute("SELECT coalesce(max(id), 0) FROM passages").fetchone()
        border = last - last * RECENT_POSTINGS // max(term.postings, 1)
        newest = self._newest(term, "w.rowid > ?", border)
        yield [row[0] for row in newest.fetchmany(COMMON_STEP)]
        yield [
            row[0]
            for row in self._sql.execute(
                f"SELECT s.id FROM (SELECT p.id FROM {_BELOW} WHERE {self._where} LIMIT ?) s"
                f" CROSS JOIN words w ON w.rowid = s.id WHERE instr({_TEXT}, ?)",
                (*self._values, COMMON_STEP, term.text),
            )
        ]
        for rest in (newest, self._newest(term, "w.rowid <= ?", border)):
            while some := rest.fetchmany(COMMON_STEP):
                yield [row[0] for row in some]

    def named(self, terms: Sequence[Term]) -> list[int]:
        """First passages of records whose name or tags have one of the terms, and of files in directories so named."""
        if not terms:
            return []
        nodes = {
            row[0]
            for row in self._sql.execute(
                "SELECT rowid FROM names WHERE names MATCH ? ORDER BY bm25(names), rowid LIMIT ?",
                (_either(terms), NAMED_NODES),
            )
        }
        below = self._sql.execute(
            "SELECT n.id FROM json_each(?) j CROSS JOIN nodes o ON o.id = j.value AND o.name = ''"
            " CROSS JOIN nodes n ON n.id IN ("
            "  SELECT m.id FROM nodes m WHERE m.directory_id = o.directory_id ORDER BY m.name LIMIT ?)",
            (json.dumps(sorted(nodes)), NAMED_NODES // 4),
        )
        nodes.update(row[0] for row in below.fetchall())
        rows = self._sql.execute(
            f"SELECT p.id FROM json_each(?) j CROSS JOIN passages p ON p.node_id = j.value {_PLACE}"
            f" WHERE p.start = 0 AND {self._where}",
            (json.dumps(sorted(nodes)), *self._values),
        )
        return [row[0] for row in rows]

    def whole_scope(self, terms: Sequence[Term], most: int) -> list[int] | None:
        """All passages of the scope that may match if its subtrees have at most ``most`` passages, else None."""
        conditions, values = self._roots
        (count,) = self._sql.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM {_BELOW} WHERE {' AND '.join(conditions)} LIMIT ?)",
            (*values, most + 1),
        ).fetchone()
        if count > most:
            return None
        texts: list[Any] = []
        has_term = ""
        if not any(term.names for term in terms):
            texts = [term.text for term in terms if term.postings]
            has_term = f" AND ({' OR '.join([f'instr({_TEXT}, ?)'] * len(texts)) or '0'})"
        rows = self._sql.execute(
            f"SELECT p.id FROM {_BELOW} CROSS JOIN words w ON w.rowid = p.id WHERE {self._where}{has_term}",
            (*self._values, *texts),
        )
        return [row[0] for row in rows]

    def _placed(self, scores: dict[int, float]) -> list[tuple[float, str, int, int, int]]:
        """Those of the passages that are in the scope, as (minus score, path, level, start, id)."""
        rows = self._sql.execute(
            "SELECT p.id, CASE WHEN n.name = '' THEN d.path WHEN d.path = '' THEN n.name ELSE d.path || '/' || n.name END,"
            f" p.level, p.start FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value {_PLACE} WHERE {self._where}",
            (json.dumps(list(scores)), *self._values),
        )
        return [(-scores[one], path, level, start, one) for one, path, level, start in rows]

    def _newest(self, term: Term, condition: str, value: int) -> sqlite3.Cursor:
        return self._sql.execute(
            f"SELECT w.rowid FROM words w CROSS JOIN passages p ON p.id = w.rowid {_PLACE}"
            f" WHERE words MATCH ? AND {condition} AND {self._where} ORDER BY w.rowid DESC",
            (_quoted(term), value, *self._values),
        )

    def _matching(self, match: str, k: int) -> list[int]:
        """Up to ``k`` passages of an FTS5 query in the scope, by FTS5's own BM25."""
        rows = self._sql.execute(
            f"SELECT w.rowid FROM words w CROSS JOIN passages p ON p.id = w.rowid {_PLACE}"
            f" WHERE words MATCH ? AND {self._where} ORDER BY {_RANK}, w.rowid LIMIT ?",
            (match, *self._values, k),
        )
        return [row[0] for row in rows]


def _either(terms: Sequence[Term]) -> str:
    return " OR ".join(map(_quoted, terms))


def _quoted(term: Term) -> str:
    return '"' + term.text.replace('"', '""') + '"'
