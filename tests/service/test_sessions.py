"""Sessions below the doors: their life, their messages, what commits, contexts and tool results give."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from openviking.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
)
from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.service.accounts import Accounts
from openviking.service.content import Content
from openviking.service.fs import FileSystem
from openviking.service.search import Search
from openviking.service.sessions import Sessions, session_steps
from openviking.service.tasks import Tasks
from openviking.service.worker import Worker
from openviking.store.batch import PutFile, Remove

ALICE = Identity("acme", "alice", "user")
BOB = Identity("acme", "bob", "user")
HOME = "viking://user/alice/sessions"


@pytest.fixture
def world(place: Path) -> Iterator[Any]:
    accounts = Accounts(place)
    worker = Worker(accounts.open_stores, session_steps(), 0, 1.0)
    yield SimpleNamespace(
        store=accounts.store(ALICE),
        sessions=Sessions(accounts, worker),
        tasks=Tasks(accounts, worker),
        fs=FileSystem(accounts, worker),
        content=Content(accounts, worker),
        search=Search(accounts, grep_timeout=1.0),
        work=lambda: worker.drain(accounts.store(ALICE), 60),
    )
    worker.stop()
    accounts.close()


def said(text: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **fields}


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for message in messages for part in message["parts"]]


def test_a_session_is_made_told_about_and_removed(world: Any) -> None:
    made = world.sessions.create(ALICE, "plan", auto_commit_policy={}, memory_policy={"memory_types": ["experiences"]})
    assert made == {
        "session_id": "plan", "uri": f"{HOME}/plan", "user": {"account_id": "acme", "user_id": "alice"},
        "auto_commit_policy": {
            "pending_token_threshold": 150_000, "message_count_threshold": 100, "idle_timeout_seconds": 86_400,
            "keep_recent_count": 0, "min_commit_interval_seconds": 0,
        },
        "memory_extraction_config": {"events": {"tags": []}},
    }  # fmt: skip
    with pytest.raises(AlreadyExistsError):
        world.sessions.create(ALICE, "plan")
    told = world.sessions.get(ALICE, "plan")
    assert told["created_at"]
    assert told["updated_at"]
    assert told["memory_policy"] == {"memory_types": ["experiences", "cases", "trajectories"]}
    assert {"last_message_at", "last_commit_at", "total_message_count", "llm_token_usage", "retention_mode"} <= set(
        told
    )
    own = world.sessions.create(ALICE)["session_id"]
    day, clock, mark = own.split("-")
    assert (len(day), len(clock), len(mark)) == (8, 6, 16)
    assert [one["session_id"] for one in world.sessions.ls(ALICE)] == [own, "plan"]
    assert world.sessions.ls(BOB) == []
    assert world.sessions.delete(ALICE, "plan") == {"session_id": "plan", "memories": []}
    for missing in (world.sessions.get, world.sessions.delete, world.sessions.commit, world.sessions.context):
        with pytest.raises(NotFoundError) as caught:
            missing(ALICE, "plan")
        assert caught.value.details == {"type": "session", "resource": "plan"}
    assert world.sessions.get(ALICE, "later", auto_create=True)["message_count"] == 0


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "a/b", "a b", "x" * 129, "a\n", ".hidden", "c:x", "a#b", "a?b", 5, "\ud800"]
)
def test_what_is_no_session_id_is_refused(world: Any, bad: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        world.sessions.create(ALICE, bad)
    with pytest.raises(InvalidArgumentError):
        world.sessions.add(ALICE, bad, [said("x")])
    assert world.sessions.ls(ALICE) == []


def test_settings_are_merged_kept_clamped_and_switched_off(world: Any) -> None:
    world.sessions.create(ALICE, "s")
    configure = world.sessions.configure
    assert configure(ALICE, "s")["auto_commit_policy"] is None
    assert (
        configure(ALICE, "s", auto_commit_policy={"keep_recent_count": 5_000})["auto_commit_policy"][
            "keep_recent_count"
        ]
        == 1_000
    )
    merged = configure(ALICE, "s", auto_commit_policy={"message_count_threshold": -3})["auto_commit_policy"]
    assert (merged["message_count_threshold"], merged["keep_recent_count"]) == (0, 1_000)
    config = {"events": {"tags": ["Team=Bird", "nonsense"]}}
    told = configure(ALICE, "s", memory_extraction_config=config)
    assert told["memory_extraction_config"] == {"events": {"tags": ["team=bird"]}}
    assert told["auto_commit_policy"] == merged
    assert configure(ALICE, "s", auto_commit_policy=None)["auto_commit_policy"] is None
    bad: Any
    for bad in (
        {"nonsense": 1},
        {"keep_recent_count": None},
        {"keep_recent_count": "1"},
        {"keep_recent_count": True},
        5,
    ):
        with pytest.raises(InvalidArgumentError):
            configure(ALICE, "s", auto_commit_policy=bad)
    for bad in ({"event": {}}, {"events": {"tag": []}}, {"events": {"tags": "a=b"}}, 5):
        with pytest.raises(InvalidArgumentError):
            configure(ALICE, "s", memory_extraction_config=bad)
    for bad in ({"selves": {}}, {"self": {"enabled": 1}}, {"self": True}, {"memory_types": ["nonsense"]}, []):
        with pytest.raises(InvalidArgumentError):
            world.sessions.create(ALICE, "other", memory_policy=bad)
    with pytest.raises(NotFoundError):
        configure(ALICE, "other", auto_commit_policy={})


def test_messages_are_kept_in_order_and_make_their_session(world: Any) -> None:
    answer = world.sessions.add(ALICE, "talk", [said("hello world"), said("你好世界", role="assistant")])
    assert (answer["message_count"], answer["pending_tokens"], answer["added"]) == (2, 9, 2)
    world.sessions.add(ALICE, "talk", [said("equal"), said("equal")])
    context = world.sessions.context(ALICE, "talk")
    assert texts(context["messages"]) == ["hello world", "你好世界", "equal", "equal"]
    assert (context["estimatedTokens"], context["latest_archive_overview"]) == (13, "")
    for bad in ([], [said("x")] * 101, "x", [said("good"), {"role": "user"}], ["x"]):
        with pytest.raises(InvalidArgumentError):
            world.sessions.add(ALICE, "talk", bad)
    assert world.sessions.get(ALICE, "talk")["message_count"] == 4
    assert world.sessions.add(ALICE, "full", [said(str(n)) for n in range(100)])["added"] == 100


def test_only_the_same_client_id_is_a_repetition(world: Any) -> None:
    add = world.sessions.add
    for _ in range(3):
        assert add(ALICE, "s", [said("one", id="a")])["message_ids"] == ["a"]
    first = add(ALICE, "s", [said("two")], key="k")["message_ids"]
    again = add(ALICE, "s", [said("two")], key="k")
    assert (again["message_ids"], again["added"], again["message_count"]) == (first, 0, 2)
    batch = [said(f"b{n}") for n in range(100)]
    assert add(ALICE, "s", batch, key="batch")["added"] == 100
    assert add(ALICE, "s", batch, key="batch")["added"] == 0
    # The id is known by whichever of the two it comes with again.
    add(ALICE, "s", [said("three", id="c")], key="k2")
    assert add(ALICE, "s", [said("three", id="c")], key="k3")["added"] == 0
    assert add(ALICE, "s", [said("three")], key="k2")["added"] == 0
    assert add(ALICE, "s", [said("x", id="d"), said("y", id="d")])["added"] == 1
    # Another session knows nothing of it, and a commit makes nobody forget it.
    assert add(ALICE, "other", [said("one", id="a")])["added"] == 1
    world.sessions.commit(ALICE, "s")
    assert add(ALICE, "s", [said("one", id="a")])["added"] == 0
    with pytest.raises(InvalidArgumentError):
        add(ALICE, "s", [said("one")], key="k" * 257)


def test_a_commit_moves_the_messages_and_its_task_describes_them(world: Any) -> None:
    world.sessions.add(ALICE, "s", [said(f"I saw {n} penguins on the ice today.") for n in range(10)])
    done = world.sessions.commit(ALICE, "s")
    assert (done["status"], done["archived"]) == ("accepted", True)
    assert done["archive_uri"] == f"{HOME}/s/history/archive_001"
    state = world.sessions.get(ALICE, "s")
    assert (state["message_count"], state["total_message_count"], state["commit_count"], state["pending_tokens"]) == (
        0,
        10,
        1,
        0,
    )
    # Before its second phase nothing tells of the archive: its messages are shown.
    before = world.sessions.context(ALICE, "s")
    assert len(before["messages"]) == 10
    assert world.sessions.archive(ALICE, "s", "archive_001")["overview"] == ""
    skipped = world.sessions.commit(ALICE, "s")
    assert (skipped["status"], skipped["task_id"], skipped["reason"]) == ("skipped", None, "no_messages")
    world.work()
    task = world.tasks.get(ALICE, done["task_id"])
    assert (task["task_type"], task["status"], task["resource_id"]) == ("session_commit", "completed", "s")
    assert task["result"]["extraction"]["way"] == "statements"
    assert task["result"]["memories_extracted"] == {"events": 1}
    archive = world.sessions.archive(ALICE, "s", "archive_001")
    assert texts(archive["messages"])[9] == "I saw 9 penguins on the ice today."
    assert archive["abstract"] == "Conversation of 10 messages: I saw 0 penguins on the ice today."
    assert "- user: I saw 9 penguins on the ice today." in archive["overview"]
    after = world.sessions.context(ALICE, "s")
    assert (after["messages"], after["latest_archive_overview"]) == ([], archive["overview"])
    assert after["stats"]["totalArchives"] == 1
    with pytest.raises(PermissionDeniedError):
        world.fs.mv(ALICE, f"{HOME}/s", "viking://~/resources/s")
    for missing in ("archive_002", "archive_1", "archive_0001", "x", ""):
        with pytest.raises(NotFoundError):
            world.sessions.archive(ALICE, "s", missing)


def test_recent_messages_stay_where_they_are_told_to(world: Any) -> None:
    world.sessions.add(ALICE, "s", [said(f"text {n}", role="user" if n % 2 == 0 else "assistant") for n in range(8)])
    assert world.sessions.commit(ALICE, "s", keep_recent_count=8)["reason"] == "all_within_keep_window"
    assert world.sessions.commit(ALICE, "s", keep_recent_count=5)["archived"]
    state = world.sessions.get(ALICE, "s")
    assert (state["message_count"], state["pending_tokens"], state["keep_recent_count"]) == (5, 0, 5)
    done = world.sessions.commit(ALICE, "s", retention_mode="turn_budget", keep_recent_turn_count=1)
    assert (done["estimated_active_tokens"], done["budget_exceeded"]) == (4, False)
    state = world.sessions.get(ALICE, "s")
    assert (state["message_count"], state["retention_mode"], state["retained_message_token_budget"]) == (
        2,
        "turn_budget",
        12_000,
    )
    assert texts(world.sessions.archive(ALICE, "s", "archive_001")["messages"]) == ["text 0", "text 1", "text 2"]
    with pytest.raises(InvalidArgumentError):
        world.sessions.commit(ALICE, "s", keep_recent_turn_count=1)
    with pytest.raises(InvalidArgumentError):
        world.sessions.commit(ALICE, "s", extraction_metadata={"events": {}})


def test_a_context_keeps_the_newest_that_fit_and_then_the_overview(world: Any) -> None:
    world.sessions.add(ALICE, "s", [said("archived words " * 20)])
    world.sessions.commit(ALICE, "s")
    world.work()
    world.sessions.add(ALICE, "s", [said("four" * n) for n in (5, 3, 2)])
    overview = world.sessions.context(ALICE, "s")["stats"]["archiveTokens"]
    assert overview > 5
    for budget, shown, archive in (
        (0, 0, 0),
        (1, 0, 0),
        (2, 1, 0),
        (4, 1, 0),
        (5, 2, 0),
        (10, 3, 0),
        (10 + overview, 3, overview),
    ):
        context = world.sessions.context(ALICE, "s", budget)
        assert (len(context["messages"]), context["stats"]["archiveTokens"]) == (shown, archive), budget
        assert context["estimatedTokens"] == context["stats"]["activeTokens"] + archive <= budget
        assert context["stats"]["droppedArchives"] == (0 if archive else 1)
    with pytest.raises(InvalidArgumentError) as caught:
        world.sessions.context(ALICE, "s", -1)
    assert caught.value.details["field"] == "token_budget"


def test_a_policy_commits_strictly_above_its_thresholds(world: Any) -> None:
    world.sessions.create(ALICE, "s", auto_commit_policy={"message_count_threshold": 3, "keep_recent_count": 1})
    assert "auto_commit" not in world.sessions.add(ALICE, "s", [said("a"), said("b"), said("c")])
    answer = world.sessions.add(ALICE, "s", [said("d")])
    assert (answer["message_count"], answer["auto_commit"]["archive_uri"]) == (1, f"{HOME}/s/history/archive_001")
    assert world.sessions.get(ALICE, "s")["last_auto_commit_at"]
    world.sessions.create(
        ALICE, "t", auto_commit_policy={"pending_token_threshold": 4, "min_commit_interval_seconds": 9}
    )
    assert "auto_commit" not in world.sessions.add(ALICE, "t", [said("four" * 4)])
    assert "auto_commit" in world.sessions.add(ALICE, "t", [said("x")])
    # The interval since the last commit is not over.
    assert "auto_commit" not in world.sessions.add(ALICE, "t", [said("four" * 9)])


def test_long_outputs_are_kept_beside_their_messages(world: Any) -> None:
    output = "😀start " + "x" * 19_995 + " Needle end"
    tool = {"type": "tool", "tool_name": "bash", "tool_output": output}
    short = {"type": "tool", "tool_name": "cat", "tool_output": "y" * 20_000}
    answer = world.sessions.add(ALICE, "s", [{"role": "assistant", "parts": [tool, short]}])
    assert (answer["message_count"], answer["pending_tokens"] < 6_000) == (2, True)
    shown = [message["parts"][0] for message in world.sessions.context(ALICE, "s")["messages"]]
    assert (shown[0]["tool_output"], shown[1]["tool_output"]) == (output[:2_000], "y" * 20_000)
    [listed] = world.sessions.tool_results(ALICE, "s")["tool_results"]
    rid = listed["tool_result_id"]
    assert listed == {
        "tool_result_id": rid, "tool_name": "bash", "original_chars": len(output), "preview_chars": 2_000,
        "mime_type": "text/plain", "synopsis_kind": "head", "storage_uri": f"{HOME}/s/tool-results/{rid}",
        "offset_unit": "unicode_code_point",
    }  # fmt: skip
    assert shown[0]["tool_output_ref"] == listed["storage_uri"]
    assert world.content.read(ALICE, listed["storage_uri"]) == output
    piece = world.sessions.tool_result(ALICE, "s", rid, offset=1, limit=5)
    assert (piece["content"], piece["has_more"], piece["total_chars"]) == ("start", True, len(output))
    rest = world.sessions.tool_result(ALICE, "s", rid, offset=20_000, limit=-1, include_metadata=False)
    assert (rest["content"], rest["has_more"], "metadata" in rest) == (output[20_000:], False, False)
    found = world.sessions.search_tool_result(ALICE, "s", rid, "needle", context_chars=2)["matches"]
    assert found == [{"offset": output.index("Needle"), "offset_unit": "unicode_code_point", "snippet": "x Needle e"}]
    assert len(world.sessions.search_tool_result(ALICE, "s", rid, "x", limit=3)["matches"]) == 3
    assert world.sessions.tool_results(ALICE, "s", tool_name="cat")["tool_results"] == []
    for wrong in ({"limit": -2}, {"offset": -1}):
        with pytest.raises(InvalidArgumentError):
            world.sessions.tool_result(ALICE, "s", rid, **wrong)
    for field, value in (
        ("limit", 0),
        ("limit", 1_001),
        ("limit", True),
        ("context_chars", -1),
        ("context_chars", 5_001),
    ):
        with pytest.raises(InvalidArgumentError, match=field):
            world.sessions.search_tool_result(ALICE, "s", rid, "x", **{field: value})
    for ask in (world.sessions.tool_result, lambda *a: world.sessions.search_tool_result(*a, "x")):
        with pytest.raises(NotFoundError):
            ask(ALICE, "s", "tr_none")
    with pytest.raises(NotFoundError):
        world.sessions.tool_result(BOB, "s", rid)


def test_the_files_of_a_session_can_be_read_where_the_contract_says(world: Any) -> None:
    world.sessions.add(ALICE, "s", [said("old zebra")])
    world.sessions.commit(ALICE, "s")
    world.work()
    world.sessions.add(ALICE, "s", [said("new zebra")])

    def read(name: str) -> str:
        return str(world.content.read(ALICE, f"viking://session/s/{name}"))

    assert json.loads(read("messages.jsonl"))["parts"] == [{"type": "text", "text": "new zebra"}]
    assert world.content.download(ALICE, f"{HOME}/s/messages.jsonl").decode() == read("messages.jsonl")
    assert json.loads(read(".meta.json"))["message_count"] == 1
    assert json.loads(read("history/archive_001/messages.jsonl"))["parts"][0]["text"] == "old zebra"
    assert json.loads(read("history/archive_001/.meta.json"))["message_count"] == 1
    diff = json.loads(read("history/archive_001/memory_diff.json"))
    assert (diff["summary"]["total_adds"], diff["archive_uri"]) == (1, f"{HOME}/s/history/archive_001")
    assert read("history/archive_001/.done") == ""
    # An archive is searchable by its owner; what is in no file yet is not, in any of the ways to look for it.
    hits = [hit.uri for hit in world.search.find(ALICE, "zebra", level=2) if "/memories/events/" not in hit.uri]
    assert hits == [f"{HOME}/s/history/archive_001/messages.jsonl"]
    grepped = world.search.grep(ALICE, HOME, "zebra").matches
    assert [one.uri for one in grepped if not one.uri.endswith("/memory_diff.json")] == hits
    assert [hit.uri for hit in world.search.find(BOB, "zebra")] == []
    for name in ("messages.jsonl", ".meta.json", "history/archive_001/messages.jsonl"):
        with pytest.raises(PermissionDeniedError):
            world.content.read(BOB, f"{HOME}/s/{name}")
        with pytest.raises((InvalidArgumentError, PermissionDeniedError)):
            world.content.write(ALICE, f"{HOME}/s/{name}", "forged")
    with pytest.raises(NotFoundError):
        world.content.read(ALICE, "viking://session/none/messages.jsonl")


@pytest.mark.parametrize("way", ["delete", "rm", "rm sessions", "user"])
def test_whoever_removes_the_directory_removes_the_session(world: Any, way: str) -> None:
    world.sessions.add(ALICE, "s", [said("live zorblax", id="a")])
    world.sessions.commit(ALICE, "s")
    world.work()
    big = {"type": "tool", "tool_output": "zorblax " * 5_000}
    world.sessions.add(ALICE, "s", [said("live zorblax", id="b"), {"role": "tool", "parts": [big]}])
    if way == "delete":
        world.sessions.delete(ALICE, "s")
    elif way == "user":
        world.store.apply([Remove("user/alice", recursive=True)])
    else:
        world.fs.rm(ALICE, HOME if way == "rm sessions" else f"{HOME}/s", recursive=True)
    with pytest.raises(NotFoundError):
        world.sessions.get(ALICE, "s")
    assert (world.sessions.ls(ALICE), world.store.sessions.live("user/alice/sessions/s")) == ([], [])
    # Another of that name inherits nothing.
    assert world.sessions.add(ALICE, "s", [said("new", id="a")])["message_count"] == 1
    assert world.sessions.tool_results(ALICE, "s")["tool_results"] == []
    assert world.sessions.get(ALICE, "s")["commit_count"] == 0
    assert world.store.check() == []


def test_a_session_that_goes_while_its_commit_is_described_does_not_come_back(world: Any) -> None:
    world.sessions.add(ALICE, "s", [said("hello")])
    task = world.sessions.commit(ALICE, "s")["task_id"]
    world.sessions.delete(ALICE, "s")
    world.work()
    assert world.tasks.get(ALICE, task)["status"] == "failed"
    assert world.fs.ls(ALICE, HOME, simple=True) == []


def test_an_archive_that_is_damaged_fails_its_task_and_says_so(world: Any) -> None:
    world.sessions.add(ALICE, "s", [said("hello")])
    done = world.sessions.commit(ALICE, "s")
    path = "user/alice/sessions/s/history/archive_001/messages.jsonl"
    world.store.apply([PutFile(path, prepare("messages.jsonl", b"no json\n"))])
    world.work()
    task = world.tasks.get(ALICE, done["task_id"])
    assert task["status"] == "failed"
    assert "archive_001" in task["error"]
    assert (
        json.loads(world.content.read(ALICE, f"{done['archive_uri']}/.failed.json"))["archive_uri"]
        == done["archive_uri"]
    )
    context = world.sessions.context(ALICE, "s")
    assert (context["stats"]["failedArchives"], context["messages"]) == (1, [])


def test_what_was_used_is_counted_by_call(world: Any) -> None:
    world.sessions.create(ALICE, "s")
    used = world.sessions.used
    assert used(ALICE, "s") == {"session_id": "s", "contexts_used": 0, "skills_used": 0}
    skill = {"uri": "viking://agent/skills/x", "input": "a", "output": "b", "success": True}
    assert used(ALICE, "s", ["viking://resources/a", "viking://resources/b"], skill) == {
        "session_id": "s", "contexts_used": 2, "skills_used": 1,
    }  # fmt: skip
    for bad in ({"contexts": "x"}, {"contexts": [1]}, {"skill": {"input": "x"}}):
        with pytest.raises(InvalidArgumentError):
            used(ALICE, "s", **bad)
    with pytest.raises(NotFoundError):
        used(ALICE, "none")


def test_a_session_is_there_for_another_process_and_after_a_restart(world: Any, place: Path) -> None:
    world.sessions.add(ALICE, "s", [said("one"), said("two")])
    world.sessions.commit(ALICE, "s", keep_recent_count=1)
    accounts = Accounts(place)
    worker = Worker(accounts.open_stores, session_steps(), 0, 1.0)
    try:
        other = Sessions(accounts, worker)
        assert other.get(ALICE, "s")["message_count"] == 1
        worker.drain(accounts.store(ALICE), 60)
        assert texts(other.archive(ALICE, "s", "archive_001")["messages"]) == ["one"]
        assert other.add(ALICE, "s", [said("three")])["message_count"] == 2
    finally:
        worker.stop()
        accounts.close()
    assert world.sessions.get(ALICE, "s")["total_message_count"] == 3
