"""Accounts, their users and what is kept of a user's key, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from openviking.errors import InvalidArgumentError
from openviking.model.identity import Role
from openviking.text import quoted
from openviking.uri import is_identifier

MAX_ID_CHARS: Final = 128
"""Characters of the id of an account or user: it becomes a name in a file system and a segment of addresses."""

KeyForm = Literal["plain", "sha256", "scrypt"]
"""How a key is kept: as it is, or as the hash of its secret; by scrypt where the secret was made from a seed."""


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """What is kept of a key: ``value`` is its text (plain) or a hash of its secret, ``prefix`` may be shown."""

    form: KeyForm
    salt: bytes = field(repr=False)
    value: bytes = field(repr=False)
    prefix: str


@dataclass(frozen=True, slots=True)
class Account:
    """A registered account; ``number`` is never given again, ``users`` counts those who are not being deleted."""

    number: int
    id: str
    created_at: int
    users: int
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class User:
    """A user of an account; ``number`` tells this one from an earlier and a later one of the same id.

    ``deletion`` is the id of the task that removes the user's data, None for a user who is to stay.
    """

    number: int
    account: str
    id: str
    role: Role
    created_at: int
    settings: dict[str, Any]
    key: KeyRecord | None
    deletion: str | None


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user who is to be registered."""

    id: str
    role: Role
    key: KeyRecord
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """What an account and a user are at this moment: their numbers (None: not registered), and where the data lie."""

    place: str
    account: int | None
    user: int | None
    deletion: str | None


def checked_account_id(value: object) -> str:
    """``value`` as the id of an account; raises `InvalidArgumentError` for anything else (contract/core.md §1.6)."""
    text = _checked("account_id", value)
    if text.startswith("_"):
        raise InvalidArgumentError(f"account_id {quoted(text)} may not start with '_'", field="account_id")
    return text


def checked_user_id(value: object) -> str:
    """``value`` as the id of a user; raises `InvalidArgumentError` for anything else (contract/core.md §1.6)."""
    return _checked("user_id", value)


def _checked(field_name: str, value: object) -> str:
    if not isinstance(value, str) or not is_identifier(value):
        raise InvalidArgumentError(
            f"{field_name} {quoted(value)} is not valid: letters, digits and _ . @ - only, at most one @",
            field=field_name,
        )
    if len(value) > MAX_ID_CHARS:
        raise InvalidArgumentError(
            f"{field_name} has {len(value)} characters, at most {MAX_ID_CHARS} are allowed", field=field_name
        )
    return value
