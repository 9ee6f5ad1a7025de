"""Who is calling, from what a request says: the modes dev, api_key and trusted as rules (contract/core.md §1.4–1.8).

Nothing is read or written here; who owns a key is asked of a `Directory`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, cast

from openviking.errors import InvalidArgumentError, OpenVikingError, PermissionDeniedError, UnauthenticatedError
from openviking.model.identity import Identity, Role
from openviking.service.keys import same_secret
from openviking.text import quoted
from openviking.uri import is_identifier

Mode = Literal["dev", "api_key", "trusted"]

KEY: Final = "x-api-key"
AUTHORIZATION: Final = "authorization"
ACCOUNT: Final = "x-openviking-account"
USER: Final = "x-openviking-user"
ROLE: Final = "x-openviking-role"
PEER: Final = "x-openviking-actor-peer"

ADMIN: Final = "/api/v1/admin"
ROOT_PREFIXES: Final = (
    ADMIN, "/api/v1/observer", "/api/v1/console", "/api/v1/tasks", "/api/v1/system/status", "/api/v1/system/wait",
    "/api/v1/system/backend", "/api/v1/system/sync", "/api/v1/debug/health",
)  # fmt: skip
"""What the root key may call where users have keys of their own: control, and nobody's data."""

_PUBLIC: Final = frozenset(
    {"/health", "/ready", "/metrics", "/docs", "/docs/oauth2-redirect", "/redoc", "/openapi.json"}
)
_NO_PEER: Final = "/api/v1/sessions"
_CANCEL = re.compile(r"/api/v1/tasks/[^/]+/cancel/?")
_NAMED = re.compile(r"/api/v1/admin/accounts/([^/]+)(?:/users/([^/]+))?(?:/.*)?")


class Directory(Protocol):
    """Who owns which key; `openviking.service.keys.Keys` is one."""

    def identify(self, text: str) -> Identity:
        """The owner of a key; raises `UnauthenticatedError`, `FailedPreconditionError` for one who is being deleted."""
        ...

    def role(self, account: str, user: str) -> Role | None:
        """The role of a registered user, None for anybody else."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """How callers are told apart; ``loopback`` says that only this machine can reach the server."""

    mode: Mode
    root_key: str | None = field(repr=False)
    loopback: bool
    default_account: str = "default"
    default_user: str = "default"

    @classmethod
    def of(
        cls,
        mode: str | None,
        root_key: str | None,
        host: str,
        *,
        default_account: str = "default",
        default_user: str = "default",
    ) -> Rules:
        """The rules for a server bound to ``host``; without ``mode`` a root key means api_key, none means dev.

        Raises `InvalidArgumentError` for what must not be started: an empty root key, an unknown mode, and dev mode
        or trusted headers without a key where other machines can reach it.
        """
        if root_key is not None and not root_key.strip():
            raise InvalidArgumentError(
                "server.root_api_key is empty: set a key, or leave it out for dev mode on loopback",
                field="root_api_key",
            )
        chosen = mode or ("dev" if root_key is None else "api_key")
        if chosen not in {"dev", "api_key", "trusted"}:
            raise InvalidArgumentError(
                f"server.auth_mode {quoted(chosen)} is not known: dev, api_key or trusted", field="auth_mode"
            )
        loopback = is_loopback(host)
        if not loopback and (chosen == "dev" or (chosen == "trusted" and root_key is None)):
            raise InvalidArgumentError(
                f"{chosen} mode without a key is for loopback only, not for host {quoted(host)}: set server.root_api_key,"
                " or bind to 127.0.0.1",
                field="host",
                host=host,
            )
        return cls(cast("Mode", chosen), root_key, loopback, default_account, default_user)


@dataclass(frozen=True, slots=True)
class Call:
    """What of a request says who is calling: headers (names in any case) and query as pairs, repeated ones included."""

    method: str
    path: str
    headers: Sequence[tuple[str, str]]
    query: Sequence[tuple[str, str]] = ()

    def header(self, name: str) -> str:
        """The value of a header, "" without one; raises `InvalidArgumentError` if it is there twice.

        Who puts a gateway's header beside his own must not choose which of the two counts.
        """
        values = [value.strip() for key, value in self.headers if key.lower() == name]
        if len(values) > 1:
            raise InvalidArgumentError(f"The header {name} is there {len(values)} times", field=name)
        return values[0] if values else ""

    def key(self) -> str:
        """The key that was sent, "" without one; ``X-API-Key`` comes before ``Authorization: Bearer``."""
        if sent := self.header(KEY):
            return sent
        scheme, _, token = self.header(AUTHORIZATION).partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    def is_within(self, prefix: str) -> bool:
        """Whether the path is ``prefix`` or below it."""
        return self.path == prefix or self.path.startswith(prefix + "/")


def is_loopback(host: str) -> bool:
    """Whether a server bound to ``host`` is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_public(method: str, path: str) -> bool:
    """Whether a request needs no key (contract/core.md §1.7)."""
    webdav = method == "OPTIONS" and (path == "/webdav" or path.startswith("/webdav/"))
    return path in _PUBLIC or webdav or path.startswith("/.well-known/oauth-")


