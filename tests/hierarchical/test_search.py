"""Searches that walk: what they find, score, leave out and tell (contract/retrieval.md §8, §9.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.hierarchical.conftest import ROOT, World
from tests.stubs.scripted import Script

from openviking.errors import InvalidArgumentError
from openviking.index.hotness import hotness, warmed
from openviking.model.hit import FindResult
from openviking.model.scope import Scope
from openviking.retrieve.find import FindRequest, answer
from openviking.retrieve.hierarchical.parameters import Parameters
from openviking.retrieve.hierarchical.search import walked
from openviking.service.breaker import Breaker

NORTH = "viking://resources/harbour/north"


def scores(found: FindResult) -> dict[str, float]:
    return {hit.uri: hit.score for hit in found}


@pytest.mark.parametrize("query", ["harbour in the north", "crane", "workers of the foundry", "zorblax"])
@pytest.mark.parametrize("options", [{}, {"level": 2}, {"level": [0, 1]}, {"score_threshold": 0.3}, {"limit": 3}])
def test_alone_the_walk_changes_no_score(world: World, query: str, options: dict[str, Any]) -> None:
    """With α 1 and no hotness a record scores what it scores anywhere; and nothing better is left out."""
    flat, walked = world.find(query, strategy="global", **options), world.find(query, strategy="late", **options)
    everywhere = scores(world.find(query, strategy="global", **{**options, "limit": 200}))
    assert [hit.score for hit in walked] == pytest.approx([hit.score for hit in flat])
    assert {hit.uri: everywhere[hit.uri] for hit in walked if hit.level == 2} == pytest.approx(
        {hit.uri: hit.score for hit in walked if hit.level == 2}
    )


@pytest.mark.parametrize("strategy", ["hierarchical", "classic", "late", {"directory_dominance_ratio": 1.2}])
def test_explanations_add_up(world: World, strategy: Any) -> None:
    found = world.find("harbour in the north", strategy=strategy, explain=True, limit=30)
    for hit in found:
        assert sum(value for _, value in hit.explain or ()) == pytest.approx(hit.score, abs=1e-9)
    told = {name for hit in found for name, _ in hit.explain or ()}
    assert ("hotness" in told, "propagated" in told) == ((True, True) if strategy == "classic" else (False, False))


def test_a_directory_passes_its_score_on(world: World) -> None:
    """What lies in a directory that answers well is better than its words say; never worse than globally."""
    query, parameters = "harbour in the north", {"score_propagation_alpha": 0.5}
    alone, found = (
        scores(world.find(query, strategy="late", limit=40)),
        world.find(query, strategy=parameters, limit=40),
    )
    files = [hit for hit in found if hit.level == 2]
    assert all(hit.score >= alone[hit.uri] - 1e-9 for hit in files if hit.uri in alone)
    assert any(hit.score > alone[hit.uri] + 1e-6 for hit in files if hit.uri in alone)


def test_under_global_nothing_of_it_counts(world: World) -> None:
    """Case 51."""
    plain = world.find("harbour crane", strategy=None)
    odd = {"name": "global", "score_propagation_alpha": 0.1, "hotness_alpha": 0.5}
    assert world.find("harbour crane", strategy=odd).to_dict() == plain.to_dict()


@pytest.mark.parametrize(
    "options",
    [
        {"target_uri": NORTH}, {"context_type": "memory"}, {"tags": ["memory_type=events"]},
        {"filter": {"op": "prefix", "field": "uri", "prefix": "viking://resources/orchard"}},
        {"filter": {"op": "must", "field": "level", "conds": [2]}}, {"since": "1h"}, {"until": "2020-01-01"},
        {"level": [5]}, {"level": 1}, {"target_uri": f"{NORTH}/note1.md"}, {"target_uri": "viking://resources/none"},
        {"score_threshold": 0.5},
    ],
    ids=str,
)  # fmt: skip
def test_filters_hold_as_everywhere(world: World, options: dict[str, Any]) -> None:
    """What the flat search does not let through no walk finds, and all of it that belongs to the best is there."""
    allowed = scores(world.find("crane harbour orchard", strategy="global", limit=200, **options))
    found = world.find("crane harbour orchard", strategy="hierarchical", limit=50, **options)
    assert {hit.uri for hit in found} <= set(allowed) | {hit.uri.replace(".abstract", ".overview") for hit in found}
    assert len(found) == min(len(allowed), 50)


def test_keywords_and_filters_alone_do_not_walk(world: World) -> None:
    for found in (
        world.find("", context_type="memory", include_provenance=True),
        world.services.search.search(
            ROOT, "crane", search_type="keywords", strategy="late", include_provenance=True, rerank=False
        ),
    ):
        assert found.provenance is not None
        assert found.provenance[0].trace.directories_searched == 0
        assert len(found)


def test_the_trace_tells_what_happened(world: World) -> None:
    found = world.find("north harbour", strategy="classic", include_provenance=True, score_threshold=0.4, limit=40)
    (told,) = found.provenance or ()
    trace = told.to_dict()["thinking_trace"]
    rounds = [event for event in trace["events"] if event["type"] == "round"]
    told_of = trace["statistics"]
    assert told_of["total_events"] == len(rounds) + 1
    assert (
        told_of["directories_searched"]
        == sum(len(one["directories"]) for one in rounds)
        == trace["events"][-1]["directories"]
    )
    assert told_of["convergence_rounds"] == len(rounds)
    assert told_of["candidates_collected"] == rounds[-1]["collected"] >= len(found)
    assert told_of["candidates_excluded"] >= sum(one["excluded"] for one in rounds) > 0
    assert told_of["duration_seconds"] > 0
    assert rounds[0]["directories"][0]["uri"] == NORTH


def test_a_directory_that_does_not_dominate_is_dropped(world: World) -> None:
    """§8.7: with 1.2 a directory must be better than its best file by a fifth; its place is filled."""
    kept = world.find("north harbour", strategy={"directory_dominance_ratio": 1.2}, limit=8)
    plain = world.find("north harbour", strategy={}, limit=8)
    assert len(kept) == len(plain) == 8
    assert any(hit.uri.startswith(f"{NORTH}/.") for hit in plain)
    for hit in kept:
        inside = [one.score for one in kept if one.uri.startswith(hit.uri.rpartition("/")[0] + "/") and one.level == 2]
        assert hit.level == 2 or not inside or hit.score >= 1.2 * max(inside)


def test_events_fade_on_the_way_too(world: World) -> None:
    """A way through directories does not bring back what time took."""
    store = world.services.tenancy.accounts.of("default")
    with store._connections.writing() as sql:  # type: ignore[attr-defined]
        sql.execute("UPDATE nodes SET updated_at = updated_at - 14 * 86400000 WHERE name = 'old.md'")
        sql.execute("UPDATE meta SET value = value + 1 WHERE name = 'change'")
    found = world.find("crane fell dockyard", strategy="late", events_time_decay_protection="0", limit=5, level=2)
    old = next(hit for hit in found if hit.uri.endswith("/old.md"))
    assert old.time_score == pytest.approx(0.25, abs=1e-4)
    assert old.score == pytest.approx((old.origin_score or 0) * 0.25, abs=1e-4)


@pytest.mark.parametrize("wrong", ["deep", {"alpha": 1}, {"hotness_alpha": 2}])
def test_a_wrong_strategy_is_refused_on_both_doors(world: World, wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="strategy"):
        world.find("x", strategy=wrong)
    for path in ("find", "search"):
        answer = world.client.post(f"/api/v1/search/{path}", json={"query": "x", "strategy": wrong})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize("path", ["search/find", "search/search"])
def test_over_http(world: World, path: str) -> None:
    result = world.posted(path, query="north harbour", strategy="classic", include_provenance=True, limit=4)
    assert result["total"] == 4
    assert result["provenance"][0]["thinking_trace"]["statistics"]["directories_searched"] > 0
    assert [hit["relations"] for hit in result["resources"]] == [[]] * len(result["resources"])


@pytest.fixture
def reranked(world: World) -> World:
    world.services._cases.reranking.calls = Breaker(2, 10.0, 600.0)
    world.stub.behave()
    return world


def test_a_rerank_model_judges_start_points_and_levels(reranked: World) -> None:
    """§8.4, steps 2 and 7: a batch for the start and one for each round, no record twice; find asks nobody."""
    reranked.find("north harbour", strategy="late")
    assert not reranked.stub.calls
    found = reranked.services.search.search(
        ROOT, "north harbour", strategy="late", include_provenance=True, explain=True, limit=5
    )
    batches = [call.documents for call in reranked.stub.calls]
    (told,) = found.provenance or ()
    assert 1 < len(batches) <= 1 + told.trace.convergence_rounds
    assert any("rerank" in dict(hit.explain or ()) for hit in found)
    assert all(sum(value for _, value in hit.explain or ()) == pytest.approx(hit.score) for hit in found)
    assert found.hits[0].score == 1.0


@pytest.mark.parametrize(
    "script",
    [Script(status=500), Script(mood="badly"), Script(mood="never"), Script(scores=[]), Script(status=500, after=1)],
    ids=["error", "rubbish", "never", "none", "later"],
)
def test_a_rerank_model_that_fails_takes_nothing_away(reranked: World, script: Script) -> None:
    plain = reranked.services.search.search(ROOT, "north harbour", strategy="late", rerank=False)
    reranked.stub.behave(script)
    found = reranked.services.search.search(ROOT, "north harbour", strategy="late")
    reranked.stub.behave()
    assert [one.stage for one in found.degraded] == ["rerank"]
    assert len(found) == len(plain)
    if not script.after:
        assert scores(found) == scores(plain)


def test_a_rerank_model_is_not_asked_for_longer_than_a_walk_may_take(
    reranked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked in every round: each answer in time may be too long together."""
    monkeypatch.setattr("openviking.service.walking.JUDGING_S", 0.0)
    found = reranked.services.search.search(ROOT, "north harbour", strategy="late")
    assert len(reranked.stub.calls) == 1
    assert [(one.stage, "longer than" in one.reason) for one in found.degraded] == [("rerank", True)]


