"""The deprecated recall: how its fields become those of a context (contract/retrieval.md §5.14)."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.context.recall_preset import checked_recall
from openviking.errors import InvalidArgumentError

NO_QUOTAS = {"events": 0, "entities": 0, "preferences": 0, "experiences": 0, "resources": 0, "skills": 0}


def test_the_defaults_of_a_recall() -> None:
    recall = checked_recall(query="a")
    request = recall.request
    assert request.quotas == NO_QUOTAS | {"events": 10, "entities": 10, "preferences": 3}
    assert (request.total, request.max_tokens, request.dedup_turns, request.detail) == (23, 1600, 0, None)
    assert dict(request.find_options) == {"score_threshold": 0.1}
    assert recall.rendered
    assert recall.deprecated == {
        "endpoint": "/api/v1/search/recall",
        "successor": "/api/v1/search/search",
        "successor_body": {"mode": "context"},
        "aliases_used": [],
    }


@pytest.mark.parametrize(
    ("sent", "tokens"),
    [
        ({"max_chars": 6500}, 1625),
        ({"max_chars": 100}, 64),
        ({"max_chars": 1600}, 400),
        ({"max_chars": 6500, "max_tokens": 800}, 800),
        ({"max_chars": 128_000}, 32_000),
    ],
)
def test_characters_become_tokens(sent: dict[str, Any], tokens: int) -> None:
    recall = checked_recall(query="a", **sent)
    assert recall.request.max_tokens == tokens
    assert recall.aliases == ("max_chars",)


def test_the_old_threshold_counts_where_the_new_one_is_not_sent() -> None:
    assert checked_recall(query="a", min_score=0.4).request.find_options["score_threshold"] == 0.4
    both = checked_recall(query="a", min_score=0.4, score_threshold=0.2)
    assert both.request.find_options["score_threshold"] == 0.2
    assert both.aliases == ("min_score",)


def test_quotas_are_laid_over_the_default_ones_and_null_asks_for_the_purpose() -> None:
    laid = checked_recall(query="a", quotas={"events": 1, "resources": 2})
    assert laid.request.quotas == NO_QUOTAS | {"events": 1, "entities": 10, "preferences": 3, "resources": 2}
    coding = checked_recall(query="a", quotas=None)
    assert [*(coding.request.quotas or {}).values()] == [1, 2, 1, 1, 3, 2]
    assert [*(checked_recall(query="a", quotas=None, purpose="chat").request.quotas or {}).values()] == [
        3,
        3,
        1,
        1,
        1,
        1,
    ]


def test_render_decides_on_the_block_and_on_the_detail() -> None:
    assert not checked_recall(query="a", render=False).rendered
    assert checked_recall(query="a", render="full").rendered
    compact = checked_recall(query="a", render="compact")
    assert compact.rendered
    assert compact.request.detail == "abstract"
    assert compact.aliases == ("render",)
    assert checked_recall(query="a", render="compact", detail="full").request.detail == "full"


def test_a_session_cools_for_five_turns_unless_it_says_otherwise() -> None:
    assert checked_recall(query="a", session_id="s").request.dedup_turns == 5
    assert checked_recall(query="a", session_id="s", dedup_turns=0).request.dedup_turns == 0


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"render": "small"}, "render"),
        ({"render": 1}, "render"),
        ({"render": ["full"]}, "render"),
        ({"filter": {}}, "filter"),
        ({"tags": ["a=b"]}, "tags"),
        ({"max_chars": 0}, "max_chars"),
        ({"max_chars": 128_001}, "max_chars"),
        ({"quotas": {"tools": 1}}, "quotas.tools"),
        ({"quotas": 3}, "quotas"),
        ({"query": " "}, "query"),
    ],
)
def test_what_a_recall_refuses(sent: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        checked_recall(**({"query": "a"} | sent))
    assert refused.value.details["field"] == field
