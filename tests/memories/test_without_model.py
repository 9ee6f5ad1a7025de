"""What a commit makes of a conversation without any model, and how it joins what is known (contract/core.md §3.6, §3.7)."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from openviking.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OpenVikingError
from openviking.ingest.background import Turn
from openviking.service.task_run import TaskRun
from openviking.session.finishing import finish_commit
from openviking.session.memories.learning import Learned
from openviking.session.redaction import redact
from openviking.uri import from_path

from .conftest import ALICE, HOME, Desk

TEA = "preferences/green-tea.md"


def test_an_explicit_statement_becomes_a_memory_that_is_found(desk: Desk) -> None:
    (said,) = desk.say("s", "I prefer dark mode editors.", created_at="2026-01-02T03:04:05Z")
    result = desk.commit("s")
    assert result["memories_extracted"]["preferences"] == 1
    ((path, body),) = desk.memories().items()
    assert path.startswith("preferences/")
    assert "I prefer dark mode editors" in body
    assert "MEMORY_FIELDS" not in body
    hits = desk.search.find(ALICE, "dark mode editors", context_type="memory", tags=["memory_type=preferences"])
    assert [hit.uri for hit in hits] == [f"{HOME}/memories/{path}"]
    raw = desk.content.download(ALICE, f"{HOME}/memories/{path}").decode()
    fields = json.loads(raw.partition("MEMORY_FIELDS ")[2].removesuffix(" -->\n"))
    assert fields["sources"] == [said]
    assert fields["archive_uri"] == f"{HOME}/sessions/s/history/archive_001"
    assert (fields["memory_type"], fields["day"]) == ("preferences", "2026-01-02")


def test_the_result_and_the_diff_are_as_documented(desk: Desk) -> None:
    (said,) = desk.say("s", "I prefer green tea.")
    result = desk.commit("s")
    assert result.keys() >= {
        "session_id", "archive_uri", "memories_extracted", "session_skills_extracted", "session_skill_uris",
        "usage_events_extracted", "active_count_updated", "effective_memory_types", "agent_evolution_enabled",
        "agent_memory_skip_reason", "token_usage", "memory_diff_uri",
    }  # fmt: skip
    assert set(result["effective_memory_types"]) >= {"profile", "events", "experiences"}
    assert (result["extraction"]["way"], result["extraction"]["reason"]) == (
        "statements",
        "no chat model is configured",
    )
    diff = desk.diff("s")
    assert diff.keys() >= {"archive_uri", "extracted_at", "operations", "summary"}
    operations = diff["operations"]
    assert diff["summary"] == {"total_adds": len(operations["adds"]), "total_updates": 0, "total_deletes": 0}
    (added,) = [one for one in operations["adds"] if one["memory_type"] == "preferences"]
    assert added["sources"] == [said]
    assert desk.content.read(ALICE, added["uri"]).rstrip() == added["after"]
    session = desk.sessions.get(ALICE, "s")
    assert session["memories_extracted"]["preferences"] == 1
    assert session["memories_extracted"]["total"] == sum(result["memories_extracted"].values())
    assert desk.stats.session(ALICE, "s")["memories_extracted"] == session["memories_extracted"]


def test_three_rounds_of_the_same_change_nothing(desk: Desk) -> None:
    for _ in range(3):
        desk.say("s", "I prefer green tea.")
        desk.commit("s")
    assert len(desk.memories()) == 1
    assert desk.diff("s", "archive_003")["operations"]["updates"] == []


def test_recalled_memories_are_not_learned_again(desk: Desk) -> None:
    desk.say("s", "I prefer green tea.")
    desk.commit("s")
    before = desk.memories()
    (path,) = before
    for number in range(3):
        recalled = {
            "type": "context",
            "uri": f"{HOME}/memories/{path}",
            "context_type": "memory",
            "abstract": before[path],
        }
        desk.sessions.add(
            ALICE, "s", [{"role": "assistant", "parts": [recalled, {"type": "text", "text": before[path]}]}]
        )
        desk.say("s", f"My cat is called Mog{number}.")
        desk.commit("s")
        now = desk.memories()
        assert now[path] == before[path]
        assert sum("green tea" in body for body in now.values()) == 1


def test_a_change_of_mind_supersedes(desk: Desk) -> None:
    desk.say("s", "My favourite colour is red.", created_at="2026-01-02T00:00:00Z")
    desk.commit("s")
    desk.say("s", "My favourite colour is blue.", created_at="2026-02-03T00:00:00Z")
    result = desk.commit("s")
    ((path, body),) = desk.memories().items()
    first, _, rest = body.partition("\n\n")
    assert "blue" in first
    assert rest.startswith("Before (2026-01-02): ")
    assert "red" in rest
    (update,) = desk.diff("s", "archive_002")["operations"]["updates"]
    assert (update["uri"], update["after"]) == (f"{HOME}/memories/{path}", body)
    assert "red" in update["before"]
    assert result["memories_extracted"][update["memory_type"]] == 1


def test_somebodys_own_edit_is_kept(desk: Desk) -> None:
    desk.say("s", "My favourite colour is red.")
    desk.commit("s")
    (path,) = desk.memories()
    own = "Red, says the form. " * 30 + "\nAsk again in May."
    desk.content.write(ALICE, f"{HOME}/memories/{path}", f"{own}\n", mode="replace")
    for colour in ("blue", "green"):
        desk.say("s", f"My favourite colour is {colour}.")
        desk.commit("s")
        body = desk.memories()[path]
        assert body.endswith(own)
        assert colour in body.partition("\n")[0]


def test_commits_that_end_out_of_order_and_at_once_leave_what_was_said_last(desk: Desk) -> None:
    for hour, colour in enumerate(("red", "blue", "green", "blue"), start=9):
        said = f"My favourite colour is {colour}."
        desk.say(f"s{hour}", said, created_at=f"2026-03-02T{hour:02}:00:00Z")
        desk.sessions.commit(ALICE, f"s{hour}")
    jobs = [desk.store.jobs.claim(("session_commit",), 60_000) for _ in range(4)]
    workers = [
        threading.Thread(target=desk.worker.carry_out, args=(desk.store, jobs[number])) for number in (3, 1, 2, 0)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    (body,) = desk.memories().values()
    lines = body.replace("Favourite colour: ", "").split("\n")
    assert lines[0].startswith("blue.")
    assert "Before (2026-03-02): red." in lines[-1]
    assert "Before (2026-03-02): green." in lines
    assert desk.store.check() == []


def test_a_file_where_a_directory_is_to_be_keeps_no_other_memory_away(desk: Desk) -> None:
    desk.content.write(ALICE, f"{HOME}/memories/preferences", "A file.\n", mode="create")
    desk.fs.mkdir(ALICE, f"{HOME}/memories/entities/health/allergy-to-nuts.md")
    desk.say("s", "I prefer green tea.", "I am allergic to nuts.")
    result = desk.commit("s")
    assert result["memories_extracted"] == {"entities": 1, "events": 1}
    assert result["extraction"]["left_alone"] == [f"{HOME}/memories/preferences"]
    assert desk.memories().keys() == {"preferences", "entities/health/allergy-to-nuts-2.md"}


def test_a_session_of_the_same_name_has_events_of_its_own(desk: Desk) -> None:
    for more in ("", "Then a bear came along."):
        desk.say("s", f"We walked along the river. {more}", created_at="2026-03-02T09:00:00Z", id="m1")
        desk.commit("s")
        desk.sessions.delete(ALICE, "s")
    bodies = desk.memories(events=True).values()
    assert (len(bodies), sum("bear" in body for body in bodies)) == (2, 1)


@pytest.mark.parametrize("error", [InvalidArgumentError("no"), FailedPreconditionError("no")])
def test_an_error_that_stays_ends_the_archive_too(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, error: OpenVikingError
) -> None:
    desk.say("s", "I prefer green tea.")
    done = desk.sessions.commit(ALICE, "s")
    real = type(desk.store).apply

    def apply(self: Any, operations: Any, **others: Any) -> Any:
        if any(getattr(one, "path", "").startswith("user/alice/memories/") for one in operations):
            raise error
        return real(self, operations, **others)

    monkeypatch.setattr(type(desk.store), "apply", apply)
    job = desk.store.jobs.claim(("session_commit",), 60_000)
    assert job is not None
    desk.worker.carry_out(desk.store, job)
    assert desk.tasks.get(ALICE, done["task_id"])["status"] == "failed"
    assert desk.stats.session(ALICE, "s")["archives"] == {"pending": 0, "done": 0, "failed": 1}
    assert len(desk.sessions.archive(ALICE, "s", "archive_001")["messages"]) == 1


def test_an_edit_that_comes_while_a_commit_is_saved_wins(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.say("s", "My favourite colour is red.")
    desk.commit("s")
    (path,) = desk.memories()
    desk.say("s", "My favourite colour is blue.")
    applied: list[bool] = []
    store = desk.store
    real = type(store).apply

    def apply(self: Any, operations: Any, **others: Any) -> Any:
        if len(operations) > 2 and not applied:
            applied.append(True)
            desk.content.write(ALICE, f"{HOME}/memories/{path}", "Mine alone.\n", mode="replace")
        return real(self, operations, **others)

    done = desk.sessions.commit(ALICE, "s")
    monkeypatch.setattr(type(store), "apply", apply)
    desk.work()
    assert desk.tasks.get(ALICE, done["task_id"])["status"] == "completed"
    assert applied
    body = desk.memories()[path]
    assert body.endswith("Mine alone.")
    assert "blue" in body


def test_peers_have_memories_of_their_own(desk: Desk) -> None:
    desk.say("s", "I prefer black tea.", peer_id="ann")
    desk.say("s", "I prefer green tea.")
    desk.commit("s")
    assert len(desk.memories("ann")) == len(desk.memories()) == 1
    assert "black" in next(iter(desk.memories("ann").values()))
    assert "green" in next(iter(desk.memories().values()))
    assert desk.stats.memories(ALICE, "preferences") == {
        "category": "preferences", "total": 2, "by_category": {"preferences": 2}, "by_peer": {"": 1, "ann": 1},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "own", "peers"),
    [
        ({"memory_types": ["events"]}, 0, 0),
        ({"memory_types": ["preferences"], "self": {"enabled": False}}, 0, 1),
        ({"memory_types": ["preferences"], "peer": {"enabled": False}}, 1, 0),
    ],
)
def test_a_sessions_policy_decides(desk: Desk, policy: dict[str, Any], own: int, peers: int) -> None:
    desk.sessions.create(ALICE, "s", memory_policy=policy)
    desk.say("s", "I prefer black tea.", peer_id="ann")
    desk.say("s", "I prefer green tea.")
    result = desk.commit("s")
    assert result["effective_memory_types"] == policy["memory_types"]
    assert (len(desk.memories()), len(desk.memories("ann"))) == (own, peers)


def test_no_memories_where_none_are_wanted(desk: Desk) -> None:
    desk.sessions.create(ALICE, "s", memory_policy={"memory_types": [], "working_memory": {"enabled": False}})
    desk.say("s", "I prefer green tea.")
    result = desk.commit("s")
    assert (result["memories_extracted"], result["effective_memory_types"]) == ({}, [])
    assert (result["extraction"]["status"], desk.diff("s")["extracted_at"]) == ("skipped", None)
    assert desk.memories(events=True) == {}
    archive = desk.sessions.archive(ALICE, "s", "archive_001")
    assert (archive["overview"], archive["abstract"] != "") == ("", True)


def test_secrets_are_masked_wherever_they_come_from(desk: Desk) -> None:
    secret = "sk-live-" + "a1B2" * 10
    desk.say("s", f"Remember that my api key is {secret}.")
    desk.commit("s")
    assert all(secret not in body for body in desk.memories(events=True).values())
    assert secret not in json.dumps(desk.diff("s"))
    assert all(secret not in hit.abstract + hit.snippet for hit in desk.search.find(ALICE, f"api key {secret}"))


def test_a_second_phase_that_is_repeated_changes_nothing(desk: Desk) -> None:
    desk.say("s", "I prefer green tea.")
    done = desk.sessions.commit(ALICE, "s")
    job = desk.store.jobs.claim(("session_commit",), 60_000)
    assert job is not None
    desk.store.jobs.give_back(job)
    desk.work()
    first, memories = desk.diff("s"), desk.memories(events=True)
    session = desk.sessions.get(ALICE, "s")
    turn = Turn(job.payload, 0, lambda: False)
    again = finish_commit(
        desk.store, turn, desk.extraction, TaskRun(desk.store.tasks, None, lambda: False), lambda: False
    )
    assert again == desk.tasks.get(ALICE, done["task_id"])["result"]
    assert (desk.diff("s"), desk.memories(events=True)) == (first, memories)
    assert desk.sessions.get(ALICE, "s") == session


def test_extract_makes_memories_of_what_is_live(desk: Desk) -> None:
    with pytest.raises(NotFoundError):
        desk.sessions.extract(ALICE, "s")
    (said,) = desk.say("s", "I prefer green tea.")
    (made,) = desk.sessions.extract(ALICE, "s")
    assert (made["memory_type"], made["operation"], made["sources"]) == ("preferences", "add", [said])
    assert "green tea" in made["abstract"]
    assert desk.sessions.extract(ALICE, "s") == []
    assert desk.sessions.get(ALICE, "s")["message_count"] == 1
    assert desk.commit("s")["memories_extracted"].get("preferences", 0) == 0
    assert len(desk.memories()) == 1


def test_what_is_redacted_while_it_is_learned_is_not_learned(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    said, _ = desk.say("s", "I prefer green tea.", "I am allergic to nuts.")
    real = desk.extraction.learned

    def learned(*given: Any) -> Learned:
        found = real(*given)
        redact(desk.store, from_path("user/alice/sessions/s"), said)
        return found

    monkeypatch.setattr(desk.extraction, "learned", learned)
    (made,) = desk.sessions.extract(ALICE, "s")
    assert made["memory_type"] == "entities"
    assert len(desk.memories()) == 1


class Recorded:
    """The stages that were told."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, stage: str, progress: dict[str, Any] | None = None) -> None:
        assert progress is None
        self.stages.append(stage)


