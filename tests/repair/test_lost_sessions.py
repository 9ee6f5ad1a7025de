"""What was said survives the loss of the rows that tell of it: a new session never writes over old archives."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.model.identity import Identity

ROOT = Identity("default", "default", "root")
OLD = ["said 0", "said 1"]


@pytest.mark.parametrize(
    ("table", "said"), [("sessions", OLD), ("session_archives", [*OLD, "said 2"])], ids=["session", "archives"]
)
def test_a_conversation_whose_rows_are_lost_is_found_and_known_again(house: Any, table: str, said: list[str]) -> None:
    house.alter(f"DELETE FROM {table}")
    [problem] = house.audit()["problems"]
    assert (problem["kind"], problem["count"], problem["repair"]) == ("session", 1, "prune_orphans")
    assert problem["examples"][0]["uri"] == "viking://user/default/sessions/talk"

    house.reindex(mode="prune_orphans")
    assert (house.audit()["problems"], house.store.check()) == ([], [])
    talks = house.services.sessions
    shown = talks.context(ROOT, "talk")
    assert [one["parts"][0]["text"] for one in shown["messages"]] == said
    assert shown["stats"]["failedArchives"] == 1

    talks.add(ROOT, "talk", [{"role": "user", "content": "said later"}])
    later = talks.commit(ROOT, "talk")
    house.work()
    assert later["archive_uri"].endswith("archive_002")
    first = talks.archive(ROOT, "talk", "archive_001")
    assert [one["parts"][0]["text"] for one in first["messages"]] == OLD
    assert house.audit()["problems"] == []
