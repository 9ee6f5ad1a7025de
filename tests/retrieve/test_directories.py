"""Directories among the hits: behind their files, whatever the limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from openviking import OpenViking


@pytest.fixture
def ov(tmp_path: Path) -> OpenViking:
    folder = tmp_path / "z"
    for number in range(30):
        place = folder / f"p{number}" / "kiwi"
        place.mkdir(parents=True)
        words = " ".join(f"w{one}" for one in range(60))
        (place / "n.md").write_text(f"report {number} {words} kiwi")
    (folder / "kiwi" / "empty").mkdir(parents=True)
    (folder / "kiwi" / "empty" / "other.md").write_text("nothing of the kind")
    store = OpenViking(tmp_path / "data", workers=0)
    store.add_resource(folder, wait=True)
    return store


@pytest.mark.cpu_budget(8)
def test_a_score_does_not_depend_on_the_limit(ov: OpenViking) -> None:
    with ov:
        lists = {limit: [(hit.uri, hit.score) for hit in ov.find("kiwi", limit=limit)] for limit in (1, 5, 20, 45, 500)}
        whole = lists[500]
        assert len(whole) > 90
        for limit, found in lists.items():
            assert found == whole[:limit]


@pytest.mark.cpu_budget(8)
def test_a_directory_is_behind_its_best_file(ov: OpenViking) -> None:
    with ov:
        hits = list(ov.find("kiwi", limit=500))
        files = {hit.uri: hit.score for hit in hits if hit.level == 2}
        for hit in hits:
            if hit.level < 2:
                directory = hit.uri.rpartition("/")[0] + "/"
                best = max((score for uri, score in files.items() if uri.startswith(directory)), default=None)
                assert best is None or hit.score <= 0.9 * best
        alone = ov.find("kiwi", level=[0, 1], limit=3)
        assert alone.hits[0].score > max(files.values())
