"""Measures how well find answers the queries of test sets, through the real engine in a temporary store.

``python evals/run.py --data DIR`` prints a table for words alone, vectors alone, and both fused; ``--signals`` adds the
fusion without each of its signals, ``--rerank`` the fusion reranked by the built-in model, ``--lookups`` what is looked up
by its spelling in the same documents, ``--folders`` puts them into folders and also walks through these, ``--misses N`` queries with a bad answer. ``--json`` prints ``{set: {"words" | "vectors" | "fused" …: {"ndcg10", "recall5",
"recall10"}}}``. ``--vectors DIR`` keeps the vectors, so that the next run is quick; ``--words`` needs no model.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "src")]

from folders import in_folders
from lookups import lookups
from reranked import Reranked
from sets import EvalSet, Item, Quality, content, load, names, quality
from variants import VARIANTS, Variant
from vectors import Vectors
from walked import WALKS

from openviking.ingest.prepare import PREPARED, PathAnalyser, prepare
from openviking.ingest.sidecars import render_all
from openviking.model.scope import Scope
from openviking.providers.builtin import BuiltinEmbedder
from openviking.store.batch import PutFile
from openviking.store.port import QueryVector
from openviking.store.sqlite.account import SqliteStore
from openviking.uri import from_path

LIMIT: Final = 10
BATCH: Final = 256
PLAIN: Final = ("words", "vectors", "fused")


@dataclass(frozen=True, slots=True)
class Measured:
    """What one way of asking gave: its quality, CPU milliseconds per query, and its worst answers."""

    quality: Quality
    ms: float
    misses: list[tuple[Item, list[str]]] = field(default_factory=list)


class Imported:
    """A test set in a store of its own, with the vectors of its passages unless ``vectors`` is None."""

    def __init__(self, one: EvalSet, directory: Path, vectors: Vectors | None) -> None:
        self.set = one
        self._vectors = vectors
        self._ids: dict[str, str] = {}
        self.store = SqliteStore(directory, PathAnalyser())
        self._fill()

    def _fill(self) -> None:
        files = self.set.files()
        paths = list(files)
        if self._vectors is not None:
            self.store.vectors.use(self._vectors.model)
        for start in range(0, len(paths), BATCH):
            _progress(f"{self.set.name}: {start} of {len(paths)} documents")
            some = paths[start : start + BATCH]
            self.store.apply(
                [PutFile(path, prepare(path.rpartition("/")[2], content(files[path]).encode())) for path in some]
            )
        render_all(self.store)
        if self._vectors is not None:
            name = self.set.name
            self._vectors.fill(self.store, lambda waiting: _progress(f"{name}: {waiting} passages wait for a vector"))
        self._ids = {str(from_path(path)): item.id for path, item in files.items()}
        with self.store.read() as view:
            self.passages = view.stats(PREPARED).passages

    def measure(self, asked: EvalSet, variant: Variant) -> Measured:
        """Ask all queries of ``asked``, which are about this set's documents."""
        answers: list[tuple[Item, list[str]]] = []
        used = 0.0
        with self.store.read() as view:
            for number, query in enumerate(asked.queries):
                if number % 50 == 0:
                    _progress(f"{asked.name}, {variant.name}: {number} of {len(asked.queries)} queries")
                scope = Scope((self.set.directory(query.group),), levels=(2,))
                vector = None
                if self._vectors is not None and variant.vectors:
                    vector = QueryVector(self._vectors.model.fingerprint, self._vectors.query(query.text))
                began = time.process_time()
                model = None if self._vectors is None else self._vectors.model
                uris = variant.find(view, query.text, scope, LIMIT, model, vector)
                used += time.process_time() - began
                answers.append((query, [self._ids[uri] for uri in uris]))
        _progress("")
        found = quality([(hits, asked.relevant[query.id]) for query, hits in answers])
        misses = [(query, hits) for query, hits in answers if not set(hits) & set(asked.relevant[query.id])]
        return Measured(found, 1000 * used / max(len(answers), 1), misses)


