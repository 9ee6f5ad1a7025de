"""Budgets in two languages, the documented calls, and the deprecated recall (contract/retrieval.md §5.14)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.context.conftest import ME, World, opened

from openviking.text import estimate_tokens

ENGLISH = "The glacier number {0} moves {0} metres a year. Its ice is blue, its moraine is long. Tourists walk on the glacier with ropes, and a guide {0} tells them of crevasses. "
CHINESE = "冰川{0}每年移动{0}米。冰是蓝色的，冰碛很长。游客用绳子在冰川上行走，向导{0}告诉他们裂缝的事。"


@pytest.fixture(scope="module")
def two_languages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    for made in opened(tmp_path_factory.mktemp("languages") / "data"):
        for number in range(12):
            made.write(f"resources/en/{number}.md", f"# Glacier {number}\n\n{ENGLISH.format(number) * 24}\n")
            made.write(f"resources/zh/{number}.md", f"# 冰川{number}\n\n{CHINESE.format(number) * 30}\n")
        made.services.system.wait_processed(ME)
        yield made


@pytest.mark.parametrize(("query", "place"), [("glacier moraine", "en"), ("冰川的裂缝", "zh")])
def test_budgets_in_two_languages(two_languages: World, query: str, place: str) -> None:
    """R17."""
    told = []
    for budget in (400, 1600, 6000):
        _, result = two_languages.inside(query, max_tokens=budget)
        used = result["stats"]["used_tokens"]
        counted = estimate_tokens(result["rendered"])
        assert counted <= used <= min(budget, 1.2 * counted)
        told.append(sum(len(one["text"]) for one in result["entries"]))
        texts = [one for one in result["entries"] if one["text"]]
        if budget == 1600:
            assert len(texts) >= 6
        for one in texts:
            if one["detail"] == "abstract":
                whole = two_languages.services.content.read(ME, one["uri"]).lower()
                last = one["text"].lower().rstrip("….").rstrip().split()[-1]
                assert last in (whole if place == "zh" else re.findall(r"\w+", whole))
    assert told == sorted(told)


def test_the_examples_of_the_documents(world: World) -> None:
    """The calls as they are documented."""
    for body in (
        {"query": "what changed on this branch", "mode": "context", "max_tokens": 1600},
        {"query": "continue that refactor", "mode": "context", "session_id": "cc-1a2b3c", "query_expansion": "auto",
         "dedup_turns": 5, "purpose": "coding", "max_tokens": 3000},
        {"query": "tier design", "mode": "context", "max_tokens": 3000, "rewrite": True},
    ):  # fmt: skip
        answer = world.client.post("/api/v1/search/search", json=body, headers={"Authorization": "Bearer your-key"})
        assert answer.status_code == 200, answer.text
        result = answer.json()["result"]
        assert {"entries", "rendered", "digest", "stats"} == set(result)
        documented = {
            "candidates", "returned", "dropped", "deduped", "max_tokens", "used_tokens", "per_entry_cap", "detail",
            "tier_counts", "fill", "query_expansion", "rewrite", "rewrite_usage", "excluded", "dedup",
        }  # fmt: skip
        assert documented <= set(result["stats"])


def test_the_time_it_took(world: World) -> None:
    answer = world.client.post(
        "/api/v1/search/search", json={"query": "zeppelin", "mode": "context", "telemetry": {"summary": True}}
    ).json()
    summary = answer["telemetry"]["summary"]
    assert (summary["operation"], summary["vector"]["returned"]) == ("search.context", len(answer["result"]["entries"]))


RECALLS: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]] = {
    "plain": ({}, lambda told: told["stats"]["quotas"]["events"] == 10 and told["stats"]["max_tokens"] == 1600),
    "max_chars": ({"max_chars": 6500}, lambda told: told["stats"]["max_tokens"] == 1625),
    "min_score": ({"min_score": 0.3, "score_threshold": 0.2}, lambda told: told["stats"]["score_threshold"] == 0.2),
    "entries only": ({"render": False}, lambda told: told["rendered"] == "" and bool(told["entries"])),
    "compact": ({"render": "compact"}, lambda told: told["stats"]["detail"] == "abstract"),
    "no quotas": ({"quotas": None}, lambda told: told["stats"]["purpose"] == "coding"),
    "in a session": ({"session_id": "r1"}, lambda told: told["stats"]["dedup"]["turns"] == 5),
}


@pytest.mark.parametrize(("asked", "right"), RECALLS.values(), ids=RECALLS)
def test_the_deprecated_recall(world: World, asked: dict[str, Any], right: Callable[[dict[str, Any]], bool]) -> None:
    answer = world.client.post("/api/v1/search/recall", json={"query": "zeppelin", **asked})
    assert answer.status_code == 200, answer.text
    assert answer.headers["deprecation"] == "true"
    assert answer.headers["link"] == '</api/v1/search/search>; rel="successor-version"'
    result = answer.json()["result"]
    assert right(result)
    assert result["stats"]["deprecated"] == {
        "endpoint": "/api/v1/search/recall",
        "successor": "/api/v1/search/search",
        "successor_body": {"mode": "context"},
        "aliases_used": sorted(set(asked) & {"max_chars", "min_score", "render"}),
    }


@pytest.mark.parametrize("asked", [{}, {"query": "x", "filter": {}}, {"query": "x", "render": "loud"}])
def test_recalls_that_are_refused(world: World, asked: dict[str, Any]) -> None:
    answer = world.client.post("/api/v1/search/recall", json=asked)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
