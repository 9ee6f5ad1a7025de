"""Intent analysis: from a message and its conversation to the queries that are worth asking (contract/retrieval.md §4.3).

Nothing in a conversation or in a model's answer is believed: the one is shown to the model as data, line by line, and of
the other only what has the right form is taken. The worst that either can do is a query, within the caller's scope.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from openviking.model.query_plan import Plan, PlannedQuery
from openviking.retrieve import intent_prompt as prompt

TYPES: Final = ("memory", "resource", "skill")
DEFAULT_TYPE: Final = "resource"

MAX_QUERIES: Final = 5
"""More are not asked: the least important are dropped."""

MAX_SUMMARY_CHARS: Final = 30_000
MAX_MESSAGES: Final = 5
MAX_MESSAGE_CHARS: Final = 4_000
MAX_CURRENT_CHARS: Final = 8_000
MAX_PLACE_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said before: the overview of the newest archive, and live messages as role and text, the newest last."""

    summary: str = ""
    messages: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.summary.strip()) or any(text.strip() for _, text in self.messages)


def messages_for(
    conversation: Conversation, query: str, context_types: Sequence[str] = (), place: str = ""
) -> list[dict[str, str]]:
    """What the model is sent: the rules, and beside them what was said, in at most some 60,000 characters.

    With one type among ``context_types`` only queries of that type are asked for, and ``place`` is what the searched
    directory is about.
    """
    rules = prompt.RULES
    parts = [
        (prompt.SUMMARY, conversation.summary, MAX_SUMMARY_CHARS),
        (prompt.MESSAGES, _lines(conversation.messages), MAX_MESSAGES * (MAX_MESSAGE_CHARS + 100)),
        (prompt.CURRENT, query, MAX_CURRENT_CHARS),
    ]
    if len(context_types) == 1:
        rules += prompt.ONE_STORE.format(store=context_types[0])
        if place.strip():
            parts.insert(0, (prompt.PLACE, place, MAX_PLACE_CHARS))
    said = "\n\n".join(f"{heading}\n{_quoted(_cut(text.strip(), most))}" for heading, text, most in parts)
    return [{"role": "system", "content": rules}, {"role": "user", "content": said}]


def confined(plan: Plan, context_types: Sequence[str]) -> Plan:
    """``plan`` within the caller's types: with one all queries are of it, with several a foreign type becomes None."""
    if not context_types:
        return plan

    def typed(one: PlannedQuery) -> PlannedQuery:
        if len(context_types) == 1:
            return replace(one, context_type=context_types[0])
        return one if one.context_type in context_types else replace(one, context_type=None)

    return replace(plan, queries=_distinct([typed(one) for one in plan.queries]))


def _distinct(queries: Sequence[PlannedQuery]) -> tuple[PlannedQuery, ...]:
    """``queries`` without those that ask the same of the same type again."""
    kept: dict[tuple[str, str | None], PlannedQuery] = {}
    for one in queries:
        kept.setdefault((one.query.casefold(), one.context_type), one)
    return tuple(kept.values())


def chosen(queries: Sequence[PlannedQuery]) -> tuple[PlannedQuery, ...]:
    """At most `MAX_QUERIES` different ones, the least important dropped (of equals the last), their order kept."""
    different = _distinct(queries)
    if len(different) <= MAX_QUERIES:
        return different
    best = sorted(range(len(different)), key=lambda place: (different[place].priority, place))[:MAX_QUERIES]
    return tuple(different[place] for place in sorted(best))


def _lines(messages: Sequence[tuple[str, str]]) -> str:
    said = [(role, " ".join(text.split())) for role, text in messages if text.strip()]
    return "\n".join(f"[{role}]: {_cut(text, MAX_MESSAGE_CHARS)}" for role, text in said[-MAX_MESSAGES:])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - len(prompt.CUT) - 1].rstrip()} {prompt.CUT}"


def _quoted(text: str) -> str:
    return "\n".join(f"| {line}" for line in text.splitlines()) if text else f"| {prompt.NOTHING}"
