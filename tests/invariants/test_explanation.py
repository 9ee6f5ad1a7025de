"""Invariant 10: the listed contributions of a hit add up to its score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from openviking import OpenViking


def test_the_contributions_of_a_hit_add_up_to_its_score(
    ov: OpenViking, fill: Callable[[OpenViking, Mapping[str, str]], None]
) -> None:
    files = {
        f"resources/zorblax{number % 3}/file{number}.md": f"# Title {number}\n\nzorblax {'common ' * number} end"
        for number in range(12)
    }
    fill(ov, files)
    ov.set_tags("viking://resources/zorblax1", ["topic=common"], recursive=True)
    ov.wait_processed(60)
    levels = set()
    for query in ("zorblax", "common title", "zorblax common file3", "topic common", "end of zorblax1"):
        hits = ov.find(query, limit=50, explain=True).hits
        assert hits
        for hit in hits:
            levels.add(hit.level)
            assert hit.explain is not None
            assert math.isclose(math.fsum(value for _, value in hit.explain), hit.score, abs_tol=1e-12)
            assert 0 < hit.score < 1
        scores = [hit.score for hit in hits if hit.duplicate_of is None]
        assert scores == sorted(scores, reverse=True)
    assert 2 in levels
    assert levels & {0, 1}
