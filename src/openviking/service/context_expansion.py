"""Query expansion of context mode: the caller's query first, then at most two that a chat model plans (contract/retrieval.md §5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openviking.model.hit import NO_WORK, Degradation
from openviking.model.query_plan import PlannedQuery
from openviking.model.work import Work
from openviking.service.planning import Planned

MAX_QUERIES: Final = 3
"""Queries of one call, the caller's own among them."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The queries to be searched for; ``state`` is ``off``, ``used`` or ``failed``, for the reasons in ``degraded``."""

    queries: tuple[str, ...]
    state: str = "off"
    degraded: tuple[Degradation, ...] = ()
    work: Work = NO_WORK


def expansion(query: str, planned: Planned) -> Expansion:
    """What becomes of ``query`` by what the model planned: where it failed, or was not asked, the query stands alone."""
    spent = Work(
        intent_ms=1000 * planned.seconds, llm_input=planned.tokens[0], llm_output=planned.tokens[1],
        planned=len(planned.plan.queries) if planned.plan else 0,
    )  # fmt: skip
    if planned.plan is None:
        return Expansion((query,), "failed" if planned.degraded else "off", planned.degraded, spent)
    return Expansion((query, *_others(query, planned.plan.queries)), "used", planned.degraded, spent)


def _others(query: str, queries: Sequence[PlannedQuery]) -> list[str]:
    """The most important of the planned queries that ask something else, in the order of the plan."""
    different: dict[str, PlannedQuery] = {}
    for one in queries:
        if one.query.casefold() != query.casefold():
            different.setdefault(one.query.casefold(), one)
    planned = list(different.values())
    best = sorted(range(len(planned)), key=lambda place: (planned[place].priority, place))[: MAX_QUERIES - 1]
    return [planned[place].query for place in sorted(best)]
