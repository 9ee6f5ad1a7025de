"""Measures how well find answers the queries of test sets, through the real engine in a temporary store.

``python evals/run.py --data DIR [--sets a,b] [--json] [--misses N]`` prints a table, or with ``--json``
``{set: {"words": {"ndcg10", "recall5", "recall10"}}}``. ``--misses`` lists that many queries with a bad answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "src")]

from sets import EvalSet, Item, Quality, content, load, names, quality

from openviking.ingest.prepare import PREPARED, PathAnalyser, prepare
from openviking.ingest.sidecars import render_all
from openviking.model.scope import Scope
from openviking.retrieve.find import FindRequest, find
from openviking.store.batch import PutFile
from openviking.store.sqlite.account import SqliteStore
from openviking.uri import from_path

LIMIT: Final = 10
BATCH: Final = 256


@dataclass(frozen=True, slots=True)
class Measured:
    """What a set gave: its quality, CPU milliseconds per query, passages in the store, and its worst answers."""

    quality: Quality
    ms: float
    passages: int
    misses: list[tuple[Item, list[str]]]


def measure(one: EvalSet) -> Measured:
    """Import ``one`` into a store of its own and ask all of its queries."""
    with tempfile.TemporaryDirectory(prefix="openviking-eval-") as directory:
        store = SqliteStore(Path(directory), PathAnalyser())
        try:
            return _measure(one, store)
        finally:
            store.close()


def _measure(one: EvalSet, store: SqliteStore) -> Measured:
    files = one.files()
    paths = list(files)
    for start in range(0, len(paths), BATCH):
        _progress(f"{one.name}: {start} of {len(paths)} documents")
        some = paths[start : start + BATCH]
        store.apply([PutFile(path, prepare(path.rpartition("/")[2], content(files[path]).encode())) for path in some])
    render_all(store)
    ids = {str(from_path(path)): item.id for path, item in files.items()}
    answers: list[tuple[Item, list[str]]] = []
    used = 0.0
    with store.read() as view:
        for number, query in enumerate(one.queries):
            if number % 50 == 0:
                _progress(f"{one.name}: {number} of {len(one.queries)} queries")
            scope = Scope((one.directory(query.group),), levels=(2,))
            start_time = time.process_time()
            found = find(view, FindRequest(query.text, scope, LIMIT))
            used += time.process_time() - start_time
            answers.append((query, [ids[hit.uri] for hit in found.hits]))
        passages = view.stats(PREPARED).passages
    _progress("")
    measured = quality([(hits, one.relevant[query.id]) for query, hits in answers])
    misses = [(query, hits) for query, hits in answers if not set(hits) & set(one.relevant[query.id])]
    return Measured(measured, 1000 * used / max(len(answers), 1), passages, misses)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with one folder per set")
    parser.add_argument("--sets", help="names of sets, separated by commas (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--misses", type=int, default=0, help="list so many queries without a relevant hit")
    given = parser.parse_args(arguments)
    present = names(given.data)
    wanted = given.sets.split(",") if given.sets else present
    unknown = sorted(set(wanted) - set(present))
    if unknown or not wanted:
        parser.error(f"{given.data} has the sets {', '.join(present) or 'none'}; not found: {', '.join(unknown)}")
    results = {}
    if not given.json:
        print(
            f"{'set':14} {'nDCG@10':>8} {'recall@5':>8} {'recall@10':>9} {'MRR@10':>7} {'ms/query':>9} {'passages':>9}"
        )
    for name in wanted:
        one = load(given.data, name)
        got = measure(one)
        found = got.quality
        results[name] = {"words": {"ndcg10": found.ndcg10, "recall5": found.recall5, "recall10": found.recall10}}
        if not given.json:
            print(
                f"{name:14} {found.ndcg10:8.4f} {found.recall5:8.4f} {found.recall10:9.4f} {found.mrr10:7.4f}"
                f" {got.ms:9.2f} {got.passages:9}",
                flush=True,
            )
            for query, hits in got.misses[: given.misses]:
                print(f"    {query.text!r}: wanted {', '.join(one.relevant[query.id])}; got {', '.join(hits[:5])}")
    if given.json:
        print(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
