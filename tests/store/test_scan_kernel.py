"""Eight-bit codes: what they give is nearly the cosine, and with the exact rescoring the nearest passages are the right ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from openviking.store.sqlite.scan import kernel
from openviking.store.sqlite.scan.exact import cosines
from openviking.store.sqlite.scan.nearest import OF_RECORD, Nearest

Floats = NDArray[np.float32]


def unit(values: NDArray[Any]) -> Floats:
    return np.asarray(values / np.linalg.norm(values, axis=-1, keepdims=True), np.float32)


def clustered(count: int, dimension: int, seed: int = 1) -> Floats:
    """Vectors as those of real texts lie: all in one half of the sphere, in groups of unequal size."""
    chance = np.random.default_rng(seed)
    common = unit(chance.standard_normal(dimension))
    centres = unit(chance.standard_normal((count // 50 + 1, dimension)) / np.sqrt(dimension) + 1.2 * common)
    group = (chance.pareto(1.0, count) * 3).astype(int) % len(centres)
    return unit(centres[group] + 0.6 * chance.standard_normal((count, dimension)) / np.sqrt(dimension))


@settings(max_examples=30)
@given(st.integers(1, 2200), st.integers(0, 40), st.integers(0, 2**32))
def test_numpy_alone_gives_the_same(dimension: int, count: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    codes = chance.integers(-127, 128, (count, dimension), dtype=np.int8)
    code = chance.choice(np.array([-127, 127, 5], np.int8), (1, dimension))
    wanted = codes.astype(np.int64) @ code[0].astype(np.int64)
    assert kernel.dots_without_simd(codes, code).tolist() == wanted.tolist()
    assert kernel.dots(codes, code).tolist() == wanted.tolist()


def test_without_simd_all_rows_or_few(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, query = clustered(2000, 96), clustered(1, 96, 2)[0]
    codes, scales = kernel.quantised(vectors)
    every = kernel.similarities(codes, scales, np.arange(2000), query)
    assert np.abs(every - vectors @ query).max() < 0.006
    for rows in (np.arange(0, 2000, 2), np.arange(0, 2000, 50), np.zeros(0, np.intp)):
        assert kernel.similarities(codes, scales, rows, query).tolist() == every[rows].tolist()
    monkeypatch.setattr(kernel, "_CDIST", None)
    assert kernel.similarities(codes, scales, np.arange(2000), query).tolist() == every.tolist()


def test_damaged_numbers_are_no_direction() -> None:
    vectors = unit(np.random.default_rng(1).standard_normal((3, 8)))
    vectors[1, 3] = np.nan
    codes, scales = kernel.quantised(np.concatenate([vectors, np.zeros((1, 8), np.float32)]))
    assert codes[[1, 3]].tolist() == [[0] * 8] * 2
    assert codes[0].any()
    assert scales[[1, 3]].tolist() == [0, 0]
    query = vectors[0]
    blobs = [vectors[0].astype("<f2").tobytes(), vectors[1].astype("<f2").tobytes(), None, b"odd", b""]
    assert cosines(blobs, query) == [pytest.approx(1, abs=1e-3), None, None, None, None]
    assert cosines([b"".join(blobs[:1] * 2 + [(-vectors[2]).astype("<f2").tobytes()])], query) == cosines(
        blobs[:1], query
    )


@pytest.mark.slow
@pytest.mark.cpu_budget(20)
def test_the_hundred_nearest_are_the_right_ones() -> None:
    """As `searching` takes them: a hundred by their codes, then those four times as many if a hundred are not enough."""
    count, dimension, asked = 20_000, 384, 40
    vectors = clustered(count, dimension)
    stored = vectors.astype("<f2")
    codes, scales = kernel.quantised(stored.astype(np.float32))
    queries = unit(vectors[:: count // asked][:asked] + 0.5 * clustered(asked, dimension, 3))
    passages = np.arange(1, count + 1)
    found = first = 0
    for query in queries:
        exact = stored.astype(np.float64) @ query.astype(np.float64)
        wanted = set((np.argsort(-exact)[:100] + 1).tolist())
        best = set((np.argsort(-exact)[:10] + 1).tolist())
        likeness = kernel.similarities(codes, scales, np.arange(count), query)
        near = Nearest(likeness, np.arange(count), passages, passages, np.full(count, 2, np.uint8))
        taken = near.take(100)
        first += len(best & set(taken))
        taken += near.take(25)
        ranked = sorted(
            zip(cosines([stored[one - 1].tobytes() for one in taken], query), taken, strict=True), reverse=True
        )
        found += len(wanted & {one for _, one in ranked[:100]})
    assert first == 10 * asked
    assert found >= 0.999 * 100 * asked


@settings(max_examples=60)
@given(st.integers(0, 400), st.integers(1, 9), st.integers(1, 60), st.integers(0, 2**32))
def test_passages_are_given_once_in_order(rows: int, values: int, count: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    likeness = chance.integers(0, values, rows).astype(np.float32)
    passage = chance.permutation(np.arange(rows) // 2 + 1)
    node = passage % 7
    near = Nearest(likeness, np.arange(rows), passage, node, np.full(rows, 2, np.uint8))
    given_: list[int] = []
    while taken := near.take(count):
        assert len(taken) == count or len(given_) + len(taken) == len(set(passage.tolist()))
        given_ += taken
    assert sorted(given_) == sorted(set(passage.tolist()))
    best = {one: max(likeness[passage == one]) for one in given_}
    in_order = sorted(given_, key=lambda one: (-best[one], one))
    assert given_[:1] == in_order[:1]
    few = Nearest(likeness, np.arange(rows), passage, node, np.full(rows, 2, np.uint8)).take(count)
    wanted: list[int] = []
    for one in in_order:
        if sum(other % 7 == one % 7 for other in wanted) < OF_RECORD:
            wanted.append(one)
    assert few[: len(wanted)] == wanted[:count]


def test_the_nearest_passage_of_a_record() -> None:
    likeness = np.array([0.1, 0.9, 0.5, 0.5, 0.7], np.float32)
    places = np.array([0, 2, 3, 5, 6])
    passage = np.array([10, 11, 12, 9, 13, 8, 7])
    node = np.array([1, 1, 1, 2, 2, 2, 3])
    level = np.array([2, 2, 2, 2, 2, 2, 0], np.uint8)
    near = Nearest(likeness, places, passage, node, level)
    assert sorted(near.best_of([(1, 2), (2, 2), (3, 2), (4, 2)])) == [8, 12]
    assert near.best_of([(3, 0)]) == [7]
    assert near.best_of([]) == []
