"""The list of a search does not depend on how long it is to be, nor do copies take the places of others."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openviking.index.signals import phrases
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.embedding import EmbeddingModel
from openviking.model.scope import Scope
from openviking.retrieve.ranking import ranked
from openviking.retrieve.recall import Recall
from openviking.store.batch import PutFile
from openviking.store.port import Query, QueryVector
from openviking.store.sqlite.account import SqliteStore
from openviking.store.vectors import MadeVector

MODEL = EmbeddingModel("directions", 16, 0, "", "", "cls", 0.0, 1.0, True)
WORDS = [f"w{number}" for number in range(400)]
FREQUENCIES = [1 / (rank + 1) ** 0.7 for rank in range(len(WORDS))]
FILES = Scope(levels=(2,))


def unit(text: str | bytes) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(text if isinstance(text, bytes) else text.encode()).digest()[:8])
    values = np.random.default_rng(seed).standard_normal(MODEL.dimension)
    return np.asarray(values / np.linalg.norm(values), np.float32)


def mixed(_type: str, words: float, cosine: float | None) -> float:
    return words if cosine is None else 0.4 * words + 0.6 * max(cosine, 0.0)


def put(store: SqliteStore, files: dict[str, str]) -> None:
    store.apply([PutFile(path, prepare(path.rpartition("/")[2], text.encode())) for path, text in files.items()])


def embed(store: SqliteStore, vector: Callable[[bytes], NDArray[np.float32]] = unit, share: float = 1.0) -> None:
    claimed = store.vectors.claim(MODEL.fingerprint, 10_000)
    claimed = claimed[: int(share * len(claimed))]
    made = [MadeVector(one.hash, one.lease, vector(one.hash)[None]) for one in claimed]
    store.vectors.put(MODEL.fingerprint, made)


def listed(store: SqliteStore, query: Query, limit: int) -> list[tuple[str, float, int]]:
    """The list that a find gives: path, score and passage."""
    with store.read() as view:
        view.coverage(MODEL.fingerprint, FILES)
        best = ranked(Recall(view, query, phrases(())), FILES, limit, 0.0)
    return [(one.candidate.node.path, one.score, one.candidate.start) for one in best if one.duplicate_of is None]


def corpus(seed: int) -> dict[str, str]:
    """More than a thousand passages in six hundred files of one to eight sections."""
    chance = random.Random(seed)
    files = {}
    for number in range(600):
        parts = [
            f"## s{part}\n\n" + " ".join(chance.choices(WORDS, FREQUENCIES, k=chance.choice([30, 60, 150])))
            for part in range(chance.choice([1, 3, 8]))
        ]
        files[f"resources/s/f{number}.md"] = f"# t{number}\n\n" + "\n\n".join(parts)
    return files


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    store = SqliteStore(tmp_path / "store", PathAnalyser())
    store.vectors.use(MODEL)
    return store


@pytest.mark.slow
@pytest.mark.cpu_budget(20)
@pytest.mark.parametrize("share", [1.0, 0.97, 0.5, 0.0])
def test_a_short_list_is_the_beginning_of_a_long_one(store: SqliteStore, share: float) -> None:
    put(store, corpus(int(100 * share)))
    if share:
        embed(store, share=share)
    chance = random.Random(share)
    with store.read() as view:
        coverage = view.coverage(MODEL.fingerprint, FILES)
    assert coverage.of > 1000
    assert coverage.have == int(share * coverage.of)
    for number in range(12):
        terms = tuple(chance.choices(WORDS[20:], k=chance.choice([2, 3, 4, 6])))
        near = QueryVector(MODEL.fingerprint, unit(str(number))) if number % 4 else None
        query = Query(() if near and number % 5 == 0 else terms, near, mixed)
        whole = listed(store, query, 1000)
        for limit in (1, 3, 10, 100):
            assert listed(store, query, limit) == whole[:limit], (terms, limit)
    store.close()


def test_copies_take_no_places(store: SqliteStore) -> None:
    """Two contents have all of the words and the nearest vectors, in sixteen copies each."""
    for letter in "XY":
        sections = [
            f"gull harbour {letter} {part} " + " ".join(f"gull harbour w{letter}{part}n{word}" for word in range(90))
            for part in range(6)
        ]
        put(
            store,
            {f"resources/s/{letter}{copy}.md": f"# {letter} Gull\n\n" + "\n\n".join(sections) for copy in range(16)},
        )
    with store.read() as view:
        nodes = [view.get(f"resources/s/{letter}0.md") for letter in "XY"]
        near = {passage.hash for node in nodes if node is not None for passage in view.passages(node)}
    put(store, {f"resources/s/other{n}.md": f"# Other {n}\n\nboat number {n} at the quay\n" for n in range(900)})

    def vector(digest: bytes) -> NDArray[np.float32]:
        cosine = 0.85 if digest in near else 0.6 + digest[0] / 10_000 + digest[1] / 1_000_000
        aside = unit(digest)
        aside[0] = 0
        made = cosine * np.eye(1, MODEL.dimension, dtype=np.float32)[0]
        return np.asarray(made + np.sqrt(1 - cosine**2) * aside / np.linalg.norm(aside), np.float32)

    embed(store, vector)
    asked = QueryVector(MODEL.fingerprint, np.eye(1, MODEL.dimension, dtype=np.float32)[0])
    for terms in (("gull", "harbour"), ()):
        found = {limit: listed(store, Query(terms, asked, mixed), limit) for limit in (5, 10, 20, 60)}
        for limit, some in found.items():
            assert len(some) == limit
            assert some == found[60][:limit]
            assert sorted(path for path, _, _ in some[:2]) == ["resources/s/X0.md", "resources/s/Y0.md"]
    store.close()


def test_a_file_that_a_word_selected_counts_by_its_nearest_passage(store: SqliteStore) -> None:
    """Copies of one content have more passages that are nearer than a short list looks at."""
    copy = "\n\n".join(f"## Part {part}\n\n" + f"crowd{part} " * 150 for part in range(4))
    put(store, {f"resources/s/copy{number}.md": copy for number in range(40)})
    long = "# One\n\n" + "zorblax " + "other " * 150 + "\n\n# Two\n\n" + "meant " * 150
    put(store, {"resources/s/wanted.md": long})
    with store.read() as view:
        node = view.get("resources/s/wanted.md")
        assert node is not None
        first, last = (passage.hash for passage in view.passages(node))
    cosines = {first: 0.0, last: 0.7}

    def vector(digest: bytes) -> NDArray[np.float32]:
        cosine = cosines.get(digest, 0.9)
        return np.asarray([cosine, np.sqrt(1 - cosine**2), *[0] * (MODEL.dimension - 2)], np.float32)

    embed(store, vector)
    query = Query(("zorblax",), QueryVector(MODEL.fingerprint, np.eye(1, MODEL.dimension, dtype=np.float32)[0]), mixed)
    few, many = (listed(store, query, limit) for limit in (2, 200))
    assert few == many[:2]
    assert few[1][0] == "resources/s/wanted.md"
    assert few[1][1] == pytest.approx(0.6 * 0.7, abs=1e-3)
    store.close()
