"""No byte of what a user said or kept is left in the data directory once the user is deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .conftest import Caller
from .test_deleted_user import WORD, admin

__all__ = ["admin"]


def test_a_deleted_user_leaves_no_byte(admin: Any, place: Path, until: Any) -> None:
    boss, _ = admin
    made = boss.post("admin/accounts/acme/users", user_id="bob")
    bob = Caller(boss.client, {"X-API-Key": made["user_key"]})
    bob.write("viking://~/memories/m.md", f"{WORD} remembered", wait=True, timeout=30)
    bob.write("viking://~/resources/r.md", f"{WORD} kept " * 30_000, wait=True, timeout=30)
    long = {"type": "tool", "tool_name": "t", "tool_output": f"{WORD} " * 4_000}
    messages = [{"role": "user", "content": f"Remember that I prefer {WORD}."}, {"role": "assistant", "parts": [long]}]
    bob.post("sessions/talk/messages/batch", messages=messages)
    bob.post("sessions/talk/commit", keep_recent_count=1)
    bob.post("system/wait", timeout=30)
    assert any(WORD.encode() in file.read_bytes() for file in place.rglob("*") if file.is_file())
    deleted = boss.call("DELETE", "admin/accounts/acme/users/bob").json()["result"]
    until(lambda: boss.get(f"tasks/{deleted['task_id']}")["status"] == "completed")
    boss.post("system/wait", timeout=30)
    assert [file.name for file in place.rglob("*") if file.is_file() and WORD.encode() in file.read_bytes()] == []
