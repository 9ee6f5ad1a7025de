"""Context in a session: what was served is held back, and what was said is found (contract/retrieval.md §5.11)."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from tests.context.conftest import MD, ME, MINE, Door, World, names

from openviking.ingest.prepare import prepare
from openviking.store.batch import PutFile


def held_back(own: World, **body: Any) -> tuple[list[str], dict[str, Any]]:
    _, result = own.wire("zeppelin", session_id="s", quotas={"events": 1}, filter=MD, **body)
    return names(result), result["stats"]["dedup"]


def say(own: World, text: str = "and on") -> None:
    answer = own.client.post("/api/v1/sessions/s/messages", json={"role": "user", "content": text})
    assert answer.status_code == 200


def test_what_was_served_is_held_back_for_some_turns(told: World) -> None:
    """R18: other entries come, and after three turns the same ones again."""
    first, dedup = held_back(told, dedup_turns=3)
    assert dedup == {"turns": 3, "status": "new", "cooled": 0, "turn": 0, "session_made": True}
    say(told)
    second, dedup = held_back(told, dedup_turns=3)
    assert second != first
    assert dedup == {"turns": 3, "status": "ok", "cooled": 1, "turn": 1}
    say(told)
    third, dedup = held_back(told, dedup_turns=3)
    assert len({*first, *second, *third}) == 3
    say(told)
    again, dedup = held_back(told, dedup_turns=3)
    assert (again, dedup["cooled"]) == (first, 2)
    excluded = held_back(told, dedup_turns=3, exclude_uris=[f"{MINE}/memories/events"])
    assert excluded[0] == []
    ledger = json.loads(told.services.content.read(ME, "viking://~/sessions/s/.recall_log.json"))
    assert {uri.rpartition("/")[2]: one["turn"] for uri, one in ledger["entries"].items()} == {
        first[0]: 3, second[0]: 1, third[0]: 2,
    }  # fmt: skip


def test_the_ledger_is_no_record(told: World) -> None:
    held_back(told, dedup_turns=3)
    told.services.system.wait_processed(ME)
    before = told.services.system.status(ME)
    held_back(told, dedup_turns=3)
    after = told.services.system.status(ME)
    assert (after["waiting"], after["stale_sidecars"], after["records"]) == (before["waiting"], 0, before["records"])
    assert told.services.search.grep(ME, "viking://~/sessions", "updated_turn").total == 0
    assert not [
        hit for hit in told.services.search.find(ME, "updated_turn recall_log", limit=50) if "recall" in hit.uri
    ]
    assert told.services.system.check(ME) == []


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 2}', '{"version": 1, "entries": {"a": 5}}', "\0" * 9])
def test_a_ledger_that_is_none(told: World, text: str) -> None:
    """Case 92."""
    held_back(told, dedup_turns=3)
    content = prepare(".recall_log.json", text.encode(), bookkeeping=True)
    told.services.tenancy.accounts.store(ME).apply([PutFile("user/default/sessions/s/.recall_log.json", content)])
    found, dedup = held_back(told, dedup_turns=3)
    assert (found != [], dedup["status"] in {"new", "ok"}, dedup["cooled"]) == (True, True, 0)
    assert held_back(told, dedup_turns=3)[1] == {"turns": 3, "status": "ok", "cooled": 1, "turn": 0}


def test_a_session_that_can_not_be(door: Door) -> None:
    """Case 93: a name that no session can have is none, and no error."""
    status, result = door("zeppelin", session_id="a/b", dedup_turns=3)
    assert status == 200
    assert result["entries"]
    assert result["stats"]["dedup"] == {"turns": 3, "status": "off", "cooled": 0, "turn": 0}
    assert [one["stage"] for one in result["stats"]["degraded"]] == ["session"]


SESSIONS: dict[str, tuple[dict[str, Any], bool]] = {
    "off": ({"query_expansion": "off"}, False),
    "expansion": ({}, True),
    "dedup": ({"query_expansion": "off", "dedup_turns": 1}, True),
    "nothing to expand": ({"query": "", "filter": MD}, False),
}


@pytest.mark.parametrize(("asked", "made"), SESSIONS.values(), ids=SESSIONS)
def test_which_requests_make_a_session(own: World, asked: dict[str, Any], made: bool) -> None:
    assert own.inside(**{"query": "zeppelin", "session_id": "s", **asked})[0] == 200
    assert own.services.sessions.exists(ME, "s") is made


def test_writers_at_once_lose_nothing(told: World) -> None:
    """Each adds what it served, whatever others write meanwhile."""
    queries = ["launch", "engine", "colour"] * 2
    barrier = threading.Barrier(len(queries))
    gave: list[tuple[list[str], str]] = []

    def ask(query: str) -> None:
        barrier.wait()
        _, result = told.inside(query, session_id="s", dedup_turns=3, quotas={"events": 1}, filter=MD)
        gave.append(([one["uri"] for one in result["entries"]], result["stats"]["dedup"]["status"]))

    threads = [threading.Thread(target=ask, args=(query,)) for query in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = json.loads(told.services.content.read(ME, "viking://~/sessions/s/.recall_log.json"))
    assert set(ledger["entries"]) == {uri for uris, _ in gave for uri in uris}
    assert len(gave) == len(queries)
    assert {status for _, status in gave} <= {"new", "ok"}


def test_an_archive_is_the_event_that_was_made_of_it(own: World) -> None:
    """One candidate for both: the event if it is there, else the conversation, told as it was said."""
    said = "Please remember that the zeppelin will be painted vermilion in Friedrichshafen."
    for text in (said, "The vermilion paint costs 200 francs."):
        say(own, text)
    assert own.client.post("/api/v1/sessions/s/commit").status_code == 200
    own.services.system.wait_processed(ME)
    listed = own.services.search.find(ME, "vermilion francs", level=2)
    archive = next(hit for hit in listed if "/history/" in hit.uri)
    assert archive.category == "events"
    events = [hit.uri for hit in listed if "/memories/events/" in hit.uri]
    for how in ({"limit": 20}, {"quotas": {"events": 3}}, {"limit": 20, "context_type": "memory"}):
        _, result = own.inside("vermilion francs", filter=MD_OR_TALK, **how)
        told = [one for one in result["entries"] if one["category"] == "events"]
        assert [one["uri"] for one in told] == (events or [archive.uri]), how
        assert "200 francs" in told[0]["text"]
    for uri in events:
        own.services.fs.rm(ME, uri)
    _, result = own.inside("vermilion francs", quotas={"events": 3}, filter=MD_OR_TALK)
    (entry,) = result["entries"]
    assert entry["uri"] == archive.uri
    assert "user: The vermilion paint costs 200 francs." in entry["text"]
    _, nothing = own.inside("vermilion francs", quotas={"resources": 3})
    assert nothing["entries"] == []


def test_what_was_taken_back_is_found_and_not_served(own: World) -> None:
    say(own, "Please remember that the zeppelin will be painted vermilion in Friedrichshafen.")
    assert own.client.post("/api/v1/sessions/s/commit").status_code == 200
    own.services.system.wait_processed(ME)
    assert own.inside("vermilion Friedrichshafen", quotas={"events": 3}, filter=MD_OR_TALK)[1]["entries"]
    own.services.sessions.rollback(ME, "s", "archive_001")
    own.services.system.wait_processed(ME)
    for how in ({"limit": 20}, {"quotas": {"events": 3}}):
        _, result = own.inside("vermilion Friedrichshafen", filter=MD_OR_TALK, **how)
        assert "vermilion" not in result["rendered"]
    assert any("/history/" in hit.uri for hit in own.services.search.find(ME, "vermilion", level=2))


MD_OR_TALK = {"op": "regex", "field": "uri", "pattern": "[.](md|jsonl)$"}


@pytest.mark.parametrize("bucket", ["", "entities", "skills"])
def test_what_was_served_does_not_hide_the_others(own: World, bucket: str) -> None:
    """However much of the best is held back, by the ledger or by name, what ranks behind it comes."""
    wanted = 9
    for number in range(wanted):
        if bucket == "skills":
            own.services.skills.add(ME, f"---\nname: s{number}\ndescription: zeppelin {number}\n---\n\nA zeppelin.\n")
        else:
            own.write(f"~/memories/entities/e{number}.md", f"The zeppelin {number}.\n")
    own.services.system.wait_processed(ME)
    how: dict[str, Any] = {"quotas": {bucket: 1}} if bucket else {"limit": 1}
    asked = {**how, "filter": MD, "max_tokens": 64, "detail": "full"}
    ways: list[dict[str, Any]] = [{"session_id": "s", "dedup_turns": 9}, {"exclude_uris": []}]
    for held in ways:
        served: list[str] = []
        for _ in range(wanted):
            if "exclude_uris" in held:
                held["exclude_uris"] = served
            served += [one["uri"] for one in own.inside("zeppelin", **asked, **held)[1]["entries"]]
        assert len(set(served)) == wanted, held
