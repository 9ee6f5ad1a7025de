"""Who may administer what (contract/core.md §1.8, §3.10)."""

from __future__ import annotations

from openviking.errors import PermissionDeniedError
from openviking.model.identity import Identity
from openviking.service.authentication import Mode


def check_keys(mode: Mode) -> None:
    """Raises `PermissionDeniedError` in dev mode, where there are no keys and no users to administer."""
    if mode == "dev":
        raise PermissionDeniedError("In dev mode there are no accounts to administer: set server.root_api_key")


def check_root(identity: Identity) -> None:
    """Raises `PermissionDeniedError` unless the caller administers all accounts."""
    if identity.role != "root":
        raise PermissionDeniedError("Only the root key may do this")


def check_administers(identity: Identity, account: str) -> None:
    """Raises `PermissionDeniedError` unless the caller administers ``account``, whether it exists or not."""
    if identity.role == "root" or (identity.role == "admin" and identity.account == account):
        return
    raise PermissionDeniedError(f"Access denied: only the root key and admins of {account} may do this")
