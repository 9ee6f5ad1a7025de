"""Where a memory lies: its type, name and partner as a path (contract/core.md §3.7)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from openviking.errors import OpenVikingError
from openviking.model.memory import ALONE, Draft
from openviking.model.session import MEMORY_TYPES, OFF_MEMORY_TYPES
from openviking.names import fit_name, kept_name, root_name
from openviking.store.batch import Operation, Remove
from openviking.uri import is_identifier, parse

GENERAL: Final = "general"
"""The category of an entity that names none."""

MAX_NAMESAKES: Final = 100
"""Different memories that may want one name; of more, one takes a name made of its text."""

_DAY: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


def memories_root(user: str, peer: str = "") -> str:
    """The directory of the memories of a user, or of what that user knows of a partner."""
    return f"user/{user}/peers/{peer}/memories" if peer else f"user/{user}/memories"


def places(user: str, draft: Draft) -> Iterator[str]:
    """The paths that ``draft`` may have, in the order in which they are tried; one alone for a type that is one file.

    Names are made fit for a new node; nothing in a draft leads out of the directory of its type.
    """
    root = memories_root(user, draft.peer)
    if draft.type in ALONE:
        yield f"{root}/{draft.type}.md"
        return
    directory = "/".join((root, draft.type, *_between(draft)))
    stem = _name(draft.name) or _name(root_name(draft.topic or draft.body[:60]))
    yield f"{directory}/{fit_name(f'{stem}.md')}"
    for number in range(2, MAX_NAMESAKES):
        yield f"{directory}/{fit_name(f'{stem}-{number}.md')}"
    digest = hashlib.sha256(f"{draft.topic}\n{draft.body}".encode()).hexdigest()
    yield f"{directory}/{digest[:32]}.md"


def is_memory(user: str, path: str) -> bool:
    """Whether ``path`` may be that of a memory of ``user`` or of one of the user's partners."""
    parts = path.split("/")
    if parts[:2] != ["user", user] or not all(parts):
        return False
    rest = parts[2:]
    if rest[:1] == ["peers"]:
        if len(rest) < 2 or not is_identifier(rest[1]):
            return False
        rest = rest[2:]
    return rest[:1] == ["memories"] and len(rest) > 1 and rest[-1].endswith(".md") and not rest[-1].startswith(".")


def emptied(paths: Sequence[str]) -> list[Operation]:
    """Removes the directories of days that hold no event any more once those at ``paths`` are gone."""
    days = {above: None for path in paths if type_of(path) == "events" for above in _days_above(path)}
    return [Remove(one, only_empty=True) for one in sorted(days, key=len, reverse=True)]


def _days_above(path: str) -> list[str]:
    above, directories = path.rpartition("/")[0], []
    while above.rpartition("/")[2].isdigit():
        directories.append(above)
        above = above.rpartition("/")[0]
    return directories


def memory_path(user: str, uri: str) -> str | None:
    """The path of the memory of ``user`` that ``uri``, which anybody may have written, names; None if it names none."""
    try:
        path = parse(uri, user=user, today=datetime.now(tz=UTC).date()).path
    except OpenVikingError:
        return None
    return path if is_memory(user, path) else None


def type_of(path: str) -> str:
    """The type of the memory at ``path``, by the directory or name that it has below ``memories``; "" if that is none."""
    _, _, below = path.partition("/memories/")
    first = below.split("/")[0].removesuffix(".md")
    return first if first in (*MEMORY_TYPES, *OFF_MEMORY_TYPES) else ""


def peer_of(path: str) -> str:
    """Whose memory lies at ``path``: the id of a partner, "" for the user's own."""
    parts = path.split("/")
    return parts[3] if parts[2:3] == ["peers"] and len(parts) > 4 else ""


def _between(draft: Draft) -> tuple[str, ...]:
    """The directories between that of the type and the file."""
    if draft.type == "entities":
        return (_name(draft.category) or GENERAL,)
    if draft.type == "events" and (found := _DAY.fullmatch(draft.day)):
        return found.groups()
    return ()


def _name(text: str) -> str:
    words = "-".join(text.split())
    return kept_name(words).strip("._-") if words else ""