def test_what_is_used_becomes_hot(world: World) -> None:
    """A commit counts each node once that the session told of; the count filters, and warms where it is asked to."""
    used = f"{NORTH}/note3.md"
    world.posted("sessions", session_id="uses-1")
    told = [
        used,
        f"{used}#L1-L2",
        used,
        f"{NORTH}/.overview.md",
        "viking://user/someone/memories/x.md",
        "no uri",
        NORTH + "/none.md",
    ]
    for commits in (1, 2):
        world.posted("sessions/uses-1/messages", role="user", content="I read them.")
        world.posted("sessions/uses-1/used", contexts=told)
        task = world.posted("sessions/uses-1/commit")["task_id"]
        world.settle()
        done = world.client.get(f"/api/v1/tasks/{task}").json()["result"]
        assert done["result"]["active_count_updated"] == 2
        rule = {"op": "range", "field": "active_count", "gte": commits}
        found = world.find("", filter=rule, strategy=None)
        assert {hit.uri for hit in found} == {used, NORTH}
        assert not len(world.find("", filter={**rule, "gte": commits + 1}, strategy=None))
        hits = scores(world.find("note harbour", filter=rule, strategy="late", level=2))
        assert set(hits) == {used}
    world.posted("sessions/uses-1/messages", role="user", content="And no more.")
    world.posted("sessions/uses-1/commit")
    world.settle()
    plain = world.find("note 3 north harbour", strategy="late", limit=1, level=2).hits[0]
    warm = world.find("note 3 north harbour", strategy={"hotness_alpha": 0.2}, limit=1, level=2).hits[0]
    assert warm.uri == plain.uri == used
    assert warm.score == pytest.approx(warmed(plain.score, hotness(2, 0), 0.2), abs=1e-3)


