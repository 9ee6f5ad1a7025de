"""Retrieval test sets on disk: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv`` in one folder per set (BEIR's shape).

A line of the corpus is ``{"_id", "title", "text"}`` and may have a ``group``; a query is ``{"_id", "text"}`` and is
answered within its ``group`` where it has one. The qrels have a header and ``query-id``, ``corpus-id``, ``score``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_NAME = re.compile(r"[^\w.-]+")
_CODE = re.compile(r"\s*(?:@|def |class |async def )")


@dataclass(frozen=True, slots=True)
class Item:
    """A document or a query."""

    id: str
    title: str
    text: str
    group: str


@dataclass(frozen=True, slots=True)
class EvalSet:
    """One set; ``relevant`` holds by query the documents that answer it, with their grade (1 and up).

    ``folders`` are by document the folders below the set's directory that it is in; none where it is right there.
    """

    name: str
    documents: tuple[Item, ...]
    queries: tuple[Item, ...]
    relevant: dict[str, dict[str, int]]
    folders: dict[str, str] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        """``.py`` where most documents are Python functions, else ``.md``."""
        code = sum(1 for one in self.documents if _CODE.match(one.text))
        return ".py" if 2 * code > len(self.documents) else ".md"

    def directory(self, group: str) -> str:
        """The store path of a group's documents: grouped sets are a user's memories, others resources."""
        if any(one.group for one in self.documents):
            return f"user/default/memories/{_NAME.sub('_', group) or 'other'}"
        return f"resources/{_NAME.sub('_', self.name)}"

    def files(self) -> dict[str, Item]:
        """The documents by the store path they are imported under: their id, without the group it may start with."""
        files: dict[str, Item] = {}
        for one in self.documents:
            name = _NAME.sub("_", one.id.removeprefix(f"{one.group}/") if one.group else one.id)
            folder = f"/{self.folders[one.id]}" if one.id in self.folders else ""
            path = f"{self.directory(one.group)}{folder}/{name}{self.suffix}"
            if path in files:
                raise SystemExit(f"{self.name}: the ids {files[path].id!r} and {one.id!r} give the same file {path}")
            files[path] = one
        return files


def content(item: Item) -> str:
    """The text of a document's file, with the title as its heading (which in Python is a comment)."""
    return f"# {item.title}\n\n{item.text}" if item.title else item.text


def names(folder: Path) -> list[str]:
    """The sets in ``folder``, in alphabetical order."""
    return sorted(path.parent.name for path in folder.glob("*/corpus.jsonl"))


def load(folder: Path, name: str) -> EvalSet:
    """The set ``name`` of ``folder``; queries without a relevant document are left out."""
    relevant: dict[str, dict[str, int]] = {}
    for line in (folder / name / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, {})[document] = int(grade)
    documents = tuple(_items(folder / name / "corpus.jsonl"))
    queries = tuple(one for one in _items(folder / name / "queries.jsonl") if one.id in relevant)
    return EvalSet(name, documents, queries, relevant)


def _items(path: Path) -> Iterable[Item]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            yield Item(row["_id"], row.get("title") or "", row["text"], row.get("group") or "")


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over the queries of a set, each from 0 to 1, of the first ten hits."""

    ndcg10: float
    recall5: float
    recall10: float
    mrr10: float


def quality(ranked: Sequence[tuple[Sequence[str], dict[str, int]]]) -> Quality:
    """The quality of answers, each given as its document ids, best first, with the relevant documents' grades.

    nDCG has gain 2^grade - 1; recall is of as many relevant documents as could be among the first 5 or 10.
    """
    totals = [0.0, 0.0, 0.0, 0.0]
    for ids, grades in ranked:
        gains = [2 ** grades.get(one, 0) - 1 for one in ids[:10]]
        ideal = [2**grade - 1 for grade in sorted(grades.values(), reverse=True)[:10]]
        first = next((place for place, gain in enumerate(gains, 1) if gain), None)
        totals[0] += _dcg(gains) / _dcg(ideal)
        totals[1] += sum(1 for gain in gains[:5] if gain) / min(len(grades), 5)
        totals[2] += sum(1 for gain in gains if gain) / min(len(grades), 10)
        totals[3] += 1 / first if first else 0.0
    return Quality(*(total / max(len(ranked), 1) for total in totals))


def _dcg(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))
