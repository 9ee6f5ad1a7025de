"""Why a walk did not come to a record: which directory its way ended in, and at which rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from openviking.model.node import Node
from openviking.retrieve.hierarchical.absence import Places, Way
from openviking.retrieve.hierarchical.parameters import Parameters
from openviking.retrieve.hierarchical.walk import Child, walk

CHILDREN = 2
TREE = {
    "resources": (("resources/a", 0.9, 1), ("resources/b", 0.8, 1), ("resources/c", 0.7, 1), ("resources/d", 0.6, 1)),
    "resources/a": (("resources/a/x.md", 0.95, 2), ("resources/a/weak.md", 0.2, 2)),
    "resources/b": (("resources/b/y.md", 0.85, 2),),
}


def way(limit: int = 1, starts: dict[str, float] | None = None, **parameters: Any) -> Way:
    def look(paths: Sequence[str]) -> list[list[Child]]:
        return [[Child(*one) for one in TREE.get(path, ())[:CHILDREN]] for path in paths]

    given = {"resources": 0.5} if starts is None else starts
    told = Parameters(**{"max_convergence_rounds": 1, "directories_per_round": 1, **parameters})
    done = walk(given, (), look, limit=limit, threshold=0.3, parameters=told)
    places = Places((), 0.3, 0.0, files=True)
    return Way(done, given, CHILDREN, limit, places, lambda path: [one[0] for one in TREE[path][:3]])


def node(path: str) -> Node:
    is_dir = not path.endswith(".md")
    return Node(1, path, is_dir, 0, None, None, "", "", "", 0, 0, None, "", None)


@pytest.mark.parametrize(
    ("path", "options", "reason", "details", "says"),
    [
        ("resources/a/weak.md", {}, "below_threshold", {"directory": "viking://resources/a", "score": 0.2}, "scored 0.2000"),
        (
            "resources/q/z.md", {"starts": {"resources/a": 0.9, "resources/b": 0.8, "user": 0.5, "resources": 0.4}},
            "not_walked", {"cut": "end", "directory": "viking://resources", "rank": 2, "of": 2, "end": "converged"},
            "after 2 rounds in 2 directories, because its best hits did not change any more; viking://resources was number 2",
        ),
        (
            "resources/c/deep/z.md", {}, "not_walked",
            {"cut": "children", "directory": "viking://resources", "child": "viking://resources/c", "rank": 3, "round": 1},
            "the best 2 records of viking://resources in round 1, and viking://resources/c is at rank 3",
        ),
        ("resources/d", {}, "not_walked", {"cut": "children", "children": 2}, "viking://resources/d is beyond rank 3"),
        (
            "resources/b/other/z.md", {"max_convergence_rounds": 9}, "not_walked",
            {"cut": "children", "child": "viking://resources/b/other"}, "itself does not answer the query there",
        ),
        ("user/u/z.md", {}, "not_walked", {"cut": "start"}, "began in 1 directory"),
    ],
)  # fmt: skip
def test_where_the_way_ended(
    path: str, options: dict[str, Any], reason: str, details: dict[str, Any], says: str
) -> None:
    one = way(**options).why("asked", node(path), {"score": 0.1})
    assert one.reason == reason, one.message
    assert {name: one.details.get(name) for name in details} == details
    assert says in one.message
