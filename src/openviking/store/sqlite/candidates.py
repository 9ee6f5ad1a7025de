"""Which passages may be the best for a query's terms, inside of a scope: read from postings, without their text.

FTS5 lists postings without regard to how good they are. Therefore rare terms select by an exact score over all of their
postings, more frequent ones in pairs, and what is left only where too few other records were found. Of one record a
reading takes few passages, of equal contents few records: so neither a large file nor copies crowd out the rest.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openviking.model.scope import Scope
from openviking.store.bm25 import BODY_WEIGHT, FIXED, HEADING_WEIGHT, PER_WORD, SHORTEST, TITLE_WEIGHT
from openviking.store.sqlite.rows import (
    FILE_LEVEL,
    FOUND,
    level_condition,
    levels_sql,
    passage_conditions,
    scope_conditions,
)

if TYPE_CHECKING:
    # A store without vectors needs no numbers, and numpy takes its time to load.
    from openviking.store.sqlite.scan.postings import Passages, Said

OF_RECORD: Final = 16
"""Passages of one record that a reading takes; the first ones are the best by the terms that are read."""

NAMED_NODES: Final = 64
"""Nodes that are looked at because the query's words are in their name, and how many are read at a time."""

BELOW_NAMED: Final = 64
"""Nodes below a directory that are looked at because the query's words are in the directory's name."""

RECENT_POSTINGS: Final = 1000
"""About so many of the newest postings of a common term are gone through before its scope is looked at."""

SCOPE_PASSAGES: Final = 400
"""So many passages of the scope, first by path, are looked through for a common term."""

POSTINGS_PER_PASSAGE: Final = 4
"""A scope is looked through whole if it has fewer passages than the term's postings divided by this."""

HEADED_PASSAGES: Final = 2000
"""Passages with a common term in their title or heading that are compared; more say nothing."""

PAIRED_TERMS: Final = 8
"""More frequent terms that select where another term of the query is too."""

INSTANCES: Final = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_instances USING fts5vocab('main', 'words', 'instance')"

_NO_ID: Final = 1 << 62
_CHUNK: Final = 2000
_DECIMALS: Final = 9
"""Scores that are equal to so many decimals are equal: the order in which SQL sums up must not decide."""

_OF_TERM = (
    "SELECT doc, ? AS weight, sum(CASE col"
    f" WHEN 'title' THEN {TITLE_WEIGHT} WHEN 'heading' THEN {HEADING_WEIGHT} ELSE {BODY_WEIGHT} END) AS frequency"
    " FROM temp.word_instances WHERE term = ? GROUP BY doc"
)
_RANK = f"bm25(words, {TITLE_WEIGHT}, {HEADING_WEIGHT}, {BODY_WEIGHT})"
_TEXT = "w.title || ' ' || w.heading || ' ' || w.body"
_BELOW = "directories d CROSS JOIN nodes n ON n.directory_id = d.id CROSS JOIN passages p ON p.node_id = n.id"
_PLACE = "CROSS JOIN nodes n ON n.id = p.node_id CROSS JOIN directories d ON d.id = n.directory_id"
_FIRST = "CROSS JOIN directories d ON d.id = n.directory_id CROSS JOIN passages p ON p.node_id = n.id AND p.start = 0"
_PASSAGE = "p.id, p.node_id, p.level, coalesce(n.hash, n.id)"
_PATH = "CASE WHEN n.name = '' THEN d.path WHEN d.path = '' THEN n.name ELSE d.path || '/' || n.name END"

Passage = tuple[int, int, int, bytes | int]
"""A passage as it is read: its id, its record (node and level), and what its content is known by."""


