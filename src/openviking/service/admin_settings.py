"""Settings of accounts and users: what there is, and what a change may hold."""

from __future__ import annotations

import json
from typing import Any, Final

from openviking.errors import InvalidArgumentError, UnimplementedError
from openviking.store.system import Settings
from openviking.text import quoted

MAX_CHARS: Final = 64 * 1024
"""Characters of JSON that the settings of one account or user may have."""

_EVOLUTION: Final = "agent_evolution"
_DEFAULTS: Final[Settings] = {_EVOLUTION: {"enabled": False}}


def account_view(account: str, overrides: Settings) -> dict[str, Any]:
    """The settings of an account with the defaults of what was not changed."""
    settings = {name: {**default, **overrides.get(name, {})} for name, default in _DEFAULTS.items()}
    return {"account_id": account, "settings": settings, "overrides": overrides}


def changed_account(old: Settings, change: object) -> Settings:
    """An account's settings after ``change``.

    Raises `InvalidArgumentError`, `UnimplementedError` for access lists and for what nothing acts on.
    """
    given = checked_object("settings", change)
    if given.get("acl") is not None:
        raise UnimplementedError("Access lists are not part of this version", field="acl")
    unknown = sorted(set(given) - {_EVOLUTION, "acl"})
    if unknown:
        raise InvalidArgumentError(f"Unknown setting {quoted(unknown[0])}; known is {_EVOLUTION}", field=unknown[0])
    evolution = given.get(_EVOLUTION)
    if evolution is None:
        return old
    enabled = checked_object(_EVOLUTION, evolution).get("enabled")
    if set(evolution) - {"enabled"} or not isinstance(enabled, bool):
        raise InvalidArgumentError(
            f'{_EVOLUTION} must be {{"enabled": true}} or false, not {quoted(evolution)}', field=_EVOLUTION
        )
    if enabled:
        raise UnimplementedError("Agent evolution is not part of this version: it can only be off", field=_EVOLUTION)
    return {**old, _EVOLUTION: {"enabled": False}}


def changed_user(old: Settings, change: object) -> Settings:
    """A user's settings after ``change``; raises `InvalidArgumentError`."""
    given = checked_object("settings", change)
    unknown = sorted(set(given) - {"memory_policy"})
    if unknown or "memory_policy" not in given:
        raise InvalidArgumentError(
            f"A change of a user's settings has memory_policy alone, not {quoted(sorted(given))}", field="memory_policy"
        )
    policy = given["memory_policy"]
    return {**old, "memory_policy": None if policy is None else checked_object("memory_policy", policy)}


def checked_object(field: str, value: object) -> Settings:
    """``value`` as a JSON object of bearable size; raises `InvalidArgumentError`."""
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise InvalidArgumentError(f"{field} must be an object, not {quoted(value)}", field=field)
    try:
        size = len(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{field} is no JSON: {error}", field=field) from error
    if size > MAX_CHARS:
        raise InvalidArgumentError(f"{field} has {size} characters, at most {MAX_CHARS} are allowed", field=field)
    return value
