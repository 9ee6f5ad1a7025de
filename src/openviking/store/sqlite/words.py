"""The words of passages and names: storing their postings, and scoring the passages that may answer a query.

Candidates are scored from their stored terms, with idf over the whole account and the terms of their path, so that
their scores are exact and absolute whatever way they were found (`openviking.store.sqlite.candidates`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from openviking.model.node import Node
from openviking.model.scope import Scope
from openviking.store.batch import StoredPassage
from openviking.store.bm25 import BODY_WEIGHT, HEADING_WEIGHT, NAME_WEIGHT, TAG_WEIGHT, TITLE_WEIGHT, idf, saturation
from openviking.store.port import Analyser, Candidate
from openviking.store.sqlite.candidates import Candidates, Term
from openviking.store.sqlite.rows import COLUMN_COUNT, COLUMNS, node

COMMON_SHARE: Final = 0.05
COMMON_PASSAGES: Final = 1000
SELECTED_POSTINGS: Final = 4000
"""Postings, rarest terms first, after which a passage must have two of the terms to be selected."""

FEW_TERMS: Final = 6
"""Up to so many terms are counted in a passage without looking first which of them it has."""

SCORE_DECIMALS: Final = 12
"""Scores that differ by less are equal: in what order they were summed up must not decide."""

NARROW_PASSAGES: Final = 1000
"""A scope of at most so many passages is scored whole where the query's terms have more postings."""


def add_passages(connection: sqlite3.Connection, node_id: int, level: int, passages: Iterable[StoredPassage]) -> None:
    """Store passages of a record with their postings, inside of a write transaction."""
    count = length = 0
    for passage in passages:
        cursor = connection.execute(
            'INSERT INTO passages (node_id, level, start, "end", first_line, last_line, breadcrumb, symbol, hash, length)'
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (node_id, level, passage.start, passage.end, passage.first_line, passage.last_line, passage.breadcrumb,
             passage.symbol, passage.hash, passage.length),
        )  # fmt: skip
        connection.execute(
            "INSERT INTO words (rowid, title, heading, body) VALUES (?, ?, ?, ?)",
            (cursor.lastrowid, passage.title_terms, passage.heading_terms, passage.body_terms),
        )
        count += 1
        length += passage.length
    _count(connection, count, length)


def drop_passages(connection: sqlite3.Connection, node_id: int, level: int, start: int = 0) -> None:
    """Remove passages of a record from byte ``start`` on with their postings, inside of a write transaction."""
    rows = connection.execute(
        "SELECT id, length FROM passages WHERE node_id = ? AND level = ? AND start >= ?", (node_id, level, start)
    ).fetchall()
    connection.executemany("DELETE FROM words WHERE rowid = ?", [(row[0],) for row in rows])
    connection.executemany("DELETE FROM passages WHERE id = ?", [(row[0],) for row in rows])
    _count(connection, -len(rows), -sum(row[1] for row in rows))


def put_passages(connection: sqlite3.Connection, node_id: int, level: int, passages: Sequence[StoredPassage]) -> None:
    """Replace the passages of a record; those at the beginning that did not change are left alone."""
    present = connection.execute(
        'SELECT start, "end", first_line, last_line, breadcrumb, symbol, hash FROM passages'
        " WHERE node_id = ? AND level = ? ORDER BY start",
        (node_id, level),
    )
    same = 0
    for passage, row in zip(passages, present.fetchall(), strict=False):
        if row != (passage.start, passage.end, passage.first_line, passage.last_line, passage.breadcrumb,
                   passage.symbol, passage.hash):  # fmt: skip
            break
        same += 1
    drop_passages(connection, node_id, level, passages[same - 1].end if same else 0)
    add_passages(connection, node_id, level, passages[same:])


def put_name(connection: sqlite3.Connection, analyser: Analyser, node_id: int, name: str) -> None:
    """Store the terms of a node's own name and tags, inside of a write transaction."""
    tags = [row[0] for row in connection.execute("SELECT tag FROM tags WHERE node_id = ? ORDER BY tag", (node_id,))]
    tag_terms = dict.fromkeys(term for tag in tags for term in analyser.name_terms(tag))
    connection.execute("DELETE FROM names WHERE rowid = ?", (node_id,))
    connection.execute(
        "INSERT INTO names (rowid, name, tags) VALUES (?, ?, ?)",
        (node_id, " ".join(analyser.name_terms(name)), " ".join(tag_terms)),
    )


def _count(connection: sqlite3.Connection, passages: int, terms: int) -> None:
    if passages or terms:
        connection.execute("UPDATE meta SET value = value + ? WHERE name = 'passages'", (passages,))
        connection.execute("UPDATE meta SET value = value + ? WHERE name = 'terms'", (terms,))


@dataclass(frozen=True, slots=True)
class _Row:
    node: Node
    passage_id: int
    level: int
    start: int
    end: int
    first_line: int
    last_line: int
    breadcrumb: str
    symbol: str
    length: int
    title: str
    heading: str
    body: str