@contextmanager
def imported(one: EvalSet, vectors: Vectors | None) -> Iterator[Imported]:
    """``one`` in a temporary store."""
    with tempfile.TemporaryDirectory(prefix="openviking-eval-") as directory:
        done = Imported(one, Path(directory), vectors)
        try:
            yield done
        finally:
            done.store.close()


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


@contextmanager
def _model(folder: Path | None, threads: int) -> Iterator[Vectors]:
    with closing(BuiltinEmbedder(threads=threads)) as embedder, closing(Vectors(embedder, folder)) as vectors:
        yield vectors


def _arguments(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with one folder per set")
    parser.add_argument("--sets", help="names of sets, separated by commas (default: all)")
    parser.add_argument("--vectors", type=Path, help="folder that keeps the vectors for the next run")
    parser.add_argument("--threads", type=int, default=0, help="threads of the model (default: half of the cores)")
    parser.add_argument("--words", action="store_true", help="words alone, without the model")
    parser.add_argument("--signals", action="store_true", help="also the fusion without each of its signals")
    parser.add_argument("--lookups", action="store_true", help="also look things up by their spelling")
    parser.add_argument("--rerank", action="store_true", help="also the fusion reranked by the built-in model")
    parser.add_argument("--folders", action="store_true", help="documents in folders; also by way of directories")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--misses", type=int, default=0, help="list so many queries without a relevant hit")
    given = parser.parse_args(arguments)
    present = names(given.data)
    wanted = given.sets.split(",") if given.sets else present
    unknown = sorted(set(wanted) - set(present))
    if unknown or not wanted:
        parser.error(f"{given.data} has the sets {', '.join(present) or 'none'}; not found: {', '.join(unknown)}")
    return given, wanted


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; the exit status."""
    given, wanted = _arguments(arguments)
    variants = [one for one in VARIANTS if (given.signals or one.name in PLAIN) and not (given.words and one.vectors)]
    if given.rerank and not given.words:
        variants.append(Reranked())
    if given.folders and not given.words:
        variants.extend(WALKS)
    results: dict[str, dict[str, dict[str, float]]] = {}
    if not given.json:
        print(f"{'set':36} {'':26} {'nDCG@10':>8} {'recall@5':>8} {'recall@10':>9} {'MRR@10':>7} {'ms/query':>9}")
    if given.words:
        _measure(given, wanted, variants, None, results)
    else:
        with _model(given.vectors, given.threads) as vectors:
            _measure(given, wanted, variants, vectors, results)
    if given.json:
        print(json.dumps(results, indent=1))
    return 0


def _measure(
    given: argparse.Namespace,
    wanted: Sequence[str],
    variants: Sequence[Variant],
    vectors: Vectors | None,
    results: dict[str, dict[str, dict[str, float]]],
) -> None:
    for name in wanted:
        one = load(given.data, name)
        if given.folders and vectors is not None:
            one = in_folders(one, vectors.query)
        with imported(one, vectors) as done:
            for asked in (one, *(lookups(one).values() if given.lookups else ())):
                results[asked.name] = {}
                for variant in variants:
                    got = done.measure(asked, variant)
                    found = got.quality
                    results[asked.name][variant.name] = {
                        "ndcg10": found.ndcg10, "recall5": found.recall5, "recall10": found.recall10,
                    }  # fmt: skip
                    if not given.json:
                        _print(asked, variant, got, given.misses)


def _print(asked: EvalSet, variant: Variant, got: Measured, misses: int) -> None:
    found = got.quality
    print(
        f"{asked.name:36} {variant.name:26} {found.ndcg10:8.4f} {found.recall5:8.4f} {found.recall10:9.4f}"
        f" {found.mrr10:7.4f} {got.ms:9.2f}",
        flush=True,
    )
    for query, hits in got.misses[:misses]:
        print(f"    {query.text!r}: wanted {', '.join(asked.relevant[query.id])}; got {', '.join(hits[:5])}")


if __name__ == "__main__":
    sys.exit(main())