@dataclass(frozen=True, slots=True)
class Term:
    """A distinct term of a query: how many passages and how many names have it, and its idf times how often it is asked."""

    text: str
    postings: int
    names: int
    weight: float


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a reading takes: until it has ``passages``, and these have ``contents`` different contents."""

    passages: int
    contents: int


class Candidates:
    """Finds passages of one scope in one read transaction; every answer is a list of passage ids."""

    def __init__(
        self, connection: sqlite3.Connection, scope: Scope, file_roots: frozenset[str], passages: Passages | None
    ) -> None:
        self._sql = connection
        self._passages = passages
        self._said: Said | dict[int, float] = {}
        self.in_memory = passages is not None
        self.unsaid = 0.0
        self._roots = scope_conditions(Scope(scope.roots, scope.excluded, within=scope.within), file_roots)
        conditions, self._node_values = scope_conditions(scope, file_roots)
        self._node_where = " AND ".join([*conditions, FOUND])
        self._in_filter, self._filter_values = levels_sql(scope)
        self._level_where, self._levels = level_condition(scope)
        self._where, self._values = passage_conditions(scope, file_roots)
        self._places: dict[int, tuple[str, bytes | int, int, int] | None] = {}

    def best(self, terms: Sequence[Term], quota: Quota) -> list[int]:
        """The passages that score best by ``terms`` in their text, equal scores by path, of all their postings."""
        if not terms:
            return []
        if self._passages is not None:
            from openviking.store.sqlite.scan.postings import Said  # noqa: PLC0415

            self._sql.execute(INSTANCES)
            said = self._said = Said(self._sql, self._passages, [(term.text, term.weight) for term in terms])
            return _taken(self._in_order(said, quota.passages, {}), quota)
        self._sql.execute(INSTANCES)
        cursor = self._sql.execute(
            f"SELECT round(sum(f.weight * {saturation_sql('f.frequency', 'p.length')}), {_DECIMALS}) AS score,"
            f" f.doc, p.node_id, p.level, p.start FROM ({' UNION ALL '.join([_OF_TERM] * len(terms))}) f"
            f" CROSS JOIN passages p ON p.id = f.doc WHERE {self._level_where} GROUP BY f.doc ORDER BY score DESC",
            [*(value for term in terms for value in (term.weight, term.text)), *self._levels],
        )
        scores: dict[int, float] = {}
        ids = _taken(self._in_order(cursor, quota.passages, scores), quota)
        self._said = {passage: scores.pop(passage) for passage in ids}
        # What was not read yet scores no more than what was read last.
        last = self._said[ids[-1]] if len(ids) >= quota.passages else 0.0
        self.unsaid = max(scores.values(), default=last)
        return ids

    def said(self, passages: Collection[int]) -> dict[int, float]:
        """What the terms of the last `best` say of ``passages``, in weight; of one that is missing ``unsaid`` at most."""
        if isinstance(self._said, dict):
            return {passage: self._said[passage] for passage in passages if passage in self._said}
        return self._said.of(passages)

    def pairs(self, terms: Sequence[Term], first: int, quota: Quota) -> list[int]:
        """Good passages that have two of ``terms``, one of them among the rarest from number ``first`` on."""
        rest = terms[first : first + PAIRED_TERMS]
        matches = [f"({_quoted(term)} AND ({_either(rest[number:])}))" for number, term in enumerate(rest[:-1], 1)]
        if rest and first:
            matches.append(f"(({_either(rest)}) AND ({_either(terms[:first])}))")
        return _taken(self._matching(" OR ".join(matches)), quota) if matches else []

    def named(self, terms: Sequence[Term], quota: Quota) -> list[int]:
        """First passages of records whose name or tags have one of the terms, and of files in directories so named."""
        return _taken(self._named(terms), quota) if terms else []

    def whole_scope(self, most: int) -> list[int] | None:
        """All passages of the scope if there are at most ``most`` (where they are not in memory: in its subtrees)."""
        if self._passages is not None:
            return self._passages.ids.tolist() if len(self._passages.ids) <= most else None
        conditions, values = self._roots
        if self._count(" AND ".join(conditions), values, most + 1) > most:
            return None
        return [row[0] for row in self._sql.execute(f"SELECT p.id FROM {_BELOW} WHERE {self._where}", self._values)]

    def more(self, terms: Sequence[Term], quota: Quota) -> Iterator[list[int]]:
        """All passages with one of the terms, and all records with one in their path or tags, some at a time.

        Begins with recent passages that have all of the terms. ``quota`` is that of each time.
        """
        written = [term for term in terms if term.postings]
        if len(written) > 1:
            yield next(self._newest(" AND ".join(map(_quoted, written)), self._border(written[0]), quota), [])
        for term in written:
            yield from self._with_term(term, quota)
        for term in sorted(terms, key=lambda term: (term.names, term.text)):
            if term.names:
                yield from self._all_named(term, quota.passages)

    def _with_term(self, term: Term, quota: Quota) -> Iterator[list[int]]:
        """Passages with a term: by title or heading, the newest, the first of the scope, the rest."""
        heads = f"{{title heading}} : {_quoted(term)}"
        (count,) = self._sql.execute(
            "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (heads, HEADED_PASSAGES + 1)
        ).fetchone()
        if 0 < count <= HEADED_PASSAGES:
            yield _taken(self._matching(heads), quota)
        border = self._border(term)
        newest = self._newest(_quoted(term), border, quota)
        yield next(newest, [])
        few = max(SCOPE_PASSAGES, term.postings // POSTINGS_PER_PASSAGE)
        size = len(self._passages.ids) if self._passages is not None else None
        narrow = (self._count(self._where, self._values, few + 1) if size is None else size) <= few
        rows = self._sql.execute(
            f"SELECT s.* FROM (SELECT {_PASSAGE} FROM {_BELOW} WHERE {self._where} LIMIT ?) s"
            f" CROSS JOIN words w ON w.rowid = s.id WHERE instr({_TEXT}, ?)",
            (*self._values, few if narrow else SCOPE_PASSAGES, term.text),
        )
        while some := rows.fetchmany(quota.passages):
            yield _taken(some, quota)
        if narrow:
            return
        yield from newest
        yield from self._newest(_quoted(term), 0, quota, border + 1)

    def _count(self, where: str, values: Sequence[Any], most: int) -> int:
        """How many passages there are, at most ``most``."""
        (count,) = self._sql.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM {_BELOW} WHERE {where} LIMIT ?)", (*values, most)
        ).fetchone()
        return int(count)

    def _border(self, term: Term) -> int:
        """Behind which passage about `RECENT_POSTINGS` postings of a term are."""
        (last,) = self._sql.execute("SELECT coalesce(max(id), 0) FROM passages").fetchone()
        return int(max(last - last * RECENT_POSTINGS // term.postings, 0))

    def _newest(self, match: str, above: int, quota: Quota, below: int = _NO_ID) -> Iterator[list[int]]:
        """Passages of an FTS5 query in the scope, newest first, some at a time; of a large file not all."""
        size = quota.passages
        while below > above:
            rows = self._sql.execute(
                f"SELECT {_PASSAGE} FROM words w CROSS JOIN passages p ON p.id = w.rowid {_PLACE}"
                f" WHERE words MATCH ? AND w.rowid > ? AND w.rowid < ? AND {self._where} ORDER BY w.rowid DESC",
                (match, above, below, *self._values),
            )
            last = None
            while last is None and (some := rows.fetchmany(size)):
                yield _taken(some, quota)
                if len(some) == size and some[-1][1] == some[size // 2][1]:
                    last = some[-1]
            if last is None:
                return
            # A file's passages are stored one behind the other: go on in front of them.
            row = self._sql.execute(
                "SELECT id FROM passages WHERE id < ? AND node_id <> ? ORDER BY id DESC LIMIT 1", last[:2]
            ).fetchone()
            below = row[0] + 1 if row else 0

    def _named(self, terms: Sequence[Term]) -> Iterator[Passage]:
        nodes = self._sql.execute(
            "SELECT rowid FROM names WHERE names MATCH ? ORDER BY bm25(names), rowid", (_either(terms),)
        )
        while some := [row[0] for row in nodes.fetchmany(NAMED_NODES)]:
            yield from self._sql.execute(
                f"SELECT {_PASSAGE} FROM json_each(?) j CROSS JOIN nodes n ON n.id = j.value {_FIRST} WHERE {self._where}",
                (json.dumps(some), *self._values),
            )
            yield from self._sql.execute(
                f"SELECT {_PASSAGE} FROM json_each(?) j CROSS JOIN nodes o ON o.id = j.value AND o.name = ''"
                " CROSS JOIN directories e ON e.id = o.directory_id AND e.path >= ' ' CROSS JOIN nodes n ON n.id IN ("
                f"  SELECT m.id FROM directories s CROSS JOIN nodes m ON m.directory_id = s.id WHERE {_inside('s', 'e')}"
                "  ORDER BY s.path LIMIT ?)"
                f" {_FIRST} WHERE {self._where}",
                (json.dumps(some), BELOW_NAMED, *self._values),
            )

    def _all_named(self, term: Term, size: int) -> Iterator[list[int]]:
        """First passages of the records with a term in their path or tags, some at a time: first those of the scope."""
        rows = self._sql.execute(
            f"SELECT p.id FROM {_BELOW} AND p.start = 0 WHERE {self._where} LIMIT ?", (*self._values, size)
        )
        yield [row[0] for row in rows]
        rows = self._sql.execute(
            f"SELECT p.id FROM names m CROSS JOIN nodes n ON n.id = m.rowid {_FIRST}"
            f" WHERE names MATCH ? AND {self._where} ORDER BY m.rowid DESC",
            (_quoted(term), *self._values),
        )
        while some := rows.fetchmany(size):
            yield [row[0] for row in some]
        rows = self._sql.execute(
            "SELECT p.id FROM names m CROSS JOIN nodes o ON o.id = m.rowid AND o.name = ''"
            " CROSS JOIN directories e ON e.id = o.directory_id AND e.path >= ' '"
            f" CROSS JOIN directories d ON {_inside('d', 'e')}"
            " CROSS JOIN nodes n ON n.directory_id = d.id CROSS JOIN passages p ON p.node_id = n.id AND p.start = 0"
            f" WHERE names MATCH ? AND {self._where}",
            (f"name : {_quoted(term)}", *self._values),
        )
        while some := rows.fetchmany(size):
            yield [row[0] for row in some]

    def _in_order(self, cursor: sqlite3.Cursor | Said, size: int, scores: dict[int, float]) -> Iterator[Passage]:
        """Those of scored passages that are in the scope, in the order of scores, equal ones by path.

        What they score is put into ``scores``.
        """
        held: list[tuple[float, str, int, int, Passage]] = []
        while chunk := cursor.fetchmany(size):
            self._place({row[2] for row in chunk})
            for score, passage, node, level, start in chunk:
                place = self._places[node]
                if place is not None and (level == FILE_LEVEL or not place[2]) and place[3] >> level & 1:
                    scores[passage] = score
                    held.append((-score, place[0], level, start, (passage, node, level, place[1])))
            held.sort()
            equal = next((number for number, row in enumerate(held) if -row[0] <= chunk[-1][0]), len(held))
            yield from (row[-1] for row in held[:equal])
            del held[:equal]
            size = min(2 * size, _CHUNK)
        yield from (row[-1] for row in held)

    def _place(self, nodes: set[int]) -> None:
        """Look up nodes: their path, content, change that waits and levels, or that they are out of the scope."""
        new = [node for node in nodes if node not in self._places]
        self._places.update(dict.fromkeys(new))
        for node, *place in self._sql.execute(
            f"SELECT n.id, {_PATH}, coalesce(n.hash, n.id), d.dirty, {self._in_filter} FROM json_each(?) j"
            " CROSS JOIN nodes n ON n.id = j.value CROSS JOIN directories d ON d.id = n.directory_id"
            f" WHERE {self._node_where}",
            (*self._filter_values, json.dumps(new), *self._node_values),
        ):
            self._places[node] = (place[0], place[1], place[2], place[3])

    def _matching(self, match: str) -> sqlite3.Cursor:
        """The passages of an FTS5 query in the scope, by FTS5's own BM25."""
        return self._sql.execute(
            f"SELECT {_PASSAGE} FROM words w CROSS JOIN passages p ON p.id = w.rowid {_PLACE}"
            f" WHERE words MATCH ? AND {self._where} ORDER BY {_RANK}, w.rowid",
            (match, *self._values),
        )


