"""Accounts and users: what the admin API gives, to whom, and what another process sees of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openviking import OpenViking
from openviking.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
    UnimplementedError,
)
from openviking.model.identity import Identity

ROOT = Identity("default", "default", "root")
NOTE = "viking://~/memories/note.md"


def everything(admin: Any, who: Identity, account: str, user: str) -> dict[str, Callable[[], Any]]:
    """Every call about an account and a user of it."""
    return {
        "account": lambda: admin.account(who, account),
        "account_settings": lambda: admin.account_settings(who, account),
        "change_account_settings": lambda: admin.change_account_settings(who, account, {}),
        "register_user": lambda: admin.register_user(who, account, "newcomer"),
        "users": lambda: admin.users(who, account),
        "user": lambda: admin.user(who, account, user),
        "user_settings": lambda: admin.user_settings(who, account, user),
        "change_user_settings": lambda: admin.change_user_settings(who, account, user, {"memory_policy": None}),
        "set_role": lambda: admin.set_role(who, account, user, "admin"),
        "regenerate_key": lambda: admin.regenerate_key(who, account, user),
        "delete_user": lambda: admin.delete_user(who, account, user),
    }


def of_root(admin: Any, who: Identity, account: str) -> dict[str, Callable[[], Any]]:
    """Every call about all accounts."""
    return {
        "create_account": lambda: admin.create_account(who, "fresh", "boss"),
        "accounts": lambda: admin.accounts(who),
        "delete_account": lambda: admin.delete_account(who, account),
    }


def test_accounts_are_made_listed_and_removed(server: Any) -> None:
    admin = server.tenancy.admin
    made = admin.create_account(ROOT, "acme", "boss")
    assert set(made) == {"account_id", "admin_user_id", "user_key"}
    for name in ("beta", "acme2", "Zeta"):
        server.account(name)
    server.user("acme", "alice")
    listed = admin.accounts(ROOT)
    assert [entry["account_id"] for entry in listed] == ["Zeta", "acme", "acme2", "beta"]
    assert [entry["user_count"] for entry in listed] == [1, 2, 1, 1]
    assert listed[0]["created_at"].endswith("Z")
    found = admin.accounts(ROOT, name="acme*", limit=1)
    assert ([entry["account_id"] for entry in found], found.total, found.has_more) == (["acme"], 2, True)
    found = admin.accounts(ROOT, name="acme*", limit=1, page=2)
    assert ([entry["account_id"] for entry in found], found.total, found.has_more) == (["acme2"], 2, False)
    assert [entry["account_id"] for entry in admin.accounts(ROOT, query="ZET")] == ["Zeta"]
    assert list(admin.accounts(ROOT, limit=2, page=3)) == []
    assert admin.account(ROOT, "acme")["status"] == "active"
    assert admin.delete_account(ROOT, "acme") == {"deleted": True}
    with pytest.raises(NotFoundError) as caught:
        admin.delete_account(ROOT, "acme")
    assert caught.value.details == {"type": "account", "resource": "acme"}
    with pytest.raises(UnauthenticatedError):
        server.who(made["user_key"])


@pytest.mark.parametrize("other", ["acme", "ACME"])
def test_an_account_is_made_once_in_whatever_case(server: Any, other: str) -> None:
    server.account("acme")
    with pytest.raises(AlreadyExistsError) as caught:
        server.account(other)
    assert caught.value.details == {"type": "account", "resource": "acme"}


def test_of_many_who_make_an_account_or_user_at_once_one_does(serve: Callable[..., Any]) -> None:
    servers = [serve() for _ in range(2)]
    for make in (lambda one: one.account("acme"), lambda one: one.user("acme", "alice")):
        keys: list[str] = []
        refused: list[str] = []
        start = threading.Barrier(6)

        def ask(one: Any, make: Any = make, keys: list[str] = keys, refused: list[str] = refused,
                start: threading.Barrier = start) -> None:  # fmt: skip
            start.wait(10)
            try:
                keys.append(make(one))
            except AlreadyExistsError as error:
                refused.append(error.code)

        threads = [threading.Thread(target=ask, args=(servers[number % 2],)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert (len(keys), len(refused)) == (1, 5)
        assert servers[0].who(keys[0]) == servers[1].who(keys[0])


def test_users_are_registered_listed_and_promoted(server: Any) -> None:
    admin = server.tenancy.admin
    boss = server.who(server.account("acme"))
    for name in ("alice", "bob", "carol"):
        assert set(admin.register_user(boss, "acme", name)) == {"account_id", "user_id", "user_key"}
    admin.register_user(boss, "acme", "dora", "admin")
    listed = admin.users(boss, "acme")
    assert [(entry["user_id"], entry["role"]) for entry in listed] == [
        ("alice", "user"), ("bob", "user"), ("boss", "admin"), ("carol", "user"), ("dora", "admin"),
    ]  # fmt: skip
    assert all(set(entry) == {"user_id", "role", "key_prefix"} for entry in listed)
    assert [entry["user_id"] for entry in admin.users(boss, "acme", role="admin")] == ["boss", "dora"]
    page = admin.users(boss, "acme", name="[abc]*", limit=2, page=2)
    assert ([entry["user_id"] for entry in page], page.total, page.has_more) == (["boss", "carol"], 4, False)
    assert admin.user(boss, "acme", "bob") == {"user_id": "bob", "role": "user"}
    assert admin.set_role(boss, "acme", "bob", "admin") == {"account_id": "acme", "user_id": "bob", "role": "admin"}
    assert admin.user(boss, "acme", "bob")["role"] == "admin"
    for role in ("user", "root", "king", ""):
        with pytest.raises(InvalidArgumentError):
            admin.set_role(boss, "acme", "bob", role)
        if role != "user":
            with pytest.raises(InvalidArgumentError):
                admin.register_user(boss, "acme", "eve", role)
    with pytest.raises(AlreadyExistsError):
        admin.register_user(boss, "acme", "alice")
    with pytest.raises(NotFoundError):
        admin.user(boss, "acme", "nobody")
    with pytest.raises(NotFoundError):
        admin.register_user(ROOT, "none", "alice")


def test_keys_are_read_back_only_where_they_are_plain(serve: Callable[..., Any]) -> None:
    plain = serve(hashed=False)
    key = plain.account("acme")
    [entry] = plain.tenancy.admin.users(ROOT, "acme")
    assert entry == {"user_id": "boss", "role": "admin", "api_key": key}
    assert "api_key" not in plain.tenancy.admin.user(ROOT, "acme", "boss")


def test_behind_a_gateway_no_answer_has_a_key(serve: Callable[..., Any]) -> None:
    admin = serve(mode="trusted").tenancy.admin
    answers = [
        admin.create_account(ROOT, "acme", "boss"),
        admin.register_user(ROOT, "acme", "alice"),
        admin.regenerate_key(ROOT, "acme", "alice"),
        *admin.users(ROOT, "acme"),
    ]
    assert not any("key" in name for answer in answers for name in answer)


def test_a_new_key_ends_the_old_one(server: Any) -> None:
    old = server.account("acme")
    who = server.who(old)
    new = server.tenancy.admin.regenerate_key(who, "acme", "boss")["user_key"]
    assert server.who(new) == who
    with pytest.raises(UnauthenticatedError):
        server.who(old)
    seeded = server.tenancy.admin.regenerate_key(who, "acme", "boss", seed="s")["user_key"]
    assert server.tenancy.admin.regenerate_key(who, "acme", "boss", seed="s")["user_key"] == seeded


def test_who_may_administer_what(server: Any) -> None:
    admin = server.tenancy.admin
    boss, other = server.who(server.account("acme")), server.who(server.account("evil"))
    alice = server.who(server.user("acme", "alice"))
    for who, account in ((alice, "acme"), (alice, "evil"), (other, "acme"), (other, "nowhere"), (boss, "evil")):
        for name, ask in {**everything(admin, who, account, "alice"), **of_root(admin, who, account)}.items():
            with pytest.raises(PermissionDeniedError):
                ask()
            assert name
    for ask in of_root(admin, boss, "acme").values():
        with pytest.raises(PermissionDeniedError):
            ask()
    for name, ask in everything(admin, boss, "acme", "alice").items():
        assert ask() is not None, name


def test_in_dev_mode_there_is_nothing_to_administer(serve: Callable[..., Any]) -> None:
    admin = serve(mode="dev").tenancy.admin
    for ask in {**everything(admin, ROOT, "acme", "alice"), **of_root(admin, ROOT, "acme")}.values():
        with pytest.raises(PermissionDeniedError):
            ask()


@pytest.mark.parametrize("bad", ["", ".", "..", "a/b", "a b", "a@b@c", "ü", "a" * 200, 5, None, ["a"]])
def test_bad_ids_are_refused_everywhere(server: Any, bad: Any) -> None:
    admin = server.tenancy.admin
    server.account("acme")
    of_users = ("user", "user_settings", "change_user_settings", "set_role", "regenerate_key", "delete_user")
    named = everything(admin, ROOT, "acme", bad)
    asked: tuple[Callable[[], Any], ...] = (
        *everything(admin, ROOT, bad, "alice").values(),
        *(named[name] for name in of_users),
        lambda: admin.create_account(ROOT, bad, "boss"),
        lambda: admin.create_account(ROOT, "fresh", bad),
        lambda: admin.register_user(ROOT, "acme", bad),
        lambda: admin.delete_account(ROOT, bad),
    )
    for ask in asked:
        with pytest.raises(InvalidArgumentError):
            ask()
    assert [entry["account_id"] for entry in admin.accounts(ROOT)] == ["acme"]
    with pytest.raises(InvalidArgumentError):
        admin.create_account(ROOT, "_system", "boss")


def test_bad_pages_are_refused(server: Any) -> None:
    admin = server.tenancy.admin
    server.account("acme")
    bad: tuple[dict[str, Any], ...] = (
        {"limit": 0}, {"limit": -1}, {"limit": "5"}, {"limit": True}, {"page": 0}, {"name": 5}, {"name": "*" * 300},
        {"query": ["x"]},
    )  # fmt: skip
    for options in bad:
        with pytest.raises(InvalidArgumentError):
            admin.accounts(ROOT, **options)
        with pytest.raises(InvalidArgumentError):
            admin.users(ROOT, "acme", **options)
    assert list(admin.users(ROOT, "acme", name="[a-")) == []
    assert list(admin.users(ROOT, "acme", name="*" * 200 + "x")) == []


def test_settings_are_kept_and_checked(server: Any) -> None:
    admin = server.tenancy.admin
    server.account("acme", settings={"agent_evolution": {"enabled": False}})
    assert admin.account_settings(ROOT, "acme") == {
        "account_id": "acme",
        "settings": {"agent_evolution": {"enabled": False}},
        "overrides": {"agent_evolution": {"enabled": False}},
    }
    with pytest.raises(UnimplementedError):
        admin.change_account_settings(ROOT, "acme", {"agent_evolution": {"enabled": True}})
    admin.change_account_settings(ROOT, "acme", {"agent_evolution": {"enabled": False}})
    assert admin.account_settings(ROOT, "acme")["settings"] == {"agent_evolution": {"enabled": False}}
    server.account("beta")
    assert admin.account_settings(ROOT, "beta")["overrides"] == {}
    bad: Any
    for bad in ({"x": 1}, {"agent_evolution": 5}, {"agent_evolution": {"enabled": "yes"}}, [], 5, None):
        with pytest.raises(InvalidArgumentError):
            admin.change_account_settings(ROOT, "acme", bad)
    with pytest.raises(UnimplementedError):
        admin.change_account_settings(ROOT, "acme", {"acl": {"enabled": True}})
    policy = {"types": ["events"]}
    assert admin.change_user_settings(ROOT, "acme", "boss", {"memory_policy": policy})["memory_policy"] == policy
    assert admin.user_settings(ROOT, "acme", "boss") == {
        "account_id": "acme", "user_id": "boss", "memory_policy": policy,
    }  # fmt: skip
    for bad in ({}, {"x": 1}, {"memory_policy": 5}, {"memory_policy": {"x": float("nan")}},
                {"memory_policy": {"x": "y" * 100_000}}, None):  # fmt: skip
        with pytest.raises(InvalidArgumentError):
            admin.change_user_settings(ROOT, "acme", "boss", bad)
    with pytest.raises(InvalidArgumentError):
        admin.create_account(ROOT, "fresh", "boss", user_config=5)


def test_a_removed_account_leaves_nothing_to_the_next_of_its_name(server: Any, place: Path) -> None:
    who = server.who(server.account("acme"))
    server.content.write(who, NOTE, "zorblax " * 60_000, "create")
    before = server.tenancy.accounts.of("acme")
    first = server.tenancy.system.standing("acme", "boss").place
    server.tenancy.admin.delete_account(ROOT, "acme")
    assert not (place / "accounts" / first).exists()
    again = server.who(server.account("acme"))
    assert again.registration != who.registration
    assert server.tenancy.accounts.of("acme") is not before
    with pytest.raises(NotFoundError):
        server.content.read(again, NOTE)
    # Who was let in before the removal is not the one of today.
    with pytest.raises(UnauthenticatedError):
        server.content.read(who, NOTE)
    with pytest.raises(UnauthenticatedError):
        server.content.write(who, NOTE, "x", "create")
    assert server.tenancy.system.standing("acme", "boss").place != first


def test_data_from_before_registration_stay_with_their_owner(serve: Callable[..., Any], place: Path) -> None:
    with OpenViking(place, account="default", user="me", workers=0) as ov:
        ov.write(NOTE, "mine from the beginning", "create")
    server = serve()
    me = server.who(server.account("default", "me"))
    assert server.content.read(me, NOTE) == "mine from the beginning"
    with OpenViking(place, account="default", user="me", workers=0) as ov:
        ov.write(NOTE, "changed by the embedded door")
        assert server.content.read(me, NOTE) == "changed by the embedded door"
        server.tenancy.admin.delete_account(ROOT, "default")
        with pytest.raises(NotFoundError):
            ov.read(NOTE)
    again = server.who(server.account("default", "me"))
    with OpenViking(place, account="default", user="me", workers=0) as ov:
        server.content.write(again, NOTE, "of the second account", "create")
        assert ov.read(NOTE) == "of the second account"


def test_without_registration_there_is_no_account(server: Any, serve: Callable[..., Any]) -> None:
    stranger = Identity("nowhere", "alice", "root")
    with pytest.raises(NotFoundError):
        server.content.write(stranger, NOTE, "x", "create")
    assert serve(mode="dev").content.write(stranger, NOTE, "x", "create")["written_bytes"] == 1


def test_what_is_being_deleted_can_only_be_looked_at(server: Any) -> None:
    admin = server.tenancy.admin
    server.account("acme")
    server.user("acme", "alice")
    begun = admin.delete_user(ROOT, "acme", "alice")
    assert {**begun, "task_id": ""} == {
        "account_id": "acme", "user_id": "alice", "status": "deleting", "task_id": "",
    }  # fmt: skip
    assert admin.delete_user(ROOT, "acme", "alice") == begun
    assert admin.user(ROOT, "acme", "alice")["status"] == "deleting"
    assert admin.account(ROOT, "acme")["user_count"] == 1
    refused: tuple[Callable[[], Any], ...] = (
        lambda: admin.regenerate_key(ROOT, "acme", "alice"),
        lambda: admin.set_role(ROOT, "acme", "alice", "admin"),
        lambda: admin.register_user(ROOT, "acme", "alice"),
        lambda: admin.change_user_settings(ROOT, "acme", "alice", {"memory_policy": None}),
    )
    for ask in refused:
        with pytest.raises(FailedPreconditionError):
            ask()
    server.work("acme")
    with pytest.raises(NotFoundError):
        admin.user(ROOT, "acme", "alice")
    assert server.who(server.user("acme", "alice")).user == "alice"


@pytest.mark.cpu_budget(8)
def test_another_process_sees_every_change_at_once(server: Any, start: Callable[..., Any]) -> None:
    other = start()
    key = other.call("root", "admin.create_account", "acme", "boss")["user_key"]
    boss = server.who(key)
    server.content.write(boss, NOTE, "zorblax", "create")
    assert other.call(key, "content.read", NOTE) == "zorblax"
    new = server.tenancy.admin.regenerate_key(boss, "acme", "boss")["user_key"]
    assert other.call(key, "content.read", NOTE) == "UNAUTHENTICATED"
    assert other.call(new, "content.read", NOTE) == "zorblax"
    alice = server.user("acme", "alice")
    assert other.call(alice, "content.write", NOTE, "of alice", "create")["written_bytes"] == 8
    server.tenancy.admin.delete_user(ROOT, "acme", "alice")
    assert other.call(alice, "content.read", NOTE) == "FAILED_PRECONDITION"
    server.tenancy.admin.delete_account(ROOT, "acme")
    assert other.call(new, "content.read", NOTE) == "UNAUTHENTICATED"
    again = server.account("acme")
    # The other process still has the database of the first account open.
    assert other.call(again, "content.read", NOTE) == "NOT_FOUND"
    assert other.call(again, "content.write", NOTE, "second", "create")["written_bytes"] == 6
    assert server.content.read(server.who(again), NOTE) == "second"
    assert server.tenancy.accounts.of("acme").check() == []
