"""Accounts, users, keys and roles; for root keys and, within their account, for admins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from openviking_sdk.call import Call, a_list, an_object, given
from openviking_sdk.uri import segment

_ACCOUNTS = "/api/v1/admin/accounts"


def admin_create_account(
    account_id: str,
    admin_user_id: str,
    user_config: Mapping[str, Any] | None = None,
    *,
    seed: str | None = None,
) -> Call[dict[str, Any]]:
    """Make an account with its first admin: ``account_id``, ``admin_user_id``, ``user_key``.

    The key depends on ``seed`` alone if one is given. Raises `AlreadyExistsError`, `InvalidArgumentError`.
    """
    return Call(
        method="POST",
        path=_ACCOUNTS,
        body=given(
            account_id=account_id,
            admin_user_id=admin_user_id,
            seed=seed,
            user_config=None if user_config is None else dict(user_config),
        ),
        read=an_object,
    )


def admin_list_accounts(name: str | None = None, *, limit: int | None = None) -> Call[list[Any]]:
    """The accounts, each with ``account_id``, ``created_at``, ``user_count``."""
    return Call(
        method="GET",
        path=_ACCOUNTS,
        query=given(name=name, limit=limit),
        read=a_list,
        repeatable=True,
    )


def admin_get_account(account_id: str) -> Call[dict[str, Any]]:
    """One account: ``account_id``, ``user_count``, ``status``. Raises `NotFoundError`."""
    return Call(method="GET", path=_account(account_id), read=an_object, repeatable=True)


def admin_delete_account(account_id: str) -> Call[dict[str, Any]]:
    """Remove an account with its users and all their data. Raises `NotFoundError`."""
    return Call(method="DELETE", path=_account(account_id), read=an_object)


def admin_get_account_settings(account_id: str) -> Call[dict[str, Any]]:
    """``settings`` of an account, and ``overrides``, those that are its own."""
    return Call(method="GET", path=f"{_account(account_id)}/settings", read=an_object, repeatable=True)


def admin_register_user(
    account_id: str,
    user_id: str,
    role: Literal["user", "admin"] = "user",
    user_config: Mapping[str, Any] | None = None,
    *,
    seed: str | None = None,
) -> Call[dict[str, Any]]:
    """Make a user: ``account_id``, ``user_id``, ``user_key``. Raises `AlreadyExistsError`, `NotFoundError`."""
    return Call(
        method="POST",
        path=f"{_account(account_id)}/users",
        body=given(
            user_id=user_id, role=role, seed=seed, user_config=None if user_config is None else dict(user_config)
        ),
        read=an_object,
    )


def admin_list_users(
    account_id: str,
    limit: int | None = None,
    name: str | None = None,
    role: Literal["user", "admin"] | None = None,
) -> Call[list[Any]]:
    """The users of an account, at most ``limit`` (100), each with ``user_id`` and ``role``; ``name`` is a glob."""
    return Call(
        method="GET",
        path=f"{_account(account_id)}/users",
        query=given(limit=limit, name=name, role=role),
        read=a_list,
        repeatable=True,
    )


def admin_get_user(account_id: str, user_id: str) -> Call[dict[str, Any]]:
    """One user: ``user_id`` and ``role``. Raises `NotFoundError`."""
    return Call(method="GET", path=_user(account_id, user_id), read=an_object, repeatable=True)


def admin_remove_user(account_id: str, user_id: str) -> Call[dict[str, Any]]:
    """Remove a user: the key dies at once, the data with the task ``task_id``. Raises `NotFoundError`."""
    return Call(method="DELETE", path=_user(account_id, user_id), read=an_object)


def admin_set_role(account_id: str, user_id: str, role: Literal["user", "admin"]) -> Call[dict[str, Any]]:
    """Make a user an admin; ``account_id``, ``user_id``, ``role``. The other way is `InvalidArgumentError`."""
    return Call(method="PUT", path=f"{_user(account_id, user_id)}/role", body={"role": role}, read=an_object)


def admin_regenerate_key(account_id: str, user_id: str, seed: str | None = None) -> Call[dict[str, Any]]:
    """``user_key``, a new one; the old one is dead at once. Raises `NotFoundError`."""
    return Call(method="POST", path=f"{_user(account_id, user_id)}/key", body=given(seed=seed), read=an_object)


def _account(account_id: str) -> str:
    return f"{_ACCOUNTS}/{segment(account_id, 'account_id')}"


def _user(account_id: str, user_id: str) -> str:
    return f"{_account(account_id)}/users/{segment(user_id, 'user_id')}"
