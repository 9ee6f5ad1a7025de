"""What an answer looks like on the wire: keys in their order, figures, and why it may be empty (contract/retrieval.md §5.13)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from openviking.context.answer import ContextResult, Dedup, Gathered, error_told
from openviking.context.candidates import Candidate
from openviking.context.digest import Digest
from openviking.context.filling import fill
from openviking.context.parameters import ContextRequest, checked_context
from openviking.context.selection import Selection, select
from openviking.errors import InternalError

STATS = [
    "searched", "candidates", "excluded", "returned", "dropped", "deduped", "origins", "peer_scope", "purpose", "quotas",
    "score_threshold", "other_peer_penalties", "max_tokens", "used_tokens", "per_entry_cap", "detail", "tier_counts",
    "fill", "query_expansion", "planned_queries", "rewrite", "rewrite_usage", "dedup",
]  # fmt: skip
FOUND = [
    Candidate("viking://resources/a.md", "resources", 0.8, abstract="one", lines=(3, 9)),
    Candidate("viking://user/ann/peers/bob/memories/events/b.md", "events", 0.7, "other_peer", "whole"),
    Candidate("viking://resources/c.md", "resources", 0.5, abstract=""),
]


def answer(request: ContextRequest, found: list[Candidate], **more: Any) -> ContextResult:
    selection = more.pop("selection", None) or select(request, found)
    bodies = {FOUND[1].uri: "# Summary\ngist\n\n# ChatLog\n" + "said. " * 400}
    return ContextResult(
        request,
        more.pop("gathered", Gathered()),
        selection,
        fill(selection.candidates, request, lambda _: bodies),
        **more,
    )


def test_the_answer_on_the_wire() -> None:
    request = checked_context(query="a", max_tokens=400)
    told = answer(request, FOUND, gathered=Gathered(("viking://resources",), 0.1, "used", ("a", "b"))).to_dict()
    assert [*told] == ["entries", "rendered", "digest", "stats"]
    assert [*told["stats"]] == STATS
    assert told["entries"][0] == {
        "uri": "viking://resources/a.md", "category": "resources", "score": 0.8, "detail": "abstract", "text": "one",
        "origin": "self", "lines": [3, 9],
    }  # fmt: skip
    assert told["entries"][2]["lines"] is None
    assert told["digest"] == ""
    stats = told["stats"]
    assert stats["used_tokens"] <= 400
    assert {key: stats[key] for key in STATS if key not in {"other_peer_penalties", "used_tokens", "fill"}} == {
        "searched": ["viking://resources"], "candidates": 3, "excluded": 0, "returned": 3, "dropped": 0, "deduped": 0,
        "origins": {"actor_peer": 0, "self": 2, "other_peer": 1}, "peer_scope": "all", "purpose": None, "quotas": None,
        "score_threshold": 0.1, "max_tokens": 400, "per_entry_cap": 267, "detail": None,
        "tier_counts": {"overview": 1, "abstract": 1, "uri": 1}, "query_expansion": "used",
        "planned_queries": ["a", "b"], "rewrite": "off", "rewrite_usage": None,
        "dedup": {"turns": 0, "status": "off", "cooled": 0, "turn": 0},
    }  # fmt: skip


def test_figures_that_are_there_only_where_they_say_something() -> None:
    request = checked_context(query="a", purpose="coding", limit=3, level=2, detail={"events": "full"})
    gathered = Gathered(errors=tuple(f"UnavailableError: {number}" for number in range(9)))
    dedup = Dedup(5, "ok", 2, 34)
    result = answer(request, FOUND, gathered=gathered, dedup=dedup, more={"tokens": 7, "deprecated": {"endpoint": "x"}})
    assert [*result.stats] == [*STATS, "retrieval_errors", "ignored", "tokens", "deprecated"]
    assert len(result.stats["retrieval_errors"]) == 5
    assert result.stats["ignored"] == ["level", "limit"]
    assert result.stats["detail"] == {"events": "full"}
    assert result.stats["quotas"] == {
        "events": 1, "entities": 2, "preferences": 1, "experiences": 1, "resources": 3, "skills": 2
    }  # fmt: skip
    assert result.stats["dedup"] == {"turns": 5, "status": "ok", "cooled": 2, "turn": 34}


@pytest.mark.parametrize(
    ("condensed", "digest", "rendered"),
    [
        (Digest("off"), "", True),
        (
            Digest("ok", "OpenViking memory digest:\n- x", {"prompt_tokens": 3, "completion_tokens": 4}),
            "OpenViking",
            True,
        ),
        (Digest("no_relevant"), "", False),
        (Digest("failed"), "", True),
        (Digest("timeout"), "", True),
    ],
)
def test_the_digest_and_the_block(condensed: Digest, digest: str, rendered: bool) -> None:
    result = answer(checked_context(query="a"), FOUND, condensed=condensed)
    assert result.digest.startswith(digest)
    assert bool(result.digest) == bool(digest)
    assert bool(result.rendered) == rendered
    assert len(result.entries) == 3
    assert result.stats["rewrite"] == condensed.status
    assert result.stats["rewrite_usage"] == condensed.usage
    assert answer(checked_context(query="a"), FOUND, condensed=condensed, with_rendered=False).rendered == ""


def test_an_empty_answer_says_why() -> None:
    request = checked_context(query="a")
    assert answer(request, []).why_empty == "nothing relevant was found"
    assert "above 0.3" in answer(request, [], gathered=Gathered(score_threshold=0.3)).why_empty
    assert "searches failed" in answer(request, [], gathered=Gathered(errors=("x",))).why_empty
    assert "excluded: 4" in answer(request, [], selection=Selection((), 4)).why_empty
    assert "no quota" in answer(checked_context(query="a", quotas={"events": 0}), FOUND).why_empty
    long = replace(FOUND[0], uri="viking://resources/" + "x" * 400)
    assert (
        "not even the URI of any of the 1 candidates"
        in answer(checked_context(query="a", max_tokens=64), [long]).why_empty
    )
    empty = answer(request, [])
    assert (empty.entries, empty.rendered, empty.stats["empty"]) == ((), "", "nothing relevant was found")
    assert [*empty.stats] == [*STATS, "empty"]
    assert answer(request, FOUND).why_empty == ""


def test_a_failed_search_is_told_by_its_kind_and_message() -> None:
    assert error_told(InternalError("the store\n is gone")) == "InternalError: the store is gone"
    assert len(error_told(ValueError("x" * 900))) <= 200