def saturation_sql(frequency: str, length: str) -> str:
    """`openviking.store.bm25.saturation` as an SQL expression of two column names."""
    return f"{frequency} / ({frequency} + {FIXED!r} + {PER_WORD!r} * max({length}, {SHORTEST}))"


def _inside(one: str, other: str) -> str:
    """SQL for "the path of ``one`` is that of ``other`` or below it". "0" is the character after "/"."""
    return (
        f"{one}.path >= {other}.path AND {one}.path < {other}.path || '0'"
        f" AND substr({one}.path || '/', 1, length({other}.path) + 1) = {other}.path || '/'"
    )


def _taken(rows: Iterable[Passage], quota: Quota) -> list[int]:
    """Passages from an ordered reading, `OF_RECORD` of a record, and records with one content as many as contents."""
    ids: list[int] = []
    taken: dict[tuple[int, int], int] = {}
    copies: dict[bytes | int, set[int]] = {}
    for passage, node, level, content in rows:
        count = taken.get((node, level), 0)
        if not count:
            nodes = copies.setdefault(content, set())
            if len(nodes) >= max(quota.contents, OF_RECORD) and node not in nodes:
                continue
            nodes.add(node)
        elif count >= OF_RECORD:
            continue
        taken[node, level] = count + 1
        ids.append(passage)
        if len(ids) >= quota.passages and len(copies) >= quota.contents:
            break
    return ids


def _either(terms: Sequence[Term]) -> str:
    return " OR ".join(map(_quoted, terms))


def _quoted(term: Term) -> str:
    return '"' + term.text.replace('"', '""') + '"'
