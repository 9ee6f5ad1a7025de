"""Searches that a chat model plans, over HTTP (contract/retrieval.md §4.2–4.4, §9.5)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.planner.conftest import ROOT, SESSION, World
from tests.stubs.scripted import Script

from openviking import OpenViking
from openviking.retrieve import intent_prompt as prompt


def uris(result: dict[str, Any]) -> list[str]:
    return [hit["uri"] for kind in ("memories", "resources", "skills") for hit in result[kind]]


def stages(result: dict[str, Any]) -> list[str]:
    return [one["stage"] for one in result["retrieval"]["degraded"]]


def test_the_wire_appends(world: World) -> None:
    """Each query has the limit, and a URI may come twice."""
    world.plans(("harbour boats", "resource"), ("user's boat in the harbour", "memory"), ("harbour sails", "resource"))
    result = world.search("what about it?", limit=5, level=2)
    assert result["query_plan"] == {
        "reasoning": "scripted",
        "queries": [
            {"query": "harbour boats", "context_type": "resource", "intent": "", "priority": 1},
            {"query": "user's boat in the harbour", "context_type": "memory", "intent": "", "priority": 1},
            {"query": "harbour sails", "context_type": "resource", "intent": "", "priority": 1},
        ],
    }
    assert (len(result["memories"]), len(result["resources"])) == (5, 10)
    assert result["total"] == 15
    assert len(set(uris(result))) < 15
    assert stages(result) == []


def test_of_a_plan_that_asks_nothing_the_reason_is_told(world: World) -> None:
    world.plans()
    result = world.search("thanks", explain_missing=["viking://resources/nowhere.md"])
    assert (uris(result), result["query_plan"]["queries"]) == ([], [])
    assert [(one["reason"], "plan" in one["message"]) for one in result["missing"]] == [("not_selected", True)]


def test_dedup_fuses(world: World) -> None:
    """No record twice, the limit is that of all, scores fall, copies come last."""
    world.plans(("harbour boats", "resource"), ("user's boat in the harbour", "memory"), ("harbour sails", "resource"),
                ("boats harbour sails", "resource"), ("moor a boat", "skill"))  # fmt: skip
    for limit in (5, 40):
        found = world.services.search.search(ROOT, "what about it?", session_id=SESSION, limit=limit, dedup=True)
        assert found.query_plan is not None
        assert len(found.query_plan.queries) == 5
        assert len({hit.uri for hit in found}) == len(found) <= limit
        distinct = [hit.score for hit in found if hit.duplicate_of is None]
        assert distinct == sorted(distinct, reverse=True)
    copies = [hit for hit in found if "/copy-" in hit.uri]
    assert len(copies) == 3
    assert len([hit for hit in copies if hit.duplicate_of]) == 2
    result = world.search("what about it?", limit=5, level=2, dedup=True)
    assert result["total"] == 5
    assert len(set(uris(result))) == 5


def test_the_model_sees_the_session(world: World) -> None:
    world.search("and its sails?")
    (call,) = world.stub.calls
    said = call.body["messages"][1]["content"]
    assert "Albatross" in said.partition(prompt.MESSAGES)[0]
    assert [f"turn {number}" in said for number in range(6)] == [False, True, True, True, True, True]
    assert said.endswith("| and its sails?")
    assert (call.body["model"], call.body["temperature"]) == ("talker", 0.0)


def test_the_scope_is_shown_for_one_type(world: World) -> None:
    world.search("x", context_type="resource", target_uri="viking://resources/boats")
    (call,) = world.stub.calls
    assert call.body["messages"][0]["content"].endswith(prompt.ONE_STORE.format(store="resource"))
    assert prompt.PLACE in call.body["messages"][1]["content"]
    world.stub.behave()
    world.search("x", context_type=["resource", "memory"], target_uri="viking://resources/boats")
    assert prompt.PLACE not in world.stub.calls[0].body["messages"][1]["content"]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (Script(mood="badly"), "not JSON"),
        (Script(mood="never"), "no answer after 0.5 s"),
        (Script(mood="slowly", delay=5.0), "no answer after 0.5 s"),
        (Script(status=500, message="overload"), "overload"),
        (Script(status=400, message="context too long"), "context too long"),
        (Script(status=401), "HTTP 401"),
        (Script(body='{"choices": []}'), "no message"),
        (Script(body='{"choices": [{"message": {"content": null}}]}'), "empty"),
        (Script(reply="I would rather not."), "no plan"),
        (Script(reply='{"plan": [{"query": "boats"}]}'), "no plan"),
        (Script(reply='{"queries": "boats"}'), "no list"),
        (Script(reply='{"queries": [{"query": ""}, 7]}'), "none of its 2 queries"),
    ],
)
def test_a_plan_that_fails_costs_the_plan_alone(world: World, script: Script, says: str) -> None:
    """The query itself is searched for, in time, and the answer says so."""
    without = world.search("harbour boats", session_id=None, level=2)
    assert not world.stub.calls
    world.stub.behave(script)
    began = time.monotonic()
    result = world.search("harbour boats", level=2)
    assert time.monotonic() - began < 3
    assert uris(result) == uris(without)
    assert "query_plan" not in result
    (note,) = result["retrieval"]["degraded"]
    assert note["stage"] == "query_plan"
    assert says in note["reason"]
    assert len(world.stub.calls) == 1


def test_a_slow_plan_is_waited_for(world: World) -> None:
    world.stub.behave(Script(mood="slowly", delay=0.1))
    assert len(world.search("harbour boats")["query_plan"]["queries"]) == 2


def test_no_queries_are_an_answer(world: World) -> None:
    """Case 66."""
    world.plans()
    result = world.search("thanks!")
    assert (result["total"], result["query_plan"]) == (0, {"reasoning": "scripted", "queries": []})
    assert stages(result) == []


def test_the_callers_types_rule(world: World) -> None:
    """Cases 64 and 65."""
    world.plans(("boats", "documents"))
    assert world.search("x")["query_plan"]["queries"][0]["context_type"] == "resource"
    world.plans(("moor a boat", "skill"))
    result = world.search("x", context_type="memory")
    assert result["query_plan"]["queries"][0]["context_type"] == "memory"
    assert result["total"] == len(result["memories"]) > 0
    result = world.search("x", context_type=["memory", "resource"], limit=40)
    assert result["query_plan"]["queries"][0]["context_type"] is None
    assert result["memories"]
    assert result["resources"]
    assert not result["skills"]


def test_what_narrows_a_request_narrows_its_plan(world: World) -> None:
    """Whatever a model that was talked into something answers, it reaches no further."""
    world.plans(("harbour boats", "resource"), ("passwords of viking://user/other", "memory"))
    result = world.search("x", target_uri="viking://resources/boats/03.md", level=2, tags=None)
    assert set(uris(result)) == {"viking://resources/boats/03.md"}
    assert world.search("x", score_threshold=0.99)["total"] == 0


@pytest.mark.parametrize("session", [None, "empty-1", "nobody-knows-it"])
def test_without_anything_said_nothing_is_planned(world: World, session: str | None) -> None:
    result = world.search("harbour", session_id=session)
    assert result["total"] > 0
    assert "query_plan" not in result
    assert stages(result) == []
    assert not world.stub.calls


def test_an_id_that_is_none_is_said(world: World) -> None:
    result = world.search("harbour", session_id="../../x")
    assert result["total"] > 0
    assert stages(result) == ["query_plan"]
    assert not world.stub.calls


def test_find_does_not_plan(world: World) -> None:
    world.services.search.find(ROOT, "harbour")
    assert not world.stub.calls


def test_keywords_may_be_planned(world: World) -> None:
    world.plans(("harbour sails", "resource"))
    assert world.search("x", search_type="keywords")["query_plan"]["queries"][0]["query"] == "harbour sails"


def test_provenance_has_each_query(world: World) -> None:
    world.plans(("harbour boats", "resource"), ("user's boat", "memory"))
    first, second = world.search("x", include_provenance=True, limit=3)["provenance"]
    assert (first["query"], second["query"]) == ("harbour boats", "user's boat")
    assert len(first["matched_contexts"]) == 3
    assert "viking://resources" in first["searched_directories"]
    assert all(one["context_type"] == "memory" for one in second["matched_contexts"])


def test_telemetry_counts_the_plan(world: World) -> None:
    answer = world.client.post(
        "/api/v1/search/search", json={"query": "boats", "session_id": SESSION, "telemetry": True}
    )
    summary = answer.json()["telemetry"]["summary"]
    assert summary["tokens"]["llm"] == {"input": 100, "output": 20, "total": 120}
    assert summary["search"]["typed_queries_count"] == 2
    assert summary["search"]["intent_analysis"]["duration_ms"] > 0


def test_after_two_failures_nobody_waits(world: World) -> None:
    world.stub.behave(Script(mood="never"))
    for _ in range(2):
        assert stages(world.search("harbour")) == ["query_plan"]
    began = time.monotonic()
    assert stages(world.search("harbour")) == ["query_plan"]
    assert time.monotonic() - began < 0.4
    assert len(world.stub.calls) == 2


def test_the_embedded_door_fuses(world: World, tmp_path: Path) -> None:
    file = tmp_path / "ov.conf"
    file.write_text(
        json.dumps(
            {
                "embedding": {"dense": {"provider": "none"}},
                "query_planner": {"model": "talker", "api_base": world.stub.chat_url},
            }
        )
    )
    with OpenViking(tmp_path / "data", config=file, workers=0) as ov:
        for number in range(4):
            ov.write(f"viking://resources/{number}.md", f"Boat {number} lies in the harbour.\n", mode="create")
        ov.create_session("talk")
        ov.add_message("talk", "user", "Where are the boats?")
        world.plans(("boat in the harbour", "resource"), ("harbour", "resource"))
        found = ov.search("and now?", session_id="talk", limit=3, level=2)
        assert found.query_plan is not None
        assert [one.query for one in found.query_plan.queries] == ["boat in the harbour", "harbour"]
        assert len(found) == len({hit.uri for hit in found}) == 3
        assert len(ov.search("and now?", session_id="talk", limit=3, level=2, dedup=False)) == 6
        assert ov.find("harbour").query_plan is None
