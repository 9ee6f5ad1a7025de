"""Measures the floor of a context: what real questions lose by it, and how many questions about something else get nothing.

``python evals/floor.py --data DIR`` asks each set its own questions, and those of the others, everyday ones and nonsense.
For each half of the questions it prints how many of the relevant documents among the first ten are lost, and the share of
foreign questions for which nothing is left; with vectors of the built-in model and by words alone. ``--small`` asks stores of
15 documents each, ``--lookups`` what is looked up by its spelling.
"""

from __future__ import annotations

import argparse
import random
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "src")]

from lookups import lookups
from run import LIMIT, Imported, imported
from sets import EvalSet, Item, load, names
from vectors import Vectors

from openviking.context.relevance import Floor, floor_of
from openviking.model.hit import Hit
from openviking.model.scope import Scope
from openviking.providers.builtin import BuiltinEmbedder
from openviking.retrieve.find import FindRequest, find
from openviking.store.port import QueryVector, View

SEED: Final = 7
OF_EACH: Final = 120
"""Questions of each other set."""

OWN: Final = 400
NONSENSE: Final = 60
ALIKE: Final = ({"cosqa", "pystdlib"},)
"""Sets about the same: what one asks may well be answered by the other."""

SMALL: Final = 15
STORES: Final = 12
EVERYDAY: Final = Path(__file__).resolve().parent / "everyday-questions.txt"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; ``kind`` is "own" or where it comes from, ``relevant`` the documents that answer it."""

    kind: str
    text: str
    group: str = ""
    relevant: frozenset[str] = frozenset()

    @property
    def half(self) -> int:
        """0 or 1: which half of the questions it belongs to."""
        return zlib.crc32(self.text.encode()) % 2


@dataclass(slots=True)
class Count:
    """One half of the questions: relevant hits lost of so many, foreign questions by kind, True where nothing was left."""

    lost: int = 0
    relevant: int = 0
    empty: dict[str, list[bool]] = field(default_factory=dict)

    @property
    def emptied(self) -> float:
        """The share of foreign questions that got nothing, each kind counting alike."""
        shares = [sum(kind) / len(kind) for kind in self.empty.values()]
        return sum(shares) / len(shares) if shares else float("nan")


class Measuring:
    """The counts of one set, by half."""

    def __init__(self, floor: Floor, vectors: Vectors | None) -> None:
        self._floor = floor
        self._vectors = vectors
        self.halves = (Count(), Count())

    def ask(self, store: Imported, questions: Sequence[Asked], ids: dict[str, str]) -> None:
        """Ask a store; ``ids`` are those of its documents by URI."""
        with store.store.read() as view:
            for one in questions:
                self._add(one, self._hits(view, store.set, one), ids)

    def _hits(self, view: View, asked: EvalSet, one: Asked) -> Sequence[Hit]:
        scope = Scope((asked.directory(one.group),), levels=(2,))
        if self._vectors is None:
            return find(view, FindRequest(one.text, scope, LIMIT)).hits
        model = self._vectors.model
        vector = QueryVector(model.fingerprint, self._vectors.query(one.text))
        return find(view, FindRequest(one.text, scope, LIMIT, model=model, vector=vector)).hits

    def _add(self, one: Asked, hits: Sequence[Hit], ids: dict[str, str]) -> None:
        count = self.halves[one.half]
        kept, _ = self._floor.sifted(hits)
        if one.kind != "own":
            count.empty.setdefault(one.kind, []).append(not kept)
            return
        before, after = (sum(ids[hit.uri] in one.relevant for hit in some) for some in (hits, kept))
        count.relevant += before
        count.lost += before - after


def nonsense(chance: random.Random) -> Iterator[str]:
    """One to four words of random letters."""
    for _ in range(NONSENSE):
        yield " ".join(
            "".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(chance.randint(4, 9)))
            for _ in range(chance.randint(1, 4))
        )


def own(asked: EvalSet) -> list[Asked]:
    """A set's own questions."""
    return [Asked("own", one.text, one.group, frozenset(asked.relevant[one.id])) for one in asked.queries[:OWN]]


