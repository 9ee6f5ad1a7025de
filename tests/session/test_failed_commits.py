"""A commit whose second phase never comes says so, and loses no message."""

from __future__ import annotations

import json
from typing import Any

from openviking.model.identity import Identity
from openviking.store.jobs import MAX_ATTEMPTS

ALICE = Identity("acme", "alice", "user")


def committed(desk: Any) -> dict[str, Any]:
    desk.say("s", "I saw a quokka.")
    done: dict[str, Any] = desk.sessions.commit(ALICE, "s")
    return done


def failed(desk: Any) -> int:
    return int(desk.sessions.context(ALICE, "s")["stats"]["failedArchives"])


def test_one_that_was_cancelled(desk: Any) -> None:
    done = committed(desk)
    assert desk.tasks.cancel(ALICE, done["task_id"])["status"] == "cancelled"
    desk.work()
    assert (failed(desk), desk.texts("s")) == (1, ["I saw a quokka."])
    told = json.loads(desk.content.read(ALICE, f"{done['archive_uri']}/.failed.json"))
    assert told["error"] == "its task was cancelled"
    assert desk.archived("s", 1) == ["I saw a quokka."]


def test_one_that_was_given_up(desk: Any) -> None:
    done = committed(desk)
    for _ in range(MAX_ATTEMPTS):
        job = desk.store.jobs.claim(("session_commit",), 60_000)
        desk.store.jobs.fail(job, "no luck", retry_in=0)
    assert desk.tasks.get(ALICE, done["task_id"])["status"] == "failed"
    desk.work()
    assert failed(desk) == 1
    assert "no luck" in desk.content.read(ALICE, f"{done['archive_uri']}/.failed.json")


def test_one_whose_messages_were_removed_before(desk: Any) -> None:
    done = committed(desk)
    desk.fs.rm(ALICE, f"{done['archive_uri']}/messages.jsonl")
    desk.work()
    assert desk.tasks.get(ALICE, done["task_id"])["status"] == "failed"
    assert failed(desk) == 1


def test_a_redaction_describes_no_archive_that_was_not_described(desk: Any) -> None:
    desk.sessions.create(ALICE, "s", memory_policy={"working_memory": {"enabled": False}})
    for number, name in enumerate(("cancelled", "described"), start=1):
        desk.say("s", name, id=name)
        desk.say("s", "what stays")
        done = desk.sessions.commit(ALICE, "s")
        if name == "cancelled":
            desk.tasks.cancel(ALICE, done["task_id"])
        desk.work()
        assert desk.sessions.redact(ALICE, "s", name)["place"] == f"archive_{number:03d}"
        archive = desk.store.sessions.archive("user/alice/sessions/s", number)
        assert (bool(archive.abstract), archive.overview) == (name == "described", "")
        assert name not in archive.abstract
    assert failed(desk) == 1
