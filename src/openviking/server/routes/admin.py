"""Accounts, users and keys over HTTP (contract/core.md §3.10)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from openviking.model.listing import Listing
from openviking.server.bodies import Lenient, Strict
from openviking.server.edge import Caller
from openviking.server.envelope import Json, success

router = APIRouter(prefix="/api/v1/admin", tags=["admin"])


def _listed(found: Listing) -> Json:
    return success(list(found), beside={"has_more": found.has_more, "total": found.total})


class NewAccount(Lenient):
    """An account with its first user, an admin."""

    account_id: str
    admin_user_id: str
    seed: str | None = None
    user_config: dict[str, Any] | None = None
    settings: dict[str, Any] | None = None


@router.post("/accounts")
async def create_account(edge: Caller, body: NewAccount) -> Json:
    """Register an account; the key of its admin is told this once."""
    return await edge.answer(
        lambda: edge.services.admin.create_account(
            edge.caller, body.account_id, body.admin_user_id, seed=body.seed, user_config=body.user_config,
            settings=body.settings,
        )
    )  # fmt: skip


@router.get("/accounts")
async def accounts(
    edge: Caller, name: str | None = None, limit: int | None = None, page: int = 1, query: str | None = None
) -> Json:
    """Accounts by id; ``name`` is a pattern for the id, ``query`` a part of it."""
    call = lambda: edge.services.admin.accounts(edge.caller, name=name, query=query, limit=limit, page=page)  # noqa: E731
    return _listed(await edge.call(call))


@router.get("/accounts/{account_id}")
async def account(edge: Caller, account_id: str) -> Json:
    """One account."""
    return await edge.answer(lambda: edge.services.admin.account(edge.caller, account_id))


@router.delete("/accounts/{account_id}")
async def delete_account(edge: Caller, account_id: str) -> Json:
    """Remove an account with its users and all its data."""
    return await edge.answer(
        lambda: {"account_id": account_id, **edge.services.admin.delete_account(edge.caller, account_id)}
    )


@router.get("/accounts/{account_id}/settings")
async def account_settings(edge: Caller, account_id: str) -> Json:
    """The settings of an account, and which of them were changed."""
    return await edge.answer(lambda: edge.services.admin.account_settings(edge.caller, account_id))


class AccountSettings(Strict):
    """Settings to change; what is not named stays."""

    agent_evolution: dict[str, Any] | None = None
    acl: dict[str, Any] | None = None


@router.patch("/accounts/{account_id}/settings")
async def change_account_settings(edge: Caller, account_id: str, body: AccountSettings) -> Json:
    """Change settings of an account; access lists are not part of this version."""
    change = body.model_dump(exclude_none=True)
    return await edge.answer(lambda: edge.services.admin.change_account_settings(edge.caller, account_id, change))


class NewUser(Lenient):
    """A user to register."""

    user_id: str
    role: str = "user"
    seed: str | None = None
    user_config: dict[str, Any] | None = None


@router.post("/accounts/{account_id}/users")
async def register_user(edge: Caller, account_id: str, body: NewUser) -> Json:
    """Register a user; the key is told this once."""
    return await edge.answer(
        lambda: edge.services.admin.register_user(
            edge.caller, account_id, body.user_id, body.role, seed=body.seed, user_config=body.user_config
        )
    )


@router.get("/accounts/{account_id}/users")
async def users(
    edge: Caller,
    account_id: str,
    limit: int = 100,
    include_credentials: bool = True,
    name: str | None = None,
    role: str | None = None,
    page: int = 1,
    query: str | None = None,
    include_summary: bool = False,
) -> Json:
    """Users of an account by id, with the key or its prefix unless ``include_credentials`` is false.

    ``include_summary`` puts ``total`` into the result, which is an object then.
    """
    found = await edge.call(
        lambda: edge.services.admin.users(
            edge.caller, account_id, name=name, query=query, role=role, limit=limit, page=page
        )
    )
    listed = [one if include_credentials else _without_key(one) for one in found]
    if include_summary:
        return success({"users": listed, "total": found.total, "page": page, "limit": limit})
    return success(listed, beside={"has_more": found.has_more, "total": found.total})


def _without_key(user: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in user.items() if name not in {"api_key", "key_prefix"}}


@router.get("/accounts/{account_id}/users/{user_id}")
async def user(edge: Caller, account_id: str, user_id: str) -> Json:
    """One user, without the key."""
    return await edge.answer(lambda: edge.services.admin.user(edge.caller, account_id, user_id))


@router.delete("/accounts/{account_id}/users/{user_id}", status_code=202)
async def delete_user(edge: Caller, account_id: str, user_id: str) -> Json:
    """Begin to delete a user: the key stops at once, a task removes the data."""
    return await edge.answer(lambda: edge.services.admin.delete_user(edge.caller, account_id, user_id), status=202)


class Role(Lenient):
    """What a user becomes."""

    role: str


@router.put("/accounts/{account_id}/users/{user_id}/role")
async def set_role(edge: Caller, account_id: str, user_id: str, body: Role) -> Json:
    """Make a user an admin."""
    return await edge.answer(lambda: edge.services.admin.set_role(edge.caller, account_id, user_id, body.role))


class NewKey(Lenient):
    """What the key is made from; null: chance."""

    seed: str | None = None


@router.post("/accounts/{account_id}/users/{user_id}/key")
async def regenerate_key(edge: Caller, account_id: str, user_id: str, body: NewKey | None = None) -> Json:
    """Give a user a new key; the old one stops at once."""
    seed = None if body is None else body.seed
    return await edge.answer(lambda: edge.services.admin.regenerate_key(edge.caller, account_id, user_id, seed=seed))


@router.get("/accounts/{account_id}/users/{user_id}/settings")
async def user_settings(edge: Caller, account_id: str, user_id: str) -> Json:
    """The settings of a user."""
    return await edge.answer(lambda: edge.services.admin.user_settings(edge.caller, account_id, user_id))


class UserSettings(Strict):
    """Settings to change."""

    memory_policy: dict[str, Any] | None


@router.patch("/accounts/{account_id}/users/{user_id}/settings")
async def change_user_settings(edge: Caller, account_id: str, user_id: str, body: UserSettings) -> Json:
    """Change settings of a user."""
    change = {"memory_policy": body.memory_policy}
    return await edge.answer(lambda: edge.services.admin.change_user_settings(edge.caller, account_id, user_id, change))


class Evolution(Lenient):
    """Whether agents learn from each other in the caller's account."""

    enabled: bool


@router.get("/agent-evolution")
async def agent_evolution(edge: Caller, account_id: str | None = None) -> Json:
    """Whether agents learn from each other in the caller's account (``account_id`` for the root key)."""
    account = account_id or edge.caller.account
    return await edge.answer(lambda: _evolution(edge.services.admin.account_settings(edge.caller, account)))


@router.put("/agent-evolution")
async def set_agent_evolution(edge: Caller, body: Evolution, account_id: str | None = None) -> Json:
    """Switch it; nothing in this version acts on it when it is on, so it can only be switched off."""
    account = account_id or edge.caller.account
    change = {"agent_evolution": {"enabled": body.enabled}}
    return await edge.answer(
        lambda: _evolution(edge.services.admin.change_account_settings(edge.caller, account, change))
    )


def _evolution(view: dict[str, Any]) -> dict[str, Any]:
    return {"enabled": view["settings"]["agent_evolution"]["enabled"], "account_id": view["account_id"]}
