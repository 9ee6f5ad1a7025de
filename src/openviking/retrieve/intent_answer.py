"""Reading the answer of a chat model that was asked for a plan: only what has the right form is taken."""

from __future__ import annotations

import json
from typing import Any, Final

from openviking.model.query_plan import Plan, PlannedQuery
from openviking.providers.chat_values import said, values
from openviking.retrieve.intent import DEFAULT_TYPE, TYPES, chosen
from openviking.text import quoted, shorten

MAX_QUERY_CHARS: Final = 1_000
MAX_INTENT_CHARS: Final = 500
MAX_REASONING_CHARS: Final = 4_000
LEAST: Final = 5
"""The priority of what is nice to have."""

DEFAULT_PRIORITY: Final = 3


class NoPlan(Exception):  # noqa: N818
    """The answer holds no plan; the message says what it holds instead."""


def read_plan(answer: str) -> Plan:
    """The plan in a model's ``answer``: a JSON object with ``queries``, or a list of them, perhaps in a code fence.

    Of what stands around it nothing counts. Queries that are blank or no objects are skipped, long ones cut, and of more
    than five the least important dropped. Raises `NoPlan` for text without such JSON, ``queries`` that is no list, and a
    list in which nothing can be used; an empty list is a plan.
    """
    text = said(answer)
    if not text:
        raise NoPlan("the answer is empty")
    found = None
    for value in values(text):
        if isinstance(value, list):
            value = {"queries": value}
        if isinstance(value, dict) and "queries" in value:
            # The last one: models that think aloud give their answer at the end.
            found = value
    if found is None:
        raise NoPlan(f"the answer is no plan: {quoted(' '.join(text.split()))}")
    given = found["queries"]
    if not isinstance(given, list):
        raise NoPlan(f"queries is no list: {quoted(given)}")
    queries = [one for one in map(_query, given) if one is not None]
    if given and not queries:
        raise NoPlan(f"none of its {len(given)} queries can be used")
    return Plan(_reasoning(found.get("reasoning")), chosen(queries))


def _query(given: Any) -> PlannedQuery | None:
    if not isinstance(given, dict) or not isinstance(given.get("query"), str):
        return None
    query = shorten(_plain(given["query"]), MAX_QUERY_CHARS)
    if not query:
        return None
    told = given.get("context_type")
    kind = told.strip().lower() if isinstance(told, str) else ""
    intent = given.get("intent")
    return PlannedQuery(
        query,
        kind if kind in TYPES else DEFAULT_TYPE,
        shorten(_plain(intent), MAX_INTENT_CHARS) if isinstance(intent, str) else "",
        _priority(given.get("priority")),
    )


def _priority(given: Any) -> int:
    if isinstance(given, str) and given.strip().isascii() and given.strip().isdigit():
        given = int(given.strip()[:9])
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int):
        return DEFAULT_PRIORITY
    return min(max(given, 1), LEAST)


def _reasoning(given: Any) -> str:
    if given is None:
        return ""
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return shorten(_plain(text), MAX_REASONING_CHARS)


def _plain(text: str) -> str:
    """``text`` in one line that every encoding can hold."""
    return " ".join(text.encode("utf-8", "replace").decode().split())
