"""Invariant 10: the listed contributions of a hit add up to its score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.stubs.embedders import HashEmbedder, unavailable

from openviking import OpenViking
from openviking.model.hit import FindResult

Fill = Callable[[OpenViking, Mapping[str, str]], None]

FILES = {
    f"resources/zorblax{number % 3}/file{number}.md": f"# Title {number}\n\nzorblax {'common ' * number} end"
    for number in range(12)
}
QUERIES = (
    "zorblax", "common title", "zorblax common file3", "topic common", "end of zorblax1",
    'a title with "common common" at its end',
)  # fmt: skip


def levels_of(found: FindResult) -> set[int]:
    """The levels of the hits, each of which was checked."""
    assert found.hits
    for hit in found.hits:
        assert hit.explain is not None
        assert math.isclose(math.fsum(value for _, value in hit.explain), hit.score, abs_tol=1e-9)
        assert 0 < hit.score < 1
    scores = [hit.score for hit in found.hits if hit.duplicate_of is None]
    assert scores == sorted(scores, reverse=True)
    return {hit.level for hit in found.hits}


def names_of(found: FindResult) -> set[str]:
    return {
        name.partition(":")[0] if name.startswith("words:") else name for hit in found for name, _ in hit.explain or ()
    }


def test_the_contributions_of_a_hit_add_up_to_its_score(ov: OpenViking, fill: Fill) -> None:
    fill(ov, FILES)
    ov.set_tags("viking://resources/zorblax1", ["topic=common"], recursive=True)
    ov.wait_processed(60)
    levels = set.union(*(levels_of(ov.find(query, limit=50, explain=True)) for query in QUERIES))
    assert 2 in levels
    assert levels & {0, 1}


def test_the_same_with_vectors_that_are_there_waiting_and_unknown(place: Path, fill: Fill) -> None:
    embedder = HashEmbedder()
    with OpenViking(place, embedder=embedder, workers=0) as ov:
        fill(ov, FILES)
        ov.write("viking://~/memories/note.md", "a common title of zorblax", "create")
        ov.wait_processed(60)
        fill(ov, {f"resources/late/new{number}.md": f"zorblax common title {number}" for number in range(3)})
        names: set[str] = set()
        for query in QUERIES:
            found = ov.find(query, limit=50, explain=True)
            assert 0 < found.vectors.have < found.vectors.of
            levels_of(found)
            names |= names_of(found)
        assert names == {"words", "vectors", "vectors:pending", "phrase", "directory_behind_files"}
        embedder.error = unavailable()
        found = ov.find("zorblax and a common title, asked anew", limit=50, explain=True)
        assert found.degraded
        levels_of(found)
        assert names_of(found) <= {"words", "directory_behind_files"}
