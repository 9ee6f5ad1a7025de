"""The exact scores of passages, and the best passage of each record: what a search knows of the passages it has read."""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from openviking.model.scope import Scope
from openviking.store.port import Candidate, Score
from openviking.store.sqlite.rows import COLUMN_COUNT, COLUMNS, FILE_LEVEL, node, passage_conditions
from openviking.store.sqlite.scan.scans import Near
from openviking.store.sqlite.word_search import Shares, WordSearch

SCORE_DECIMALS: Final = 12
"""Scores that differ by less are equal: in what order they were summed up must not decide."""


class Scored(NamedTuple):
    """A passage with its score, in the order of ranking; ``content`` is what equal contents have in common."""

    behind: float
    path: str
    level: int
    start: int
    id: int
    node_id: int
    content: bytes | int
    words: float
    shares: Shares
    cosine: float | None
    settled: bool


class Scoring:
    """The passages of one search that were scored, each once; ``near`` is None where no vector counts."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        score: Score,
        words: WordSearch,
        near: Near | None,
        scope: Scope,
        file_roots: frozenset[str],
    ) -> None:
        self._sql = connection
        self._score = score
        self._words = words
        self._near = near
        where, values = passage_conditions(scope, file_roots)
        terms, of_words = ("w.title, w.heading, w.body", "CROSS JOIN words w ON w.rowid = p.id")
        if not words.matches:
            terms, of_words = "'', '', ''", ""
        vector, of_vectors = ("NULL", "")
        models: tuple[int, ...] = ()
        if near is not None:
            vector, of_vectors = "v.vector", "LEFT JOIN vectors v ON v.hash = p.hash AND v.model_id = ?"
            models = (near.model_id,)
        self._select = (
            f"SELECT p.id, p.node_id, p.level, p.start, p.length, d.path, n.name, coalesce(n.hash, n.id),"
            f" d.context_type, {terms}, {vector} FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value"
            " CROSS JOIN nodes n ON n.id = p.node_id CROSS JOIN directories d ON d.id = n.directory_id"
            f" {of_words} {of_vectors} WHERE {where}"
        )
        self._values = (*models, *values)
        # Directories have no content of their own: where files are looked for too, only these are counted.
        self._counted = (FILE_LEVEL,) if FILE_LEVEL in (scope.levels or (FILE_LEVEL,)) else scope.levels
        self._contents: dict[bytes | int, float] = {}
        self.seen: set[int] = set()
        self.scored: list[Scored] = []
        self.known: dict[int, Scored] = {}

    @property
    def contents(self) -> int:
        """How many different contents scored."""
        return len(self._contents)

    def lowest(self, count: int) -> float:
        """The score of the ``count``-th best content, 0 if there are fewer."""
        return heapq.nlargest(count, self._contents.values())[-1] if len(self._contents) >= count else 0.0

    def add(self, ids: Sequence[int]) -> None:
        """Score those of the passages that are in the scope and were not scored before."""
        new = sorted({*ids} - self.seen)
        if not new:
            return
        self.seen.update(new)
        rows = self._sql.execute(self._select, (json.dumps(new), *self._values)).fetchall()
        cosines: Sequence[float | None] = [None] * len(rows)
        if self._near is not None:
            cosines = self._near.cosines([row[-1] for row in rows])
        shares_of, score_of, contents = self._words.shares, self._score, self._contents
        for row, cosine in zip(rows, cosines, strict=True):
            passage, node_id, level, start, length, directory, name, content, context_type, *texts, blob = row
            shares = shares_of(node_id, length, directory, name, *texts)
            if not shares and cosine is None:
                continue
            said = round(sum([share for _, share in shares]), SCORE_DECIMALS)
            score = round(score_of(context_type, said, cosine), SCORE_DECIMALS)
            if score > 0:
                path = directory if name == "" else f"{directory}/{name}" if directory else name
                one = Scored(-score, path, level, start, passage, node_id, content, said, shares, cosine, blob == b"")
                self.scored.append(one)
                self.known[passage] = one
                if level in self._counted and score > contents.get(content, 0.0):
                    contents[content] = score

    def records(self, most: int, passages: Collection[int] | None = None) -> list[Candidate]:
        """The best passage of each record, of ``most`` different contents; only of ``passages`` where these are given."""
        best: dict[tuple[int, int], Scored] = {}
        contents: set[bytes | int] = set()
        scored_ones = self.scored if passages is None else [self.known[one] for one in passages if one in self.known]
        for scored in sorted(scored_ones):
            if len(contents) == most and scored.content not in contents:
                break
            if best.setdefault((scored.node_id, scored.level), scored) is scored and scored.level in self._counted:
                contents.add(scored.content)
        cursor = self._sql.execute(
            f'SELECT {COLUMNS}, p.id, p."end", p.first_line, p.last_line, p.breadcrumb, p.symbol'
            " FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value CROSS JOIN nodes n ON n.id = p.node_id"
            " CROSS JOIN directories d ON d.id = n.directory_id",
            (json.dumps([scored.id for scored in best.values()]),),
        )
        rows = {row[COLUMN_COUNT]: (node(row), row[COLUMN_COUNT + 1 :]) for row in cursor}
        found = []
        for one in best.values():
            its_node, place = rows[one.id]
            shares = tuple(one.shares)
            found.append(
                Candidate(one.id, its_node, one.level, -one.behind, one.words, shares, self._words.covered(shares),
                          one.cosine, one.settled, one.start, *place)
            )  # fmt: skip
        return found
