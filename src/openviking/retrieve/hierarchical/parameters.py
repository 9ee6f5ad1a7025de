"""What a walk through directories goes by (contract/retrieval.md §1.2, §8.1): defaults, presets, and what a request may say."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from openviking.config.settings import RetrievalSettings
from openviking.errors import InvalidArgumentError
from openviking.index.choices import one_of
from openviking.text import quoted

GLOBAL: Final = "global"
HIERARCHICAL: Final = "hierarchical"
STRATEGIES: Final = (GLOBAL, HIERARCHICAL)

FEWEST_CHILDREN: Final = 20
MOST_CHILDREN: Final = 1_000
"""Children of one directory that are looked at, whatever the limit: the global search finds what comes behind them."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a walk scores and when it ends; the defaults are those of the strategy where nothing else is said.

    ``score_propagation_alpha`` is the share of a child's own score, the rest is its directory's. A walk ends once the
    best hits did not change for ``max_convergence_rounds`` rounds, each of ``directories_per_round`` directories, of which
    at most ``children_per_directory`` children are looked at (0: twice the limit, at least 20). It starts from
    ``global_search_topk`` directories, or as many as the limit. ``hotness_alpha`` is the share of a hit's hotness, which
    halves in ``hotness_half_life_days``. A hit has at most ``max_relations`` relations. With a
    ``directory_dominance_ratio`` a directory is a hit only if its score is at least so many times that of its best hit.
    """

    score_propagation_alpha: float = 1.0
    max_convergence_rounds: int = 3
    global_search_topk: int = 10
    children_per_directory: int = 0
    directories_per_round: int = 4
    hotness_alpha: float = 0.0
    hotness_half_life_days: float = 7.0
    max_relations: int = 5
    directory_dominance_ratio: float = 0.0

    def children(self, limit: int) -> int:
        """How many children of a directory are looked at in a search for ``limit`` hits."""
        return min(self.children_per_directory or max(2 * limit, FEWEST_CHILDREN), MOST_CHILDREN)


PRESETS: Final[Mapping[str, Parameters]] = {
    "classic": Parameters(
        score_propagation_alpha=0.5, global_search_topk=3, children_per_directory=20, directories_per_round=1,
        hotness_alpha=0.2,
    ),
    "late": Parameters(max_relations=0),
}  # fmt: skip
"""The walks that the older and the younger documents describe; neither drops directories."""

NAMES: Final = tuple(one.name for one in fields(Parameters))

_WHOLE: Final[Mapping[str, tuple[int, int]]] = {
    "max_convergence_rounds": (1, 1_000), "global_search_topk": (1, 10_000), "children_per_directory": (0, MOST_CHILDREN),
    "directories_per_round": (1, 64), "max_relations": (0, 100),
}  # fmt: skip
_LARGEST: Final = sys.float_info.max
_SHARES: Final = ("score_propagation_alpha", "hotness_alpha")


@dataclass(frozen=True, slots=True)
class AskedStrategy:
    """What a request says of its strategy; None and nothing where it leaves that to the configuration."""

    name: str | None = None
    preset: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)


NOTHING_ASKED: Final = AskedStrategy()


def parse_strategy(value: object) -> AskedStrategy:
    """``global``, ``hierarchical``, the name of a preset, or an object of ``name``, ``preset`` and parameters; None: nothing.

    Raises `InvalidArgumentError` that names what is wrong.
    """
    if value is None:
        return NOTHING_ASKED
    if isinstance(value, str):
        if value in PRESETS:
            return AskedStrategy(HIERARCHICAL, value)
        one_of("strategy", value, (*STRATEGIES, *PRESETS))
        return AskedStrategy(value)
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"strategy must be a name or an object, not {quoted(value)}", field="strategy")
    unknown = sorted(str(name) for name in value if name not in {"name", "preset", *NAMES})
    if unknown:
        raise InvalidArgumentError(
            f"strategy has no {quoted(unknown[0])}; it has name, preset, {', '.join(NAMES)}", field="strategy"
        )
    name, preset = value.get("name"), value.get("preset")
    if name is not None:
        one_of("strategy.name", name, STRATEGIES)
    if preset is not None:
        one_of("strategy.preset", preset, tuple(PRESETS))
    given = {key: _checked(key, value[key]) for key in NAMES if value.get(key) is not None}
    return AskedStrategy(HIERARCHICAL if name is None else name, preset, given)


def parameters_of(settings: RetrievalSettings, asked: AskedStrategy) -> Parameters | None:
    """What the walk of a request goes by; None where it does not walk.

    A preset that the request names takes the place of all that is configured.
    """
    if (asked.name or settings.strategy) != HIERARCHICAL:
        return None
    configured = {name: held for name in NAMES if (held := getattr(settings, name)) is not None}
    if asked.preset is not None:
        return replace(PRESETS[asked.preset], **asked.given)
    base = Parameters() if settings.preset is None else PRESETS[settings.preset]
    return replace(base, **{**configured, **asked.given})


def _checked(name: str, value: Any) -> Any:
    if name in _WHOLE:
        low, high = _WHOLE[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _refused(name, value, f"a whole number from {low} to {high}")
        return value
    # A whole number may have more digits than a float.
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise _refused(name, value, "a finite number")
    if name in _SHARES and not 0 <= value <= 1:
        raise _refused(name, value, "a number from 0 to 1")
    if name == "directory_dominance_ratio" and value != 0 and not 1 <= value <= 1_000:
        raise _refused(name, value, "0, or a number from 1 to 1000")
    if name == "hotness_half_life_days" and not 0.001 <= value <= 100_000:
        raise _refused(name, value, "a number from 0.001 to 100000")
    return float(value)


def _refused(name: str, value: Any, right: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"strategy.{name} must be {right}, not {quoted(value)}", field=f"strategy.{name}")
