"""Searching right in a directory is exact, with and without vectors, by itself and one directory after the other."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openviking.index.filter import parse_filter
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.ingest.sidecars import render_all
from openviking.model.embedding import EmbeddingModel
from openviking.model.scope import Scope
from openviking.store.batch import PutFile, SetTags
from openviking.store.port import Candidate, Query, QueryVector
from openviking.store.sqlite import inside, searching
from openviking.store.sqlite.account import SqliteStore
from openviking.store.vectors import MadeVector

MODEL = EmbeddingModel("one", 8, 0, "", "", "mean", 0.0, 1.0, multilingual=False)
WORDS = "plover dunlin knot curlew avocet godwit ruff snipe".split()
DIRECTORIES = ("resources", "resources/a", "resources/a/curlew", "resources/c", "user/u/memories")


def filled(place: Path, *, vectors: bool) -> SqliteStore:
    chance = random.Random(3)
    store = SqliteStore(place, PathAnalyser())
    if vectors:
        store.vectors.use(MODEL)
    puts = []
    for directory in DIRECTORIES:
        for number in range(14):
            text = " ".join(chance.choices(WORDS, k=chance.randint(2, 30)))
            puts.append(PutFile(f"{directory}/{number}.md", prepare("x.md", f"# {text}\n\n{text}\n".encode())))
    # Found by its name alone, which no posting tells of.
    puts += [PutFile(f"{directory}/curlew.md", prepare("x.md", b"sand\n")) for directory in DIRECTORIES]
    store.apply(puts)
    store.apply([SetTags(one.path, ("team=x",)) for one in puts[::3]])
    render_all(store)
    numbers = np.random.default_rng(4)
    while vectors and (claimed := store.vectors.claim(MODEL.fingerprint, 1000)):
        made = numbers.standard_normal((len(claimed), 8)).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        store.vectors.put(
            MODEL.fingerprint,
            [MadeVector(one.hash, one.lease, row[None]) for one, row in zip(claimed, made, strict=True)],
        )
    return store


@pytest.fixture(scope="module", params=[False, True], ids=["words", "vectors"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    store = filled(tmp_path_factory.mktemp("within"), vectors=request.param)
    yield store
    store.close()


def score(kind: str, words: float, cosine: float | None) -> float:
    del kind
    return words if cosine is None else 0.5 * words + 0.5 * max(cosine, 0.0) * 0.99


def found(candidates: list[Candidate]) -> list[tuple[str, int, float]]:
    return [(one.node.path, one.level, one.score) for one in candidates]


def right_in(path: str, directory: str, level: int) -> bool:
    return path.rpartition("/")[0] == directory or (level < 2 and path == directory)


@pytest.mark.parametrize("alone", [False, True], ids=["one after the other", "alone"])
@pytest.mark.parametrize(
    "scope",
    [
        Scope(), Scope(roots=("resources",)), Scope(roots=("resources/a", "resources/c/3.md")), Scope(tags=("team=x",)),
        Scope(levels=(0, 1)), Scope(context_types=("memory",)), Scope(excluded=("resources/a/curlew",)),
        Scope(condition=parse_filter({"op": "must", "field": "level", "conds": [1, 2]}, str, "a")),
    ],
    ids=str,
)  # fmt: skip
def test_it_is_what_a_search_of_all_finds_there(
    store: SqliteStore, scope: Scope, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So little is scored at a time that bounds decide where it ends.
    monkeypatch.setattr(searching, "SCORED_AT_ONCE", 1)
    if alone:
        monkeypatch.setattr(inside, "MOST_PASSAGES", -1)
    numbers = np.random.default_rng(7).standard_normal((3, 8)).astype(np.float32)
    numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
    for row, terms in zip(numbers, (["plover", "dunlin"], ["curlew"], []), strict=True):
        vector = QueryVector(MODEL.fingerprint, row) if store.vectors.any_made(MODEL.fingerprint) else None
        query = Query(terms, vector, score)
        for limit in (1, 4, 60):
            with store.read() as view:
                view.coverage(MODEL.fingerprint, scope)
                everywhere = found(view.search(query, scope, 1_000))
                for directory in DIRECTORIES:
                    got = found(view.search(query, Scope(**{**_fields(scope), "within": directory}), limit))
                    wanted = [one for one in everywhere if right_in(one[0], directory, one[1])]
                    assert got[:limit] == wanted[:limit]
                    assert len({one[:2] for one in got}) == len(got)


def _fields(scope: Scope) -> dict[str, Any]:
    return {name: getattr(scope, name) for name in Scope.__slots__}


def test_a_directory_that_is_not_there(store: SqliteStore) -> None:
    with store.read() as view:
        assert view.search(Query(["plover"], None, score), Scope(within="resources/none"), 5) == []
        assert view.records(Scope(within="resources/none"), 5) == []
        assert {
            node.path.rpartition("/")[0] for node, level in view.records(Scope(within="resources/c"), 99) if level == 2
        } == {"resources/c"}
