"""Conversations, skills, audit and tasks through the embedded door, and through the one for asyncio."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from openviking import AsyncOpenViking, OpenViking
from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.service.embedded_sessions import SessionMethods
from openviking.service.embedded_skills import SkillMethods
from openviking.service.embedded_upkeep import UpkeepMethods
from openviking_sdk import SyncHTTPClient

SKILL = "---\nname: {}\ndescription: how to feed a quokka\n---\nGive it leaves.\n"


def test_a_conversation(ov: OpenViking) -> None:
    talk = ov.session("talk")
    assert talk.exists() is False
    assert talk.add_message("user", "I saw a quokka.", message_id="m1")["message_count"] == 1
    assert talk.add_message("user", "I saw a quokka.", message_id="m1")["message_count"] == 1
    ov.batch_add_messages("talk", [{"role": "assistant", "content": "Where?"}])
    talk.add_message("user", [{"type": "text", "text": "On the island."}])
    assert talk.load()["message_count"] == 3
    assert [one["session_id"] for one in ov.list_sessions()] == ["talk"]
    done = talk.commit(keep_recent_count=1)
    assert done["archived"]
    # Without threads of its own the door does the second phase when it is waited for.
    ov.wait_processed(30)
    task = ov.get_task(done["task_id"])
    assert task is not None
    assert task["status"] == "completed"
    context = talk.context()
    assert "quokka" in context["latest_archive_overview"]
    assert len(talk.get_archive("archive_001")["messages"]) == 2
    assert talk.used(["viking://resources/a.md"])["contexts_used"] == 1
    talk.update_config({"auto_commit_policy": {}})
    assert talk.load()["auto_commit_policy"]["message_count_threshold"] == 100
    talk.delete()
    with pytest.raises(NotFoundError):
        talk.load()
    assert ov.list_sessions() == []
    assert ov.get_task("none") is None


def test_skills(ov: OpenViking, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    (folder / "one" / "bin").mkdir(parents=True)
    (folder / "one" / "SKILL.md").write_text(SKILL.format("one"))
    (folder / "one" / "bin" / "run.sh").write_text("echo")
    (folder / "two").mkdir()
    (folder / "two" / "SKILL.md").write_text(SKILL.format("two"))
    assert [one["name"] for one in ov.add_skill(folder, list_only=True)["skills"]] == ["one", "two"]
    assert ov.list_skills()["total"] == 0
    assert ov.add_skill(str(folder))["total"] == 2
    assert ov.add_skill(folder / "two" / "SKILL.md")["name"] == "two"
    assert ov.add_skill({"name": "three", "description": "d", "content": "c"})["name"] == "three"
    assert ov.add_skill(SKILL.format("four"))["name"] == "four"
    listed = {one["path"] for one in ov.get_skill("one")["files"] if one["kind"] != "summary"}
    assert listed == {"SKILL.md", "bin", "bin/run.sh"}
    assert ov.find_skills("feeding a quokka")["skills"][0]["name"] in {"one", "two", "four"}
    assert ov.validate_skill("no skill")["valid"] is False
    assert ov.update_skill("one", folder / "one")["action"] == "update"
    assert ov.delete_skill("one")["name"] == "one"
    assert ov.list_skills()["total"] == 3
    with pytest.raises(InvalidArgumentError):
        ov.add_skill(tmp_path / "pack" / "one" / "bin")


def test_audit_and_reindex(ov: OpenViking) -> None:
    ov.write("viking://resources/a.md", "quokka", "create")
    ov.wait_processed(30)
    assert ov.check_consistency()["ok"]
    done = ov.reindex("viking://resources", "semantic_and_vectors", wait=False)
    assert ov.list_tasks()[0]["status"] == "pending"
    ov.wait_processed(30)
    task = ov.get_task(done["task_id"])
    assert task is not None
    assert (task["status"], task["result"]["rebuilt_records"]) == ("completed", 1)
    started = ov.reindex("viking://resources", wait=False)
    assert ov.cancel_task(started["task_id"])["status"] == "cancelled"


def test_the_task_of_a_commit_is_done_by_who_waits_for_it(ov: OpenViking) -> None:
    ov.session("talk").add_message("user", "I prefer window seats.")
    committed = ov.session("talk").commit()
    task = ov.wait_commit(committed["task_id"], 30)
    assert task["result"]["memories_extracted"]["preferences"] == 1
    assert ov.session("talk").rollback("archive_001")["reverted"]
    other = ov.reindex("viking://resources", wait=False)
    with pytest.raises(InvalidArgumentError):
        ov.wait_commit(other["task_id"])


async def test_the_same_awaited(place: Path) -> None:
    async with AsyncOpenViking(place, workers=0) as door:
        talk = door.session("talk")
        await talk.add_message("user", "I saw a quokka.")
        assert await talk.exists()
        assert (await door.commit_session("talk"))["archived"]
        await door.wait_processed(30)
        assert (await door.check_consistency())["ok"]
        assert (await door.list_skills())["total"] == 0


@pytest.mark.parametrize("methods", [SessionMethods, SkillMethods, UpkeepMethods])
def test_names_and_arguments_are_those_of_the_sdk(methods: type) -> None:
    for name, method in inspect.getmembers(methods, inspect.isfunction):
        if not name.startswith("_"):
            theirs = inspect.signature(getattr(SyncHTTPClient, name)).parameters
            ours = inspect.signature(method).parameters
            both = [argument for argument in ours if argument in theirs]
            assert both == [argument for argument in theirs if argument in ours], name
            extra = set(ours) - set(theirs)
            assert extra <= {"timeout", "cursor", "skills", "list_only", "wait"}, (name, extra)
