"""Invariant 5: same store, same query, the same list, byte for byte; equal scores are ordered by URI."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.stubs.embedders import HashEmbedder

from openviking import OpenViking
from openviking.ingest.sidecars import render_all

ROOT = "viking://resources"
QUERIES = ["zorblax", "quuxify plugh", "the common word", "file", "number 7", "zorblax OR common", "getUserByEmail"]


def answers(ov: OpenViking) -> str:
    return json.dumps(
        [ov.find(query, limit=limit, explain=True).to_dict() for query in QUERIES for limit in (3, 60)]
        + [ov.find("", ROOT, since="1d", limit=50).to_dict()]
        + [ov.grep(ROOT, "common|zorblax").to_dict(), ov.glob("**", ROOT).to_dict(), list(ov.tree(ROOT))],
        sort_keys=True,
    )


@pytest.mark.slow
@pytest.mark.cpu_budget(16)
@pytest.mark.parametrize("vectors", [False, True], ids=["words", "vectors"])
def test_the_same_list_from_every_thread_and_after_reopening(
    place: Path, fill: Callable[[OpenViking, Mapping[str, str]], None], vectors: bool
) -> None:
    equal = {f"resources/{top}/{number}.md": "zorblax common" for top in ("b", "a-b", "a") for number in (3, 1, 2)}
    files = {
        f"resources/d{number % 7}/file{number}.md": f"# Number {number}\n\ncommon {'quuxify ' * (number % 4)} getUserByEmail"
        for number in range(40)
    }
    embedder = HashEmbedder() if vectors else None
    with OpenViking(place, workers=0, embedder=embedder) as ov:
        fill(ov, equal | files)
        ov.wait_processed(60)
        first = answers(ov)
        assert ov.find("common").vectors.have == (ov.find("common").vectors.of if vectors else 0)
        assert all(answers(ov) == first for _ in range(3))
        collected: list[str] = []
        threads = [threading.Thread(target=lambda: collected.append(answers(ov))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert collected == [first] * 8
    embedder = HashEmbedder() if vectors else None
    with OpenViking(place, workers=1, embedder=embedder) as ov:
        assert answers(ov) == first


def test_a_removal_counts_at_once(ov: OpenViking, fill: Callable[[OpenViking, Mapping[str, str]], None]) -> None:
    """What waits for no job is scored the same before and after all jobs are done."""
    fill(ov, {f"resources/kept/{number}.md": f"zorblax common {number}" for number in range(20)})
    fill(ov, {f"resources/gone/{number}.md": f"zorblax quuxify {number}" for number in range(30)})
    fill(ov, {"resources/kept/one.md": "zorblax quuxify"})
    ov.wait_processed(60)
    ov.rm(f"{ROOT}/gone", recursive=True)
    ov.rm(f"{ROOT}/kept/one.md")
    # Sidecars are content of their own that the removal made stale: from here on only clearing away is left.
    render_all(ov._accounts.store(ov._identity))
    before = answers(ov)
    assert ov.wait_processed(60)["waiting"] == {}
    assert answers(ov) == before


def test_equal_scores_are_ordered_by_uri(ov: OpenViking, fill: Callable[[OpenViking, Mapping[str, str]], None]) -> None:
    names = ["z", "a", "m", "é", "B", "a b", "a-b"]
    fill(ov, {f"resources/{name}/x.md": f"zorblax {'bcdefgh'[index]}" for index, name in enumerate(names)})
    hits = ov.find("zorblax", level=2).hits
    assert len({hit.score for hit in hits}) == 1
    assert [hit.uri for hit in hits] == sorted(f"{ROOT}/{name}/x.md" for name in names)