def test_a_count_moves_and_goes_with_its_node(world: World) -> None:
    place = "viking://resources/counted"
    world.write(f"{place}/a.md", "counted kestrel")
    world.posted("sessions", session_id="uses-2")
    world.posted("sessions/uses-2/messages", role="user", content="I read it.")
    world.posted("sessions/uses-2/used", skill={"uri": f"{place}/a.md"})
    world.posted("sessions/uses-2/commit")
    world.services.fs.mv(ROOT, f"{place}/a.md", f"{place}/b.md")
    rule = {"op": "range", "field": "active_count", "gte": 1}
    assert [hit.uri for hit in world.find("", place, filter=rule)] == [f"{place}/b.md"]
    world.services.fs.rm(ROOT, f"{place}/b.md")
    world.write(f"{place}/b.md", "counted kestrel")
    assert not len(world.find("", place, filter=rule))
    world.settle()


def test_the_whole_walk_reads_one_state(world: World) -> None:
    """What others write and remove while it goes on, and while a model is asked, is not there."""
    store = world.services.tenancy.accounts.of("default")
    asked: list[int] = []

    def judge(texts: Sequence[str], own: Sequence[float]) -> Sequence[float]:
        number = len(asked)
        asked.append(len(texts))
        world.write(
            f"viking://resources/harbour/north/late{number}.md", "# north harbour\n\nnorth harbour north harbour\n"
        )
        if number == 1:
            world.services.fs.rm(ROOT, "viking://resources/harbour/south/note2.md")
        return own

    request = FindRequest("north harbour south", Scope(roots=("resources",)), 40)
    with store.read() as view:
        walk = walked(view, request, ["resources"], Parameters(), now=0, judge=judge)
        uris = [hit.uri for hit in walk.told(answer(view, request, walk.stage).hits)]
    assert len(asked) > 1
    assert not [uri for uri in uris if "/late" in uri]
    assert "viking://resources/harbour/south/note2.md" in uris
    world.write("viking://resources/harbour/south/note2.md", "# The harbour in the south\n\nNote 2\n")
    for number in range(len(asked)):
        world.services.fs.rm(ROOT, f"viking://resources/harbour/north/late{number}.md")
    world.settle()
