"""What a walk goes by: presets, configuration, request (contract/retrieval.md §1.2, §8.1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openviking.config.file import load_settings
from openviking.config.settings import RetrievalSettings
from openviking.errors import InvalidArgumentError
from openviking.index.hotness import DAY_MS, hotness, warmed
from openviking.retrieve.hierarchical.parameters import PRESETS, Parameters, parameters_of, parse_strategy


@pytest.mark.parametrize(
    ("count", "days", "expected"),
    [(0, 0, 0.5), (10, 0, 0.9167), (1000, 0, 0.9990), (0, 7, 0.25), (10, 7, 0.4583), (10, 30, 0.0470)],
)
def test_hotness(count: int, days: float, expected: float) -> None:
    """§8.5."""
    assert hotness(count, int(days * DAY_MS)) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("semantic", "hot", "expected"), [(1.0, 0.5, 0.9), (0.80, hotness(10, 7 * DAY_MS), 0.7317), (0.0, 0.0, 0.0)]
)
def test_warmed(semantic: float, hot: float, expected: float) -> None:
    assert warmed(semantic, hot, 0.2) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("age", "expected"), [(None, 0.0), (-DAY_MS, 0.5), (10**30, 0.0)])
def test_odd_ages(age: int | None, expected: float) -> None:
    """Without a time there is no hotness; the future is now; the remote past is nothing."""
    assert hotness(0, age) == pytest.approx(expected)
    assert warmed(0.7, hotness(5, 0), 0.0) == 0.7


CLASSIC = (0.5, 3, 3, 20, 1, 0.2, 7.0, 5, 0.0)
LATE = (1.0, 3, 10, 0, 4, 0.0, 7.0, 0, 0.0)


def values(parameters: Parameters) -> tuple[float, ...]:
    return tuple(getattr(parameters, name) for name in Parameters.__slots__)


def test_the_presets_are_those_of_the_documents() -> None:
    assert (values(PRESETS["classic"]), values(PRESETS["late"])) == (CLASSIC, LATE)
    assert values(Parameters()) == (*LATE[:7], 5, 0.0)


@pytest.mark.parametrize(
    ("limit", "given", "expected"), [(5, 0, 20), (10, 0, 20), (30, 0, 60), (9_999, 0, 1_000), (30, 20, 20)]
)
def test_children_per_directory(limit: int, given: int, expected: int) -> None:
    assert Parameters(children_per_directory=given).children(limit) == expected


@pytest.mark.parametrize(
    ("settings", "asked", "expected"),
    [
        ({}, None, None),
        ({}, "global", None),
        ({"strategy": "hierarchical"}, "global", None),
        ({"strategy": "hierarchical"}, None, Parameters()),
        ({"strategy": "hierarchical", "preset": "classic"}, None, PRESETS["classic"]),
        ({"preset": "classic", "hotness_alpha": 0.0}, "hierarchical", Parameters(0.5, 3, 3, 20, 1, 0.0, 7.0, 5)),
        ({"preset": "classic", "hotness_alpha": 0.5}, "late", PRESETS["late"]),
        ({"hotness_alpha": 0.5}, {"score_propagation_alpha": 0.3}, Parameters(0.3, hotness_alpha=0.5)),
        ({}, {"preset": "classic", "max_relations": 1}, Parameters(0.5, 3, 3, 20, 1, 0.2, 7.0, 1)),
        ({}, {"name": "global", "max_relations": 1}, None),
        ({"score_propagation_alpha": 0.1, "hotness_alpha": 0.5}, None, None),
    ],
)
def test_who_has_the_say(settings: dict[str, Any], asked: Any, expected: Parameters | None) -> None:
    """The request before its preset, before the configuration, before the configured preset."""
    assert parameters_of(RetrievalSettings(**settings), parse_strategy(asked)) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        "recursive", "", 7, ["late"], {"name": "late"}, {"preset": "newest"}, {"alpha": 0.5},
        {"score_propagation_alpha": 1.1}, {"score_propagation_alpha": float("nan")}, {"score_propagation_alpha": True},
        {"hotness_alpha": "0.2"}, {"hotness_alpha": 10**400},
        {"max_convergence_rounds": 0}, {"max_convergence_rounds": 1.5},
        {"global_search_topk": 0}, {"directories_per_round": 65}, {"max_relations": -1}, {"max_relations": True},
        {"directory_dominance_ratio": 0.5}, {"hotness_half_life_days": 0}, {"children_per_directory": 10**9},
    ],
    ids=lambda wrong: repr(wrong)[:60],
)  # fmt: skip
def test_what_a_request_may_not_say(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="strategy"):
        parse_strategy(wrong)


def test_every_parameter_can_be_configured(tmp_path: Path) -> None:
    told = {
        "strategy": "hierarchical", "preset": "classic", "score_propagation_alpha": 0.25, "max_convergence_rounds": 2,
        "global_search_topk": 7, "children_per_directory": 9, "directories_per_round": 3, "hotness_alpha": 0.1,
        "hotness_half_life_days": 3.5, "max_relations": 2, "directory_dominance_ratio": 1.2,
    }  # fmt: skip
    file = tmp_path / "ov.conf"
    file.write_text(json.dumps({"retrieval": told}))
    settings = load_settings(file, env={}, home=tmp_path).retrieval
    assert parameters_of(settings, parse_strategy(None)) == Parameters(0.25, 2, 7, 9, 3, 0.1, 3.5, 2, 1.2)


@pytest.mark.parametrize(
    ("key", "value"),
    [("strategy", "flat"), ("preset", "old"), ("directory_dominance_ratio", 0.9), ("max_convergence_rounds", 0)],
)
def test_a_wrong_configuration_is_refused(tmp_path: Path, key: str, value: Any) -> None:
    file = tmp_path / "ov.conf"
    file.write_text(json.dumps({"retrieval": {key: value}}))
    with pytest.raises(InvalidArgumentError, match=f"retrieval.{key}"):
        load_settings(file, env={}, home=tmp_path)