def test_the_stages_of_a_commit(desk: Desk) -> None:
    desk.say("s", "I prefer green tea.")
    desk.sessions.commit(ALICE, "s")
    job = desk.store.jobs.claim(("session_commit",), 60_000)
    assert job is not None
    told = Recorded()
    finish_commit(desk.store, Turn(job.payload, 0, lambda: False), desk.extraction, told, lambda: False)
    assert told.stages == ["archiving", "summarising", "extracting", "saving"]


def test_event_tags_are_on_events_alone(desk: Desk) -> None:
    desk.sessions.create(ALICE, "s", memory_extraction_config={"events": {"tags": ["team=blue"]}})
    desk.say("s", "I prefer green tea.", created_at="2026-01-02T03:04:05Z")
    desk.commit("s")
    (event,) = desk.search.find(ALICE, "green tea", context_type="memory", tags=["team=blue"]).hits
    assert event.uri.startswith(f"{HOME}/memories/events/2026/01/02/")
    assert set(event.tags) == {"team=blue", "memory_type=events"}
    desk.fs.set_tags(ALICE, event.uri, ["memory_type=profile", "mine=yes"], mode="replace")
    desk.say("s", "I prefer black tea.")
    desk.commit("s", extraction_metadata={"event": {"tags": []}})
    assert len(desk.search.find(ALICE, "tea", context_type="memory", tags=["memory_type=events"]).hits) == 2
    assert len(desk.search.find(ALICE, "tea", context_type="memory", tags=["team=blue"]).hits) == 0


def test_what_is_over_is_said_on_top_of_what_it_ends_and_of_nothing_else(desk: Desk) -> None:
    home = "entities/place/home.md"
    for number, said in enumerate(("I live in Oslo.", "I no longer live in Oslo."), 1):
        desk.say("s", said, created_at=f"2026-0{number}-01T00:00:00Z")
        desk.commit("s")
    assert desk.memories()[home].split("\n") == [
        'No longer lives in Oslo. "I no longer live in Oslo." (user, 2026-02-01)',
        "",
        "Before (2026-01-01): Lives in Oslo.",
    ]
    for number, said in enumerate(("I live in Bergen now.", "I no longer live in Oslo."), 3):
        desk.say("s", said, created_at=f"2026-0{number}-01T00:00:00Z")
        desk.commit("s")
    assert desk.memories()[home].startswith("Lives in Bergen. ")
