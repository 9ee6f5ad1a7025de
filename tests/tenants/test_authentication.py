"""Who is calling, in every mode: a table of requests and what becomes of them (contract/core.md §1.4–1.8)."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpenVikingError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from openviking.model.identity import Identity, Role
from openviking.service.authentication import Call, Mode, Rules, authenticate, is_loopback, is_public, recognised

ROOT_KEY = "root-secret"
ALICE = Identity("acme", "alice", "user", registration=7)
BOSS = Identity("acme", "boss", "admin", registration=8)

LS = "/api/v1/fs/ls"
ACCOUNTS = "/api/v1/admin/accounts"
AS_ALICE = {"X-OpenViking-Account": "acme", "X-OpenViking-User": "alice"}
WITH_ROOT = {"X-API-Key": ROOT_KEY}

UNKNOWN, DENIED, BAD, LATER = UnauthenticatedError, PermissionDeniedError, InvalidArgumentError, FailedPreconditionError


class Known:
    """A directory with two users and one who is being deleted."""

    def identify(self, text: str) -> Identity:
        if text == "leaving":
            raise FailedPreconditionError("The user is being deleted")
        found = {"alice-key": ALICE, "boss-key": BOSS}.get(text)
        if found is None:
            raise UnauthenticatedError("Invalid API key")
        return found

    def role(self, account: str, user: str) -> Role | None:
        return {("acme", "boss"): "admin", ("acme", "alice"): "user"}.get((account, user))  # type: ignore[return-value]


def rules(mode: Mode, key: str | None = ROOT_KEY, host: str = "127.0.0.1") -> Rules:
    return Rules.of(mode, key, host)


def outcome(settings: Rules, headers: dict[str, str] | list[tuple[str, str]], path: str = LS, query: Any = ()) -> Any:
    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    try:
        return authenticate(settings, Call("GET", path, pairs, query), Known())
    except OpenVikingError as error:
        return type(error)


def someone(account: str, user: str, role: Role, peer: str | None = None) -> Identity:
    return Identity(account, user, role, peer)


DEV = [
    ({}, someone("default", "default", "root")),
    (AS_ALICE, someone("acme", "alice", "root")),
    ({"X-OpenViking-User": "alice"}, someone("default", "alice", "root")),
    ({"X-API-Key": "whatever"}, someone("default", "default", "root")),
    ({"X-OpenViking-Role": "user"}, someone("default", "default", "root")),
    ({"X-OpenViking-Account": "_system"}, BAD),
    ({"X-OpenViking-Account": "a/b"}, BAD),
    ({"X-OpenViking-User": ".."}, BAD),
    ({"X-OpenViking-Actor-Peer": "carol"}, someone("default", "default", "root", "carol")),
    ({"X-OpenViking-Actor-Peer": "a/b"}, BAD),
    ({"X-OpenViking-Actor-Peer": "a\\b"}, BAD),
    ({"X-OpenViking-Actor-Peer": ""}, someone("default", "default", "root")),
]


@pytest.mark.parametrize(("headers", "expected"), DEV)
def test_dev_mode_takes_headers_and_gives_root(headers: dict[str, str], expected: Any) -> None:
    assert outcome(rules("dev", None), headers) == expected


API_KEY: list[tuple[Any, str, Any]] = [
    ({"X-API-Key": "alice-key"}, LS, ALICE),
    ({"x-api-key": " alice-key "}, LS, ALICE),
    ({"Authorization": "Bearer alice-key"}, LS, ALICE),
    ({"authorization": "bearer  alice-key"}, LS, ALICE),
    ({"X-API-Key": "alice-key", "Authorization": "Bearer boss-key"}, LS, ALICE),
    ({"X-API-Key": "", "Authorization": "Bearer boss-key"}, LS, BOSS),
    ({"X-API-Key": "wrong", "Authorization": "Bearer boss-key"}, LS, UNKNOWN),
    ({}, LS, UNKNOWN),
    ({"Authorization": "Bearer "}, LS, UNKNOWN),
    ({"Authorization": "Bearer"}, LS, UNKNOWN),
    ({"Authorization": "Basic alice-key"}, LS, UNKNOWN),
    ({"Authorization": "alice-key"}, LS, UNKNOWN),
    ({"X-API-Key": "wrong"}, LS, UNKNOWN),
    ({"X-API-Key": "leaving"}, LS, LATER),
    ([("X-API-Key", "alice-key"), ("x-api-key", "boss-key")], LS, BAD),
    # Who it is comes from the key alone.
    ({"X-API-Key": "alice-key", "X-OpenViking-Account": "evil", "X-OpenViking-User": "boss"}, LS, ALICE),
    ({"X-API-Key": "alice-key", "X-OpenViking-Role": "root"}, LS, ALICE),
    ({"X-API-Key": "alice-key"}, ACCOUNTS, ALICE),
    # The root key controls, and touches nobody's data.
    (WITH_ROOT, LS, DENIED),
    (WITH_ROOT, "/api/v1/search/find", DENIED),
    (WITH_ROOT, "/api/v1/sessions", DENIED),
    (WITH_ROOT, "/api/v1/system/consistency", DENIED),
    (WITH_ROOT, "/api/v1/debug/vector/scroll", DENIED),
    (WITH_ROOT, "/api/v1/administrators", DENIED),
    (WITH_ROOT, "/api/v1/tasks/abc/cancel", DENIED),
    (WITH_ROOT, "/api/v1/tasks/abc/cancel/", DENIED),
    (WITH_ROOT, "/api/v1/tasks", someone("default", "default", "root")),
    (WITH_ROOT, "/api/v1/tasks/abc", someone("default", "default", "root")),
    (WITH_ROOT, ACCOUNTS, someone("default", "default", "root")),
    (WITH_ROOT, ACCOUNTS + "/a/users/b/key", someone("default", "default", "root")),
    (WITH_ROOT, "/api/v1/observer/system", someone("default", "default", "root")),
    (WITH_ROOT, "/api/v1/console/x", someone("default", "default", "root")),
    (WITH_ROOT, "/api/v1/system/status", someone("default", "default", "root")),
    (WITH_ROOT, "/api/v1/system/wait", someone("default", "default", "root")),
    (WITH_ROOT, "/api/v1/system/backend/sync-status", someone("default", "default", "root")),
    (WITH_ROOT, "/api/v1/system/sync/x/retry", someone("default", "default", "root")),
    (WITH_ROOT, "/api/v1/debug/health", someone("default", "default", "root")),
    ({"X-API-Key": ROOT_KEY + " x"}, ACCOUNTS, UNKNOWN),
    ({"X-API-Key": ROOT_KEY[:-1]}, ACCOUNTS, UNKNOWN),
    # The view of one peer.
    ({"X-API-Key": "alice-key", "X-OpenViking-Actor-Peer": "carol"}, LS, Identity("acme", "alice", "user", "carol", 7)),
    ({"X-API-Key": "alice-key", "X-OpenViking-Actor-Peer": "../x"}, LS, BAD),
    ({"X-API-Key": "alice-key", "X-OpenViking-Actor-Peer": "../x"}, "/api/v1/sessions/s/messages", ALICE),
    ({"X-API-Key": "alice-key", "X-OpenViking-Actor-Peer": "carol"}, "/api/v1/sessions", ALICE),
    ([*AS_ALICE.items(), ("X-API-Key", "alice-key"), ("X-OpenViking-Actor-Peer", "a"),
      ("X-OpenViking-Actor-Peer", "b")], LS, BAD),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "path", "expected"), API_KEY)
def test_with_keys_the_key_alone_tells_who_it_is(headers: Any, path: str, expected: Any) -> None:
    assert outcome(rules("api_key"), headers, path) == expected


TRUSTED: list[tuple[Any, str, Any, Any]] = [
    ({**AS_ALICE, **WITH_ROOT}, LS, (), someone("acme", "alice", "user")),
    ({**AS_ALICE, **WITH_ROOT, "X-OpenViking-User": "boss"}, LS, (), someone("acme", "boss", "admin")),
    ({**AS_ALICE, **WITH_ROOT, "X-OpenViking-User": "newcomer"}, LS, (), someone("acme", "newcomer", "user")),
    ({**AS_ALICE, **WITH_ROOT, "X-OpenViking-Role": "admin"}, LS, (), someone("acme", "alice", "admin")),
    ({**AS_ALICE, **WITH_ROOT, "X-OpenViking-Role": "root"}, LS, (), BAD),
    ({**AS_ALICE, **WITH_ROOT, "X-OpenViking-Role": "king"}, LS, (), BAD),
    (AS_ALICE, LS, (), UNKNOWN),
    ({**AS_ALICE, "X-API-Key": "alice-key"}, LS, (), UNKNOWN),
    (WITH_ROOT, LS, (), BAD),
    ({**WITH_ROOT, "X-OpenViking-Account": "acme"}, LS, (), BAD),
    ({**WITH_ROOT, "X-OpenViking-User": "alice"}, LS, (), BAD),
    ({**AS_ALICE, **WITH_ROOT, "X-OpenViking-Account": "_x"}, LS, (), BAD),
    ([*AS_ALICE.items(), *WITH_ROOT.items(), ("x-openviking-user", "boss")], LS, (), BAD),
    ({**AS_ALICE, **WITH_ROOT}, LS, [("account_id", "acme"), ("user_id", "alice")], someone("acme", "alice", "user")),
    ({**AS_ALICE, **WITH_ROOT}, LS, [("account_id", "other")], BAD),
    ({**AS_ALICE, **WITH_ROOT}, LS, [("user_id", "bob")], BAD),
    (WITH_ROOT, ACCOUNTS, (), someone("default", "default", "root")),
    ({**AS_ALICE, **WITH_ROOT}, ACCOUNTS, (), someone("acme", "alice", "root")),
    ({**AS_ALICE, **WITH_ROOT}, ACCOUNTS + "/acme/users/alice", (), someone("acme", "alice", "root")),
    ({**AS_ALICE, **WITH_ROOT}, ACCOUNTS + "/other", (), BAD),
    ({**AS_ALICE, **WITH_ROOT}, ACCOUNTS + "/acme/users/bob/key", (), BAD),
    (AS_ALICE, ACCOUNTS, (), UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "path", "query", "expected"), TRUSTED)
def test_trusted_headers_count_with_the_root_key(headers: Any, path: str, query: Any, expected: Any) -> None:
    assert outcome(rules("trusted", host="0.0.0.0"), headers, path, query) == expected


ON_LOOPBACK: list[tuple[str | None, Any, str, Any]] = [
    (None, AS_ALICE, LS, someone("acme", "alice", "user")),
    (None, {**AS_ALICE, "X-API-Key": "whatever"}, LS, someone("acme", "alice", "user")),
    (None, {**AS_ALICE, "X-OpenViking-Role": "admin"}, LS, BAD),
    (None, {}, ACCOUNTS, someone("default", "default", "root")),
    (ROOT_KEY, AS_ALICE, LS, someone("acme", "alice", "user")),
    (ROOT_KEY, {**AS_ALICE, "X-OpenViking-Role": "admin"}, LS, BAD),
    (ROOT_KEY, {**AS_ALICE, "X-API-Key": "wrong"}, LS, UNKNOWN),
    (ROOT_KEY, AS_ALICE, ACCOUNTS, UNKNOWN),
    (ROOT_KEY, {**AS_ALICE, **WITH_ROOT}, ACCOUNTS, someone("acme", "alice", "root")),
]


@pytest.mark.parametrize(("key", "headers", "path", "expected"), ON_LOOPBACK)
def test_trusted_headers_on_loopback(key: str | None, headers: Any, path: str, expected: Any) -> None:
    assert outcome(rules("trusted", key), headers, path) == expected


@pytest.mark.parametrize(
    ("mode", "key", "host", "expected"),
    [
        (None, None, "127.0.0.1", "dev"),
        (None, None, "localhost", "dev"),
        (None, None, "::1", "dev"),
        (None, "k", "0.0.0.0", "api_key"),
        ("dev", "k", "127.0.0.1", "dev"),
        ("api_key", None, "0.0.0.0", "api_key"),
        ("trusted", None, "127.0.0.1", "trusted"),
        ("trusted", "k", "0.0.0.0", "trusted"),
        (None, None, "0.0.0.0", None),
        (None, None, "::", None),
        (None, None, "", None),
        (None, None, "192.168.1.4", None),
        (None, None, "localhost.evil.example", None),
        ("dev", "k", "0.0.0.0", None),
        ("trusted", None, "0.0.0.0", None),
        ("ldap", "k", "127.0.0.1", None),
        (None, "", "127.0.0.1", None),
        (None, "  ", "127.0.0.1", None),
    ],
)
def test_what_may_be_started(mode: str | None, key: str | None, host: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(InvalidArgumentError):
            Rules.of(mode, key, host)
    else:
        chosen = Rules.of(mode, key, host)
        assert (chosen.mode, chosen.loopback) == (expected, is_loopback(host))
        assert "root-secret" not in repr(rules("api_key"))


def test_health_names_only_those_it_knows() -> None:
    def seen(settings: Rules, headers: dict[str, str]) -> Identity | None:
        return recognised(settings, Call("GET", "/health", list(headers.items())), Known())

    assert seen(rules("api_key"), {"X-API-Key": "alice-key"}) == ALICE
    assert seen(rules("api_key"), WITH_ROOT) == someone("default", "default", "root")
    assert seen(rules("api_key"), {"X-API-Key": "wrong"}) is None
    assert seen(rules("api_key"), {"X-API-Key": "leaving"}) is None
    assert seen(rules("api_key"), {}) is None
    assert seen(rules("trusted"), AS_ALICE) is None
    assert seen(rules("dev", None), {}) == someone("default", "default", "root")


def test_what_needs_no_key() -> None:
    for path in ("/health", "/ready", "/metrics", "/docs", "/openapi.json", "/.well-known/oauth-protected-resource"):
        assert is_public("GET", path)
    assert is_public("OPTIONS", "/webdav/resources/a.md")
    for method, path in (
        ("GET", "/webdav/resources"),
        ("OPTIONS", LS),
        ("GET", "/healthy"),
        ("GET", "/docs/x"),
        ("GET", "/"),
    ):
        assert not is_public(method, path)


def test_a_configured_default_is_who_calls_without_headers() -> None:
    settings = Rules.of(None, None, "127.0.0.1", default_account="team", default_user="me")
    assert outcome(settings, {}) == someone("team", "me", "root")
