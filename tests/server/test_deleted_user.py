"""A user who is deleted leaves nothing to the next one of the same name, of whatever kind."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import ROOT, ROOT_KEY, Caller
from tests.stubs.embedders import HashEmbedder

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

WORD = "quokkasecret"


@pytest.fixture
def admin(place: Path) -> Iterator[tuple[Caller, Services]]:
    settings = Settings(path=place, poll_interval=0.1, embedding=EmbeddingSettings(provider="none"))
    services = Services(settings, Rules.of(None, ROOT_KEY, "127.0.0.1"), embedder=HashEmbedder())
    with TestClient(create_app(services)) as client:
        made = services.admin.create_account(ROOT, "acme", "boss")
        yield Caller(client, {"X-API-Key": made["user_key"]}), services


def test_nothing_is_inherited(admin: Any, place: Path, until: Any) -> None:
    boss, services = admin

    def bob() -> Caller:
        made = boss.post("admin/accounts/acme/users", user_id="bob")
        return Caller(boss.client, {"X-API-Key": made["user_key"]})

    first = bob()
    first.write("viking://~/memories/m.md", f"{WORD} remembered", wait=True, timeout=30)
    first.write("viking://~/resources/r.md", f"{WORD} kept", wait=True, timeout=30)
    long = {"type": "tool", "tool_name": "t", "tool_output": f"{WORD} " * 4_000}
    messages = [{"role": "user", "content": f"{WORD} said"}, {"role": "assistant", "parts": [long]}]
    first.post("sessions/talk/messages/batch", messages=messages)
    first.post("sessions/talk/commit", keep_recent_count=1)
    first.post("sessions/talk/used", contexts=[f"viking://resources/{WORD}"])
    first.post("skills", data=f"---\nname: secret\ndescription: {WORD}\n---\nx\n")
    done = first.post("resources", temp_file_id=first.upload(f"# {WORD}\n".encode()), to="viking://~/resources/x")
    upload = first.upload(f"{WORD} upload".encode())
    first.post("system/wait", timeout=30)

    deleted = boss.call("DELETE", "admin/accounts/acme/users/bob")
    assert deleted.status_code == 202
    until(lambda: boss.get(f"tasks/{deleted.json()['result']['task_id']}")["status"] == "completed")
    second = bob()
    assert second.get("sessions") == second.get("tasks", include_internal=True) == []
    assert second.get("skills")["total"] == 0
    for path in ("sessions/talk", "skills/secret", f"tasks/{done['task_id']}"):
        assert second.call("GET", path).status_code == 404, path
    assert second.refused("resources", temp_file_id=upload)[0] == 403
    assert second.post("search/find", query=WORD)["total"] == 0
    assert second.post("search/grep", uri="viking://~", pattern=WORD)["count"] == 0
    assert second.post("sessions/talk/messages", role="user", content="new")["message_count"] == 1
    assert second.get("sessions/talk/tool-results") == {"tool_results": []}
    assert second.get("sessions/talk/context")["stats"]["totalArchives"] == 0
    second.write("viking://~/memories/m.md", "quite another thing", wait=True, timeout=30)
    assert second.get("debug/vector/count", uri="viking://~/memories/m.md")["count"] == 1

    [database] = place.glob("accounts/*/store.db")
    connection = sqlite3.connect(database)
    try:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for table in tables:
            if not table.startswith(("words_", "names_")) and not table.endswith("_counts"):
                assert not [row for row in connection.execute(f"SELECT * FROM {table}") if WORD in repr(row)], table
        # Vectors stay for a while where nothing finds them: what was removed may come back.
        (kept,) = connection.execute(
            "SELECT count(*) FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.hash = v.hash)"
            " AND NOT EXISTS (SELECT 1 FROM loose l WHERE l.hash = v.hash)"
        ).fetchone()
        assert kept == 0
    finally:
        connection.close()
    assert [path for path in place.glob("accounts/*/uploads/*") if WORD.encode() in path.read_bytes()] == []
    account = services.tenancy.accounts.of("acme")
    assert account.check() == []
