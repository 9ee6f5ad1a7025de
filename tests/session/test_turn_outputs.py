"""How much of tools' outputs a turn holds whole, and how much it shows of the others."""

from __future__ import annotations

from typing import Any

from openviking.config.settings import SessionSettings

from .conftest import ALICE, Desk


def told(desk: Desk, *sizes: int, session: str = "s") -> list[tuple[int, bool]]:
    """Adds outputs of these sizes one by one; of each how many characters are shown, and whether it is kept beside."""
    for size in sizes:
        part = {"type": "tool", "tool_name": "t", "tool_output": "x" * size}
        desk.sessions.add(ALICE, session, [{"role": "assistant", "parts": [part]}])
    live = desk.store.sessions.live(f"user/alice/sessions/{session}")
    return [shown(one.message.parts[0]) for one in live[-len(sizes) :]]


def shown(part: dict[str, Any]) -> tuple[int, bool]:
    return len(part["tool_output"]), "tool_result_id" in part


def test_a_long_output_is_kept_beside(desk: Desk) -> None:
    assert told(desk, 20_000, 20_001) == [(20_000, False), (2_000, True)]


def test_a_turn_holds_no_more_than_its_budget(desk: Desk) -> None:
    desk.say("s", "Go on.")
    assert told(desk, *[20_000] * 5, 5_000, 900, 2_000) == [
        *[(20_000, False)] * 5, (2_000, True), (900, False), (2_000, False),
    ]  # fmt: skip
    desk.say("s", "Another turn.")
    assert told(desk, 20_000) == [(20_000, False)]


def test_what_is_shown_has_a_budget_too_and_a_least(desk: Desk) -> None:
    assert told(desk, *[30_000] * 8) == [*[(2_000, True)] * 5, *[(1_000, True)] * 3]


def test_messages_of_one_call_are_one_turn_unless_the_user_speaks(desk: Desk) -> None:
    part = {"type": "tool", "tool_name": "t", "tool_output": "x" * 20_000}
    tools = {"role": "user", "parts": [part] * 3}
    desk.sessions.add(ALICE, "s", [tools, tools, {"role": "user", "content": "Stop."}, tools])
    live = [one.message.parts[0] for one in desk.store.sessions.live("user/alice/sessions/s")]
    kept = [shown(one) for one in live if one["type"] == "tool"]
    assert kept == [*[(20_000, False)] * 5, (2_000, True), *[(20_000, False)] * 3]


def test_the_bounds_are_configured(desk: Desk) -> None:
    desk.sessions._settings = SessionSettings(tool_output_chars=10, tool_preview_chars=4, turn_output_chars=25)
    assert told(desk, 10, 11, 10, 10) == [(10, False), (4, True), (10, False), (4, True)]
    desk.sessions._settings = SessionSettings(tool_outputs_beside=False)
    assert told(desk, 50_000) == [(50_000, False)]
