"""The parameters of a context: what is refused, what is ignored, what is in force (contract/retrieval.md §5.1, §5.3)."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.context.categories import PENALTIES
from openviking.context.parameters import checked_context
from openviking.errors import InvalidArgumentError

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"query": ""}, "query"),
    ({"query": "   "}, "query"),
    ({}, "query"),
    ({"query": 7}, "query"),
    ({"query": " ", "events_time_decay_protection": "7d"}, "query"),
    ({"target_uri": "viking://resources"}, "target_uri"),
    ({"target_uri": ["viking://resources"]}, "target_uri"),
    ({"read_content": True}, "read_content"),
    ({"query_expansion": "on"}, "query_expansion"),
    ({"max_tokens": 63}, "max_tokens"),
    ({"max_tokens": 32_001}, "max_tokens"),
    ({"max_tokens": 1600.0}, "max_tokens"),
    ({"max_tokens": True}, "max_tokens"),
    ({"limit": 0}, "limit"),
    ({"node_limit": -1}, "node_limit"),
    ({"quotas": {"tools": 1}}, "quotas.tools"),
    ({"quotas": {"memories": 1}}, "quotas.memories"),
    ({"quotas": {"events": 1.5}}, "quotas.events"),
    ({"quotas": {"events": "3"}}, "quotas.events"),
    ({"quotas": {"events": True}}, "quotas.events"),
    ({"quotas": [1, 2]}, "quotas"),
    ({"purpose": "work"}, "purpose"),
    ({"purpose": ""}, "purpose"),
    ({"detail": "uri"}, "detail"),
    ({"detail": "everything"}, "detail"),
    ({"detail": {"foo": "full"}}, "detail.foo"),
    ({"detail": {"events": "most"}}, "detail.events"),
    ({"detail": {"events": ["full"]}}, "detail.events"),
    ({"detail": ["full"]}, "detail"),
    ({"dedup_turns": -1}, "dedup_turns"),
    ({"dedup_turns": 101}, "dedup_turns"),
    ({"exclude_uris": ["viking://resources/a"] * 201}, "exclude_uris"),
    ({"exclude_uris": "viking://resources/a"}, "exclude_uris"),
    ({"exclude_uris": [3]}, "exclude_uris"),
    ({"peer_scope": "none"}, "peer_scope"),
    ({"other_peer_penalty": "little"}, "other_peer_penalty"),
    ({"rewrite": "yes"}, "rewrite"),
    ({"rewrite": 1}, "rewrite"),
    ({"rewrite_max_bullets": 0}, "rewrite_max_bullets"),
    ({"rewrite_max_bullets": 21}, "rewrite_max_bullets"),
    ({"session_id": 5}, "session_id"),
    ({"context_type": "documents"}, "context_type"),
    ({"render": True}, "render"),
]


@pytest.mark.parametrize(("sent", "field"), REFUSED, ids=[f"{field}-{n}" for n, (_, field) in enumerate(REFUSED)])
def test_what_is_refused_names_its_field(sent: dict[str, Any], field: str) -> None:
    if field != "query":
        sent = {"query": "anything"} | sent
    with pytest.raises(InvalidArgumentError) as refused:
        checked_context(**sent)
    assert refused.value.details["field"] == field
    assert field.partition(".")[0] in refused.value.message
    assert refused.value.status == 400


def test_the_defaults_are_the_documented_ones() -> None:
    request = checked_context(query=" hello ")
    assert (request.query, request.limit, request.max_tokens, request.total) == ("hello", 10, 1600, 10)
    assert (request.quotas, request.purpose, request.detail, request.pins) == (None, None, None, {})
    assert (request.query_expansion, request.dedup_turns, request.cooling) == ("auto", 0, False)
    assert (request.exclude_uris, request.peer_scope, request.penalties) == ((), "all", PENALTIES)
    assert (request.rewrite, request.rewrite_max_bullets) == (False, 6)
    assert (request.active, request.ignored, dict(request.find_options)) == ((), (), {})


def test_none_is_as_good_as_missing() -> None:
    names = ["session_id", "quotas", "purpose", "detail", "limit", "node_limit", "level", "filter", "target_uri"]
    assert checked_context(query="a", **dict.fromkeys(names)) == checked_context(query="a")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "narrowing",
    [{"filter": {"op": "must"}}, {"tags": ["a=b"]}, {"since": "2h"}, {"image_url": "viking://resources/a.png"}],
)
def test_a_filter_or_a_picture_stands_in_for_the_query(narrowing: Any) -> None:
    request = checked_context(query=" ", **narrowing)
    assert request.query == ""
    assert dict(request.find_options) == narrowing
    assert request.pictured == ("image_url" in narrowing)


def test_purposes_give_ten_candidates_and_quotas_win_over_them() -> None:
    chat, coding = checked_context(query="a", purpose="chat"), checked_context(query="a", purpose="coding")
    assert [*(chat.quotas or {}).values()] == [3, 3, 1, 1, 1, 1]
    assert [*(coding.quotas or {}).values()] == [1, 2, 1, 1, 3, 2]
    assert chat.total == coding.total == 10
    own = checked_context(query="a", purpose="chat", quotas={"skills": 2, "events": 4, "resources": -3})
    assert own.active == ("events", "skills")
    assert (own.total, own.purpose) == (6, "chat")
    assert own.quotas == {"events": 4, "entities": 0, "preferences": 0, "experiences": 0, "resources": 0, "skills": 2}


def test_quotas_that_name_nothing_are_none_and_quotas_of_nothing_search_nothing() -> None:
    assert checked_context(query="a", quotas={}).quotas is None
    nothing = checked_context(query="a", quotas={"events": 0})
    assert (nothing.active, nothing.total) == ((), 0)


def test_limit_is_ignored_beside_quotas_and_level_always() -> None:
    assert checked_context(query="a", purpose="coding", limit=1).ignored == ("limit",)
    assert checked_context(query="a", quotas={"events": 1}, node_limit=3, level=[2]).ignored == ("level", "limit")
    plain = checked_context(query="a", limit=4, level="rubbish")
    assert (plain.ignored, plain.limit) == (("level",), 4)
    assert checked_context(query="a", limit=4, node_limit=2).limit == 2


def test_pins_hold_for_all_categories_or_for_those_named() -> None:
    everywhere = checked_context(query="a", detail="full")
    assert everywhere.detail == "full"
    assert set(everywhere.pins.values()) == {"full"}
    assert len(everywhere.pins) == 7
    some = checked_context(query="a", detail={"events": "overview", "memories": "full", "skills": "auto"})
    assert some.pins == {"events": "overview", "memories": "full"}
    assert some.detail == {"events": "overview", "memories": "full", "skills": "auto"}
    assert checked_context(query="a", detail="auto") == checked_context(query="a")


@pytest.mark.parametrize(
    ("asked", "changed"),
    [
        (0.3, dict.fromkeys(PENALTIES, 0.3)),
        (0, dict.fromkeys(PENALTIES, 0.0)),
        (7, dict.fromkeys(PENALTIES, 1.0)),
        (-1.5, dict.fromkeys(PENALTIES, 0.0)),
        ({"events": 0.5, "skills": -1, "memories": 2}, {"events": 0.5, "skills": 0.0, "memories": 1.0}),
        ({"entities": "0.25", "preferences": "much", "resources": None, "tools": 0.9}, {"entities": 0.25}),
        ({"events": float("nan"), "skills": True, "entities": [1], "experiences": 10**400}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_penalties_are_held_between_0_and_1_and_what_makes_no_sense_changes_nothing(
    asked: Any, changed: dict[str, float]
) -> None:
    penalties = checked_context(query="a", other_peer_penalty=asked).penalties
    assert penalties == {**PENALTIES, **changed}
    assert [*penalties] == [*PENALTIES]


def test_excluded_uris_count_once_and_blank_ones_not() -> None:
    sent = ["viking://resources/a", " viking://resources/a ", "", "viking://~/memories"]
    assert checked_context(query="a", exclude_uris=sent).exclude_uris == ("viking://resources/a", "viking://~/memories")


def test_cooling_needs_a_session_and_turns() -> None:
    assert checked_context(query="a", session_id="s", dedup_turns=5).cooling
    assert not checked_context(query="a", dedup_turns=5).cooling
    assert not checked_context(query="a", session_id="", dedup_turns=5).cooling
