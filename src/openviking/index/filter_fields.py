"""The fields of a record that a filter may name (contract/retrieval.md §2.1), and what kind of value each has."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final


class Field(Enum):
    """What a field holds."""

    PATH = "path"
    TEXT = "text"
    LABELS = "labels"
    NUMBER = "number"
    TIME = "time"
    ACCOUNT = "account"


FIELDS: Final[dict[str, Field]] = {
    "uri": Field.PATH,
    "context_type": Field.TEXT,
    "level": Field.NUMBER,
    "search_tags": Field.LABELS,
    "created_at": Field.TIME,
    "updated_at": Field.TIME,
    "active_count": Field.NUMBER,
    "name": Field.TEXT,
    "owner_user_id": Field.TEXT,
    "account_id": Field.ACCOUNT,
}

_NO_LISTS: Final = "access lists are not part of this version"
NOT_STORED: Final[dict[str, str]] = {
    "tags": "retrieval tags are in search_tags",
    "type": "no record has it; context_type tells what a record is",
    "md5": "contents are known by their SHA-256, which no filter takes",
    "acl_mode": _NO_LISTS,
    "acl_direct_grants": _NO_LISTS,
    "acl_inherited_grants": _NO_LISTS,
}
"""Fields that are documented elsewhere and not kept here, with what to do instead."""

_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}[0-9:.,+\-Zz]*)?")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def instant(text: str) -> int | None:
    """The milliseconds since 1970 of an ISO 8601 date or time, without a zone UTC; None if it is none."""
    if not _ISO.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return (moment - _EPOCH) // timedelta(milliseconds=1)
    except OverflowError:
        return None