class WordSearch:
    """One search for words in one read transaction."""

    def __init__(
        self, connection: sqlite3.Connection, analyser: Analyser, scope: Scope, file_roots: frozenset[str]
    ) -> None:
        self._sql = connection
        self._analyser = analyser
        self._candidates = Candidates(connection, scope, file_roots)
        (passages,) = connection.execute("SELECT value FROM meta WHERE name = 'passages'").fetchone()
        self._passages = max(int(passages), 1)

    def best(self, query: Sequence[str], k: int, need: int) -> list[Candidate]:
        """The ``k`` best passages, best first, equal scores by path.

        Terms in more than 5 % (and more than 1,000) of the passages score but do not select, unless passages of
        fewer than ``need`` different contents were found without them.
        """
        terms = self._weigh(query)
        whole = sum(term.weight for term in terms)
        if whole <= 0:
            return []
        most = max(COMMON_SHARE * self._passages, COMMON_PASSAGES)
        selecting = [term for term in terms if 0 < term.postings <= most]
        common = [term for term in terms if term.postings > most]
        scored: dict[int, Candidate] = {}
        if sum(term.postings for term in terms) > NARROW_PASSAGES:
            few = self._candidates.whole_scope(terms, NARROW_PASSAGES)
            if few is not None:
                self._score_all(few, terms, whole, scored)
                return _ranked(scored)[:k]
        self._score_all(
            self._candidates.named([term for term in terms if 0 < term.names <= most]), terms, whole, scored
        )
        first = _within(selecting, SELECTED_POSTINGS)
        self._score_all(self._candidates.best(selecting[:first], k), terms, whole, scored)
        self._score_all(self._candidates.pairs(selecting, first, k // 2), terms, whole, scored)
        for term in common:
            if _contents(scored) >= need:
                break
            for ids in self._candidates.common(term):
                self._score_all(ids, terms, whole, scored)
                if _contents(scored) >= need:
                    break
        return _ranked(scored)[:k]

    def _weigh(self, query: Sequence[str]) -> list[Term]:
        """The distinct terms of the query, rarest first."""
        asked: dict[str, int] = {}
        for text in query:
            asked[text] = asked.get(text, 0) + 1
        terms = []
        for text, times in asked.items():
            postings, names = (
                int(row[0])
                if (row := self._sql.execute(f"SELECT doc FROM {table} WHERE term = ?", (text,)).fetchone())
                else 0
                for table in ("word_counts", "name_counts")
            )
            terms.append(Term(text, postings, names, times * idf(self._passages, postings + names)))
        return sorted(terms, key=lambda term: (term.postings, term.text))

    def _score_all(self, ids: Sequence[int], terms: Sequence[Term], whole: float, scored: dict[int, Candidate]) -> None:
        """Score passages that are in the scope and were not scored before."""
        new = [one for one in ids if one not in scored]
        if not new:
            return
        cursor = self._sql.execute(
            f'SELECT {COLUMNS}, p.id, p.level, p.start, p."end", p.first_line, p.last_line, p.breadcrumb, p.symbol,'
            " p.length, w.title, w.heading, w.body FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value"
            " CROSS JOIN words w ON w.rowid = p.id CROSS JOIN nodes n ON n.id = p.node_id"
            " CROSS JOIN directories d ON d.id = n.directory_id",
            (json.dumps(new),),
        )
        for row in cursor:
            found = self._score(_Row(node(row), *row[COLUMN_COUNT:]), terms, whole)
            scored[found.passage_id] = found

    def _score(self, row: _Row, terms: Sequence[Term], whole: float) -> Candidate:
        title, heading, body = _padded(row.title), _padded(row.heading), _padded(row.body)
        path: frozenset[str] | None = None
        tags: frozenset[str] | None = None
        shares: list[tuple[str, float]] = []
        present = set(f"{row.title} {row.heading} {row.body}".split()) if len(terms) > FEW_TERMS else None
        for term in terms:
            if present is not None and term.text not in present and not term.names:
                continue
            padded = f" {term.text} "
            frequency = (
                TITLE_WEIGHT * title.count(padded)
                + HEADING_WEIGHT * heading.count(padded)
                + BODY_WEIGHT * body.count(padded)
            )
            if term.names:
                path = self._path_terms(row.node.path) if path is None else path
                frequency += NAME_WEIGHT * (term.text in path)
                if not frequency:
                    tags = self._tag_terms(row.node.id) if tags is None else tags
                    frequency = TAG_WEIGHT * (term.text in tags)
            if frequency:
                shares.append((term.text, term.weight * saturation(frequency, row.length) / whole))
        score = round(sum(share for _, share in shares), SCORE_DECIMALS)
        return Candidate(
            row.passage_id, row.node, row.level, score, tuple(shares), row.start, row.end, row.first_line, row.last_line,
            row.breadcrumb, row.symbol,
        )  # fmt: skip

    def _path_terms(self, path: str) -> frozenset[str]:
        return frozenset(term for name in _given_names(path) for term in self._analyser.name_terms(name))

    def _tag_terms(self, node_id: int) -> frozenset[str]:
        row = self._sql.execute("SELECT tags FROM names WHERE rowid = ?", (node_id,)).fetchone()
        return frozenset(row[0].split()) if row else frozenset()


def _given_names(path: str) -> list[str]:
    """The segments of a path that somebody chose: not its scope, user and area, which all of its kind have."""
    parts = path.split("/")
    return parts[{"user": 3, "agent": 2}.get(parts[0], 1) :]


def _within(terms: Sequence[Term], postings: int) -> int:
    """How many of ``terms``, at least one, have together at most so many postings."""
    total = 0
    for number, term in enumerate(terms):
        total += term.postings
        if number and total > postings:
            return number
    return len(terms)


def _contents(scored: dict[int, Candidate]) -> int:
    return len({match.node.hash or match.node.id for match in scored.values() if match.score > 0})


def _ranked(scored: dict[int, Candidate]) -> list[Candidate]:
    return sorted(
        (match for match in scored.values() if match.score > 0),
        key=lambda match: (-match.score, match.node.path, match.level, match.start),
    )


def _padded(terms: str) -> str:
    """Terms with two blanks between them, so that counting `` term `` also counts neighbours that are equal."""
    return f" {terms.replace(' ', '  ')} "
