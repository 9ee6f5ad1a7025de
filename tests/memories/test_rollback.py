"""The memories of one commit can be taken back, as far as nobody has changed them since."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.stubs.scripted import Scripted

from openviking.errors import FailedPreconditionError, NotFoundError, ProcessingError
from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.session.redaction import redact
from openviking.store.batch import PutFile
from openviking.uri import from_path

from .conftest import ALICE, HOME, Desk, answers

RED, BLUE = "My favourite colour is red.", "My favourite colour is blue."


def back(desk: Desk, archive: str = "archive_001") -> dict[str, Any]:
    return desk.sessions.rollback(ALICE, "s", archive)


def raw(desk: Desk, path: str) -> str:
    with desk.store.read() as view:
        node = view.get(f"user/alice/memories/{path}")
        assert node is not None
        return view.data(node).decode()


def test_what_was_added_is_removed(desk: Desk) -> None:
    desk.say("s", RED)
    desk.commit("s")
    added = [f"{HOME}/memories/{path}" for path in desk.memories(events=True)]
    done = back(desk)
    assert (done["session_id"], done["archive_id"], done["kept"]) == ("s", "archive_001", [])
    assert sorted(done["reverted"]) == sorted(added)
    assert len(added) == 2
    assert desk.memories(events=True) == {}
    with desk.store.read() as view:
        events = view.walk("user/alice/memories", hidden_files=False)
        assert [one.node.path for one in events if one.node.name.isdigit()] == [], "no empty days are left"
    assert desk.search.find(ALICE, "favourite colour", context_type="memory", level=[2]).hits == ()
    assert desk.diff("s")["rolled_back_at"]
    assert desk.store.check() == []
    # The messages stay, and nothing more is reverted.
    assert desk.sessions.archive(ALICE, "s", "archive_001")["messages"]
    assert (back(desk)["reverted"], back(desk)["kept"]) == ([], [])


def test_what_was_updated_is_as_before_to_the_byte(desk: Desk) -> None:
    desk.say("s", RED)
    desk.commit("s")
    (path,) = desk.memories()
    before = raw(desk, path)
    desk.say("s", BLUE)
    desk.commit("s")
    assert f"{HOME}/memories/{path}" in back(desk, "archive_002")["reverted"]
    assert raw(desk, path) == before
    # Then it can be told anew.
    desk.say("s", BLUE)
    desk.commit("s")
    assert "blue" in desk.memories()[path].partition("\n")[0]


def test_what_was_deleted_comes_back_with_its_tags(with_model: Desk, stub: Scripted) -> None:
    with_model.say("s", RED)
    answers(stub)
    with_model.commit("s")
    ((path, body),) = with_model.memories().items()
    uri = f"{HOME}/memories/{path}"
    with_model.fs.set_tags(ALICE, uri, ["mine=yes"], mode="append")
    before = raw(with_model, path)
    answers(stub, {"op": "delete", "note": "n1", "sources": [1], "quote": "forget my colour"})
    with_model.say("s", "Please forget my colour.")
    with_model.commit("s")
    assert with_model.memories() == {}
    assert uri in back(with_model, "archive_002")["reverted"]
    assert with_model.memories() == {path: body}
    assert raw(with_model, path) == before
    (hit,) = with_model.search.find(
        ALICE, "favourite colour", tags=["memory_type=" + path.split("/")[0], "mine=yes"]
    ).hits
    assert hit.uri == uri


def test_what_somebody_changed_since_is_kept(desk: Desk) -> None:
    desk.say("s", RED, "My dog is called Rex.", "My cat is called Mog.")
    desk.commit("s")
    uris = {
        word: f"{HOME}/memories/{path}"
        for path, body in desk.memories().items()
        for word in ("red", "Rex", "Mog")
        if word in body
    }
    desk.content.write(ALICE, uris["red"], "Mine.\n", mode="replace")
    desk.fs.rm(ALICE, uris["Rex"])
    done = back(desk)
    assert {one["uri"]: one["reason"] for one in done["kept"]} == {
        uris["red"]: "changed_since",
        uris["Rex"]: "changed_since",
    }
    assert uris["Mog"] in done["reverted"]
    assert list(desk.memories().values()) == ["Mine."]


def test_what_a_later_commit_changed_is_kept(desk: Desk) -> None:
    desk.say("s", RED)
    desk.commit("s")
    (path,) = desk.memories()
    desk.say("s", BLUE)
    desk.commit("s")
    assert back(desk)["kept"] == [{"uri": f"{HOME}/memories/{path}", "reason": "changed_since"}]
    back(desk, "archive_002")
    assert "red" in desk.memories()[path]
    # Now it is as the first commit left it, and nothing of the second is looked at again.
    desk.say("s", "My dog is called Rex.")
    desk.commit("s")
    assert back(desk, "archive_002")["reverted"] == []
    assert back(desk)["reverted"] == [f"{HOME}/memories/{path}"]
    assert ["Rex" in body for body in desk.memories().values()] == [True]
    assert len(desk.diff("s")["rollback"]["reverted"]) == 2
    assert desk.diff("s")["rollback"]["kept"] == []


def test_a_message_that_was_redacted_is_not_restored(desk: Desk) -> None:
    (said,) = desk.say("s", RED)
    desk.commit("s")
    desk.say("s", BLUE)
    desk.commit("s")
    (path,) = desk.memories()
    redact(desk.store, from_path("user/alice/sessions/s"), said)
    done = back(desk, "archive_002")
    assert {"uri": f"{HOME}/memories/{path}", "reason": "redacted"} in done["kept"]


def test_nothing_outside_of_the_users_memories_is_touched(desk: Desk) -> None:
    bob = Identity("acme", "bob", "user")
    desk.content.write(bob, "viking://~/memories/profile.md", "Bob.\n", mode="create")
    desk.content.write(ALICE, "viking://resources/plan.md", "Plan.\n", mode="create")
    desk.say("s", RED)
    desk.commit("s")
    told = desk.diff("s")
    strangers = [
        "viking://user/bob/memories/profile.md",
        "viking://resources/plan.md",
        "viking://user/alice/memories/../x.md",
        "x",
    ]
    bodies = ["Bob.", "Plan.", "", ""]
    told["operations"]["adds"] = [
        {"uri": uri, "memory_type": "profile", "after": body, "sources": []}
        for uri, body in zip(strangers, bodies, strict=True)
    ]
    place = f"{HOME}/sessions/s/history/archive_001/memory_diff.json"
    store, path = desk.store, place.removeprefix("viking://")
    store.apply([PutFile(path, prepare("memory_diff.json", json.dumps(told).encode(), bookkeeping=True))])
    done = back(desk)
    assert done["reverted"] == []
    assert [one["reason"] for one in done["kept"]] == ["not_a_memory"] * 4
    assert desk.content.read(bob, "viking://~/memories/profile.md") == "Bob.\n"
    for broken in ("[]", "no json", '{"operations": {"adds": [{}]}}', '{"operations": 3}'):
        store.apply([PutFile(path, prepare("memory_diff.json", broken.encode(), bookkeeping=True))])
        with pytest.raises(ProcessingError, match=r"memory_diff\.json"):
            back(desk)


def test_when_there_is_nothing_to_take_back(desk: Desk) -> None:
    with pytest.raises(NotFoundError):
        back(desk)
    desk.say("s", RED)
    for missing in ("archive_001", "archive_1", "", "../x"):
        with pytest.raises(NotFoundError):
            back(desk, missing)
    done = desk.sessions.commit(ALICE, "s")
    with pytest.raises(FailedPreconditionError, match="under way"):
        back(desk)
    desk.tasks.cancel(ALICE, done["task_id"])
    desk.work()
    assert back(desk)["reverted"] == []
