"""A killed second phase makes its memories once, whatever is killed when: all of a commit's or none, as its diff says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.stubs.killed import talk_until_killed

from .conftest import ALICE, HOME, Desk

PROGRAM = Path(__file__).with_name("memory_process.py")


@pytest.mark.slow
@pytest.mark.cpu_budget(30)
def test_a_killed_commit_makes_its_memories_once(place: Path, open_desk: Callable[..., Desk]) -> None:
    chance = Random(11)
    first = last = 0
    for _ in range(4):
        last = talk_until_killed(PROGRAM, place, first, chance.randrange(4, 16), "kept")
        desk = open_desk()
        assert desk.store.check() == []
        # What was under way may have come to its end.
        first = desk.sessions.get(ALICE, "talk")["total_message_count"] // 2
        desk.close()
    desk = open_desk()
    desk.sessions.add(ALICE, "talk", [{"role": "user", "content": "Bye."}])
    desk.sessions.commit(ALICE, "talk")
    # A job that a killed process held is free when its lease has run out.
    desk.work()
    session = desk.sessions.get(ALICE, "talk")
    archives = [desk.sessions.archive(ALICE, "talk", f"archive_{n:03d}") for n in range(1, session["commit_count"] + 1)]
    assert all(one["overview"] for one in archives)
    facts = desk.memories()
    events = [path for path in desk.memories(events=True) if path.startswith("events/")]
    assert len(events) == session["commit_count"] == session["memories_extracted"]["events"]
    # One memory for each fact, and one that every commit changed, whichever came to its end first.
    stated = (session["total_message_count"] - 1) // 2
    assert (len(facts), stated > last) == (stated + 1, True)
    for number in range(stated):
        assert f"blue{number}." in facts[f"preferences/favourite-color{number}.md"]
    lines = facts["preferences/tea.md"].split("\n")
    assert [line.partition("garden")[2].partition(".")[0] for line in lines if line] == [
        str(stated - n) for n in range(1, 7)
    ]
    diffs = [
        desk.diff("talk", f"archive_{number:03d}")["operations"] for number in range(1, session["commit_count"] + 1)
    ]
    added = [one["uri"] for told in diffs for one in told["adds"]]
    assert sorted(added) == sorted(f"{HOME}/memories/{path}" for path in desk.memories(events=True))
    assert session["memories_extracted"]["total"] == len(added) + sum(len(told["updates"]) for told in diffs)
    assert desk.store.check() == []
