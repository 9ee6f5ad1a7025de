"""The walk by itself: the worked examples with their numbers, and when it ends (contract/retrieval.md §8.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from openviking.retrieve.hierarchical.convergence import Convergence
from openviking.retrieve.hierarchical.parameters import Parameters
from openviking.retrieve.hierarchical.walk import MOST_DIRECTORIES, Child, Walked, walk

MEMORIES = "user/u/memories"
TREE = {
    "resources": (("resources/docs", 0.80, 1), ("resources/examples", 0.70, 1)),
    "resources/docs": (("resources/docs/auth.md", 0.90, 2), ("resources/docs/endpoints.md", 0.65, 2)),
    MEMORIES: ((f"{MEMORIES}/preferences", 0.75, 1),),
    "resources/examples": (),
    f"{MEMORIES}/preferences": (),
}
STARTS = {"resources": 0.90, MEMORIES: 0.85}
CLASSIC = Parameters(score_propagation_alpha=0.5, directories_per_round=1)


def walked(
    tree: dict[str, Any] = TREE, starts: dict[str, float] = STARTS, parameters: Parameters = CLASSIC, **options: Any
) -> Walked:
    def look(paths: Sequence[str]) -> list[list[Child]]:
        return [[Child(*one) for one in tree.get(path, ())] for path in paths]

    return walk(starts, options.pop("initial", ()), look, parameters=parameters, **{"limit": 2, **options})


def taken(done: Walked) -> list[list[str]]:
    return [
        [one["uri"].removeprefix("viking://") for one in event["directories"]]
        for event in done.events
        if event["type"] == "round"
    ]


@pytest.mark.parametrize(
    ("alpha", "order", "scores"),
    [
        (
            0.5,
            ["resources", "resources/docs", MEMORIES, "resources/examples", f"{MEMORIES}/preferences"],
            {"resources/docs": 0.85, "resources/examples": 0.80, "resources/docs/auth.md": 0.875,
             "resources/docs/endpoints.md": 0.75, f"{MEMORIES}/preferences": 0.80},
        ),
        (
            1.0,
            ["resources", MEMORIES, "resources/docs", f"{MEMORIES}/preferences", "resources/examples"],
            {"resources/docs": 0.80, "resources/examples": 0.70, "resources/docs/auth.md": 0.90,
             "resources/docs/endpoints.md": 0.65, f"{MEMORIES}/preferences": 0.75},
        ),
    ],
)  # fmt: skip
def test_the_worked_example(alpha: float, order: list[str], scores: dict[str, float]) -> None:
    """With α 0.5 docs comes before memories by its name; with α 1 it is behind, and the best hit a round later."""
    done = walked(parameters=Parameters(score_propagation_alpha=alpha, directories_per_round=1))
    assert [one for (one,) in taken(done)] == order
    assert {path: one.score for path, one in done.collected.items()} == pytest.approx(scores)


@pytest.mark.parametrize(("alpha", "rounds"), [(0.5, 5), (1.0, 6)])
def test_the_worked_example_converges(alpha: float, rounds: int) -> None:
    """The best two stand after round 2 or 3; three more that change nothing end the walk."""
    further = {
        f"{MEMORIES}/preferences": ((f"{MEMORIES}/preferences/a", 0.55, 1), (f"{MEMORIES}/preferences/b", 0.5, 1))
    }
    further["resources/examples"] = (("resources/examples/c", 0.52, 1), ("resources/examples/d", 0.51, 1))
    done = walked({**TREE, **further}, parameters=Parameters(score_propagation_alpha=alpha, directories_per_round=1))
    assert (done.end, done.rounds, done.directories) == ("converged", rounds, rounds)


@pytest.mark.parametrize(
    ("pools", "ends"),
    [
        # the same best two again: the first time does not count
        ([{"a": 0.9, "b": 0.8}] * 4, [False, False, False, True]),
        # fewer than the limit, and nothing comes: it stagnates
        ([{"a": 0.9}] * 4, [False, False, False, True]),
        # it grows below the best
        ([{"a": 0.9, "b": 0.8, **dict.fromkeys("cdef"[:n], 0.1)} for n in range(4)], [False, False, False, True]),
        # something better comes in the third round
        ([{"a": 0.9, "b": 0.8}, {"a": 0.9, "b": 0.8}, {"a": 0.9, "b": 0.8, "c": 0.95}, {"a": 0.9, "c": 0.95, "b": 0.8}],
         [False, False, False, False]),
        ([{}, {}, {}], [False, False, True]),
    ],
)  # fmt: skip
def test_when_it_ends(pools: list[dict[str, float]], ends: list[bool]) -> None:
    convergence = Convergence(2, 3)
    assert [convergence.ends(pool) for pool in pools] == ends


def test_four_at_once_see_the_same_round() -> None:
    done = walked(parameters=Parameters(directories_per_round=4))
    assert taken(done) == [["resources", MEMORIES], ["resources/docs", f"{MEMORIES}/preferences", "resources/examples"]]


def test_a_start_without_a_score_leaves_children_theirs() -> None:
    done = walked({"r": (("r/f.md", 0.4, 2),)}, {"r": 0.0})
    assert done.collected["r/f.md"].score == 0.4


def test_the_threshold_is_exclusive_and_keeps_directories_out() -> None:
    """0.85 is not above 0.85; what is behind a directory that is skipped stays unseen."""
    done = walked(starts={"resources": 0.90}, threshold=0.85)
    assert (dict(done.collected), done.excluded, done.directories) == ({}, 2, 1)
    assert "resources/docs/auth.md" in walked(starts={"resources": 0.90}, threshold=0.84).collected


def test_the_better_of_two_ways_counts() -> None:
    """A record that was found globally keeps its own score where its directory would lower it."""
    initial = [Child("resources/docs/auth.md", 0.95, 2), Child("resources/docs/endpoints.md", 0.1, 2)]
    done = walked(initial=initial)
    assert done.collected["resources/docs/auth.md"].score == 0.95
    assert done.collected["resources/docs/endpoints.md"].score == pytest.approx(0.75)


@pytest.mark.parametrize(("levels", "kept"), [((2,), {2}), ((1,), {1}), ((0, 2), {2}), ((), {1, 2})])
def test_unwanted_levels_are_walked_through(levels: tuple[int, ...], kept: set[int]) -> None:
    done = walked(levels=levels)
    assert {one.level for one in done.collected.values()} == kept
    assert "resources/docs" in [path for paths in taken(done) for path in paths]


def test_a_wide_tree_ends_somewhere() -> None:
    """Scores that rise on and on never converge."""
    chain = {str(n): ((str(n + 1), 0.1 + n / 10_000, 1),) for n in range(1_000)}
    done = walked(chain, {"0": 0.1}, Parameters(directories_per_round=3))
    assert (done.end, done.directories) == ("bounded", MOST_DIRECTORIES)
    assert len(done.events) < MOST_DIRECTORIES


def test_a_directory_is_visited_once() -> None:
    done = walked({"a": (("b", 0.5, 1), ("a", 0.5, 0)), "b": (("a", 0.9, 1), ("c", 0.3, 1))}, {"a": 0.5, "b": 0.4})
    assert [one for (one,) in taken(done)] == ["a", "b", "c"]
