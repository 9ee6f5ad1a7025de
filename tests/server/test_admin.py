"""Accounts, users and keys over HTTP (contract/core.md §3.10), and whom the keys open what to (§1.5, §1.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Tenants = Callable[[str, str], Any]
ROOT = {"X-API-Key": "root-key-of-the-tests"}


@pytest.fixture
def root(tenants: Tenants) -> Any:
    """The root key; there is an account acme with the admin boss."""
    boss = tenants("acme", "boss")
    return type(boss)(boss.client, ROOT)


def test_an_account_from_its_making_to_its_end(root: Any) -> None:
    made = root.post("admin/accounts", account_id="globex", admin_user_id="ann", seed="s")
    assert (made["account_id"], made["admin_user_id"]) == ("globex", "ann")
    assert root.refused("admin/accounts", account_id="globex", admin_user_id="ann") == (409, "ALREADY_EXISTS")
    assert [one["account_id"] for one in root.get("admin/accounts")] == ["acme", "globex"]
    assert [one["account_id"] for one in root.get("admin/accounts", name="glo*")] == ["globex"]
    page = root.call("GET", "admin/accounts", params={"limit": 1, "page": 2}).json()
    assert ([one["account_id"] for one in page["result"]], page["total"], page["has_more"]) == (["globex"], 2, False)
    assert root.get("admin/accounts/globex")["user_count"] == 1
    ended = root.result(root.call("DELETE", "admin/accounts/globex"))
    assert ended == {"account_id": "globex", "deleted": True}
    gone = root.call("GET", "fs/ls", params={"uri": "viking://"}, headers={"X-API-Key": made["user_key"]})
    assert gone.status_code == 401
    assert root.call("GET", "admin/accounts/globex").json()["error"]["details"] == {
        "type": "account",
        "resource": "globex",
    }


def test_a_user_from_registration_to_deletion(root: Any, until: Any) -> None:
    key = root.post("admin/accounts/acme/users", user_id="bob")["user_key"]
    bob = {"X-API-Key": key}
    assert root.call("GET", "system/status", headers=bob).json()["result"]["user"] == "bob"
    assert root.get("admin/accounts/acme/users/bob") == {"user_id": "bob", "role": "user"}
    assert [one["user_id"] for one in root.get("admin/accounts/acme/users", role="user")] == ["bob"]
    assert "key_prefix" in root.get("admin/accounts/acme/users", name="bob")[0]
    assert root.get("admin/accounts/acme/users", name="bob", include_credentials=False) == [
        {"user_id": "bob", "role": "user"}
    ]
    assert root.get("admin/accounts/acme/users", include_summary=True)["total"] == 2
    assert (
        root.result(root.call("PUT", "admin/accounts/acme/users/bob/role", json={"role": "admin"}))["role"] == "admin"
    )
    assert root.call("PUT", "admin/accounts/acme/users/bob/role", json={"role": "user"}).status_code == 400
    fresh = root.post("admin/accounts/acme/users/bob/key")["user_key"]
    assert root.call("GET", "system/status", headers=bob).status_code == 401
    deleted = root.call("DELETE", "admin/accounts/acme/users/bob")
    assert deleted.status_code == 202
    assert deleted.json()["result"]["status"] == "deleting"
    assert root.call("GET", "system/status", headers={"X-API-Key": fresh}).status_code in {401, 412}
    task = deleted.json()["result"]["task_id"]
    until(lambda: root.get(f"tasks/{task}")["status"] == "completed")
    assert root.call("GET", "admin/accounts/acme/users/bob").status_code == 404


def test_settings(root: Any) -> None:
    change = {"agent_evolution": {"enabled": False}}
    answer = root.call("PATCH", "admin/accounts/acme/settings", json=change)
    assert root.result(answer)["settings"] == change
    assert root.get("admin/accounts/acme/settings")["account_id"] == "acme"
    policy = {"memory_policy": {"self": {"enabled": False}}}
    changed = root.result(root.call("PATCH", "admin/accounts/acme/users/boss/settings", json=policy))
    assert changed["memory_policy"] == policy["memory_policy"]
    assert root.get("admin/accounts/acme/users/boss/settings")["memory_policy"] == policy["memory_policy"]
    assert root.call("PATCH", "admin/accounts/acme/settings", json={"acl": {}}).status_code == 501
    assert root.call("PATCH", "admin/accounts/acme/settings", json={"other": 1}).status_code == 400


def test_agent_evolution_can_only_be_off(tenants: Tenants) -> None:
    boss = tenants("acme", "boss")
    assert boss.get("admin/agent-evolution") == {"enabled": False, "account_id": "acme"}
    assert boss.result(boss.call("PUT", "admin/agent-evolution", json={"enabled": False}))["enabled"] is False
    on = {"agent_evolution": {"enabled": True}}
    for answer in (
        boss.call("PUT", "admin/agent-evolution", json={"enabled": True}),
        boss.call("PATCH", "admin/accounts/acme/settings", json=on),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (501, "UNIMPLEMENTED")
    assert boss.get("admin/agent-evolution")["enabled"] is False


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "admin/accounts"), ("POST", "admin/accounts"), ("DELETE", "admin/accounts/acme"),
        ("GET", "admin/accounts/globex/users"), ("DELETE", "admin/accounts/globex/users/eve"),
        ("GET", "admin/accounts/nowhere/users"),
    ],
)  # fmt: skip
def test_admins_stay_in_their_account_and_users_administer_nothing(tenants: Tenants, method: str, path: str) -> None:
    boss, bob = tenants("acme", "boss"), tenants("acme", "bob")
    tenants("globex", "eve")
    body = {"account_id": "new", "admin_user_id": "x"} if method == "POST" else None
    for caller in (boss, bob):
        answer = caller.call(method, path, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "PERMISSION_DENIED")
    assert bob.call("GET", "admin/accounts/acme/users").status_code == 403
    assert boss.call("GET", "admin/accounts/acme/users").status_code == 200


@pytest.mark.parametrize("path", ["fs/ls?uri=viking://", "sessions", "debug/vector/count", "skills"])
def test_the_root_key_reads_nobodys_data(root: Any, path: str) -> None:
    assert root.call("GET", path).status_code == 403
    assert root.call("POST", "search/find", json={"query": "x"}).status_code == 403


def test_the_root_key_watches_over_all(root: Any) -> None:
    assert root.get("observer/system")["is_healthy"] is True
    assert root.get("system/status")["initialized"] is True
    assert set(root.post("system/wait")) == {"Semantic", "Embedding"}
    assert root.get("tasks") == []
    assert root.get("debug/health") == {"healthy": True}


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer "}, {"Authorization": "Bearer no"}, {"X-API-Key": "no"}]
)
def test_without_a_key_nothing_is_told(root: Any, headers: dict[str, str]) -> None:
    for path in ("/api/v1/fs/ls?uri=viking://", "/api/v1/nowhere", "/api/v1/snapshot/log"):
        answer = root.client.get(path, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHENTICATED")
    assert "user_id" not in root.client.get("/health", headers=headers).json()


def test_in_dev_mode_there_is_nothing_to_administer(api: Any) -> None:
    assert api.call("GET", "admin/accounts").status_code == 403
    assert api.refused("admin/accounts", account_id="a", admin_user_id="b") == (403, "PERMISSION_DENIED")