def authenticate(rules: Rules, call: Call, directory: Directory) -> Identity:
    """Who is calling.

    Raises `UnauthenticatedError` for a missing or wrong key, `PermissionDeniedError` for the root key where it may not
    go, `InvalidArgumentError` for headers that are missing, malformed or contradict the address,
    `FailedPreconditionError` for a user who is being deleted.
    """
    peer = _peer(call)
    by_mode = {"dev": _dev, "api_key": _api_key, "trusted": _trusted}
    identity = by_mode[rules.mode](rules, call, directory)
    return Identity(identity.account, identity.user, identity.role, peer, identity.registration)


def recognised(rules: Rules, call: Call, directory: Directory) -> Identity | None:
    """Who is calling, for what answers everybody and somebody more (``/health``); None for nobody that is known."""
    if rules.mode != "dev" and not call.key():
        return None
    try:
        if rules.mode == "api_key" and _is_root_key(rules, call.key()):
            return _root(rules)
        return authenticate(rules, call, directory)
    except OpenVikingError:
        return None


def _dev(rules: Rules, call: Call, _directory: Directory) -> Identity:
    return Identity(
        account=_account(call.header(ACCOUNT) or rules.default_account),
        user=_identifier(USER, call.header(USER) or rules.default_user),
        role="root",
    )


def _api_key(rules: Rules, call: Call, directory: Directory) -> Identity:
    key = _sent_key(call)
    if not _is_root_key(rules, key):
        return directory.identify(key)
    if not any(call.is_within(prefix) for prefix in ROOT_PREFIXES) or _CANCEL.fullmatch(call.path):
        raise PermissionDeniedError(
            "The root key may not touch the data of accounts: use the key of a user", resource=call.path
        )
    return _root(rules)


def _trusted(rules: Rules, call: Call, directory: Directory) -> Identity:
    with_key = _checked_gateway(rules, call)
    account, user, role = call.header(ACCOUNT), call.header(USER), call.header(ROLE)
    if role:
        if not with_key:
            raise InvalidArgumentError(f"{ROLE} is believed with the root key only", field=ROLE)
        if role not in {"user", "admin"}:
            raise InvalidArgumentError(f"{ROLE} must be user or admin, not {quoted(role)}", field=ROLE)
    administers = call.is_within(ADMIN)
    if administers and rules.root_key is not None and not with_key:
        raise UnauthenticatedError("Missing API key: the admin API needs the root key")
    if not administers:
        for name, value in ((ACCOUNT, account), (USER, user)):
            if not value:
                raise InvalidArgumentError(f"The header {name} is missing", field=name)
    if account:
        _account(account)
    if user:
        _identifier(USER, user)
    _check_address(call, account, user)
    if administers:
        return Identity(account or rules.default_account, user or rules.default_user, "root")
    return Identity(account, user, cast("Role", role) if role else directory.role(account, user) or "user")


def _checked_gateway(rules: Rules, call: Call) -> bool:
    """Whether the root key came along; a wrong one is refused, and none where other machines reach the server."""
    if rules.root_key is None:
        # There is nothing that a key could be compared with; `Rules.of` allows that on loopback only.
        return False
    key = call.key()
    if key and not _is_root_key(rules, key):
        raise UnauthenticatedError("Invalid API key")
    if not key and not rules.loopback:
        raise UnauthenticatedError(_MISSING)
    return bool(key)


def _check_address(call: Call, account: str, user: str) -> None:
    """Raises `InvalidArgumentError` where the address or the query names another account or user than the headers."""
    named = _NAMED.fullmatch(call.path)
    said = [("account_id", value) for value in ((named[1],) if named else ())]
    said += [("user_id", value) for value in ((named[2],) if named and named[2] else ())]
    said += [(name, value) for name, value in call.query if name in {"account_id", "user_id"}]
    for name, value in said:
        believed = account if name == "account_id" else user
        if believed and value != believed:
            raise InvalidArgumentError(
                f"{name} {quoted(value)} is not that of the headers, {quoted(believed)}", field=name
            )


_MISSING: Final = "Missing API key: send it as X-API-Key or as Authorization: Bearer"


def _sent_key(call: Call) -> str:
    key = call.key()
    if not key:
        raise UnauthenticatedError(_MISSING)
    return key


def _is_root_key(rules: Rules, key: str) -> bool:
    return rules.root_key is not None and same_secret(key, rules.root_key)


def _root(rules: Rules) -> Identity:
    return Identity(rules.default_account, rules.default_user, "root")


def _peer(call: Call) -> str | None:
    if call.is_within(_NO_PEER):
        return None
    peer = call.header(PEER)
    return _identifier(PEER, peer) if peer else None


def _account(value: str) -> str:
    if value.startswith("_"):
        raise InvalidArgumentError(f"{ACCOUNT} {quoted(value)} may not start with '_'", field=ACCOUNT)
    return _identifier(ACCOUNT, value)


def _identifier(name: str, value: str) -> str:
    if not is_identifier(value):
        raise InvalidArgumentError(
            f"{name} {quoted(value)} is not valid: letters, digits and _ . @ - only, at most one @", field=name
        )
    return value