def foreign(asked: EvalSet, sets: Sequence[EvalSet], of_each: int) -> list[Asked]:
    """Questions that nothing in a set is about."""
    chance = random.Random(SEED)
    groups = sorted({one.group for one in asked.documents})
    told: list[Asked] = []
    for other in sets:
        if other.name != asked.name and {other.name, asked.name} not in ALIKE:
            some = chance.sample(other.queries, min(of_each, len(other.queries)))
            told += [Asked(other.name, one.text, chance.choice(groups)) for one in some]
    everyday = EVERYDAY.read_text("utf-8").splitlines()
    told += [Asked("everyday", one, chance.choice(groups)) for one in everyday]
    told += [Asked("nonsense", one, chance.choice(groups)) for one in nonsense(chance)]
    return told


def part(asked: EvalSet, documents: Sequence[Item]) -> EvalSet:
    """Some documents of a set, with the questions that these answer."""
    there, groups = {one.id for one in documents}, {one.group for one in documents}
    queries = [one for one in asked.queries if there & set(asked.relevant[one.id]) and one.group in groups]
    return replace(asked, documents=tuple(documents), queries=tuple(queries))


def parts(given: argparse.Namespace, asked: EvalSet) -> Iterator[EvalSet]:
    """The stores that a set is asked in: one of whole groups up to a number of documents, or small ones."""
    if not given.small:
        kept: list[Item] = []
        for group in sorted({one.group for one in asked.documents}):
            if len(kept) < given.documents or not kept:
                kept += [one for one in asked.documents if one.group == group]
        yield part(asked, kept)
        return
    step = len(asked.documents) // STORES
    for number in range(STORES):
        some = asked.documents[number * step :][:SMALL]
        yield part(asked, [one for one in some if one.group == some[0].group])


def measure(given: argparse.Namespace, asked: EvalSet, sets: Sequence[EvalSet], vectors: Vectors | None) -> Measuring:
    """The counts of one set."""
    floor = floor_of(True, None if vectors is None else vectors.model)
    assert floor is not None
    measuring = Measuring(floor, vectors)
    for one in parts(given, asked):
        with imported(one, vectors) as store:
            ids = {hit_uri(path): item.id for path, item in one.files().items()}
            questions = own(one)
            if given.lookups:
                questions = [question for looked in lookups(one).values() for question in own(looked)]
            measuring.ask(store, [*questions, *foreign(one, sets, OF_EACH // (STORES if given.small else 1))], ids)
    return measuring


def hit_uri(path: str) -> str:
    """The URI of a file."""
    return f"viking://{path}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with one folder per set")
    parser.add_argument("--sets", default="", help="names of sets, separated by commas (default: all)")
    parser.add_argument("--vectors", type=Path, help="folder that keeps the vectors for the next run")
    parser.add_argument("--documents", type=int, default=2_000, help="about so many documents of sets with groups")
    parser.add_argument("--words", action="store_true", help="words alone, without the model")
    parser.add_argument("--lookups", action="store_true", help="look things up by their spelling instead")
    parser.add_argument("--small", action="store_true", help=f"stores of {SMALL} documents")
    given = parser.parse_args(arguments)
    sets = [load(given.data, name) for name in names(given.data)]
    wanted = given.sets.split(",") if given.sets else [one.name for one in sets]
    with ExitStack() as stack:
        vectors = None
        if not given.words:
            embedder = stack.enter_context(closing(BuiltinEmbedder(threads=1)))
            vectors = stack.enter_context(closing(Vectors(embedder, given.vectors)))
        print(f"{'set':14}{'lost, first half':>20}{'second half':>16}   foreign ones empty, by half; kinds")
        for one in sets:
            if one.name in wanted:
                _print(one.name, measure(given, one, sets, vectors).halves)
    return 0


def _print(name: str, halves: Sequence[Count]) -> None:
    lost = [f"{one.lost} of {one.relevant}" for one in halves]
    empty = " ".join(f"{one.emptied:.3f}" for one in halves)
    kinds = sorted({kind for one in halves for kind in one.empty})
    both = {kind: [told for one in halves for told in one.empty.get(kind, [])] for kind in kinds}
    shares = ", ".join(f"{kind} {sum(told) / len(told):.2f}" for kind, told in both.items())
    print(f"{name:14}{lost[0]:>20}{lost[1]:>16}   {empty}; {shares}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
