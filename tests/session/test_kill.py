"""Invariant 1 for conversations: each acknowledged message is in exactly one place, whatever is killed when."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.stubs.killed import talk_until_killed

from .conftest import ALICE, Desk

PROGRAM = Path(__file__).with_name("session_process.py")


def everything(desk: Desk) -> list[str]:
    """All messages of the session, the archives' first."""
    state = desk.sessions.get(ALICE, "talk")
    return [
        *(text for number in range(1, state["commit_count"] + 1) for text in desk.archived("talk", number)),
        *(one.message.text for one in desk.store.sessions.live("user/alice/sessions/talk")),
    ]


@pytest.mark.cpu_budget(8)
def test_a_killed_commit_neither_loses_nor_doubles_a_message(place: Path, open_desk: Callable[[], Desk]) -> None:
    chance = Random(7)
    first = 0
    for _ in range(5):
        last = talk_until_killed(PROGRAM, place, first, chance.randrange(3, 14), "said")
        desk = open_desk()
        found = everything(desk)
        # What was under way when the process was killed may have come to its end.
        assert found in ([f"word{n}" for n in range(last + 1)], [f"word{n}" for n in range(last + 2)])
        state = desk.sessions.get(ALICE, "talk")
        assert state["total_message_count"] == len(found)
        assert desk.store.check() == []
        first = len(found)
        desk.close()
    desk = open_desk()
    # A job that a killed process held is free when its lease has run out: it is carried on, not lost. One whose archive
    # was done, but whose end was not noted yet, has nothing left to do.
    waiting = desk.store.jobs.waiting().get("session_commit", 0)
    undone = [one for one in desk.store.sessions.archives("user/alice/sessions/talk") if one.state != "done"]
    assert len(undone) <= waiting <= len(undone) + 5
    assert everything(desk) == [f"word{n}" for n in range(first)]
