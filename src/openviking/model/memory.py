"""A memory that a conversation gives, before it is compared with what is already known (contract/core.md §3.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

ALONE: Final = ("profile", "identity", "soul")
"""Types that are one file each, directly below ``memories/``."""

ChangeKind = Literal["add", "update", "delete"]


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be remembered.

    ``type`` is one of `model.session.MEMORY_TYPES`. ``name`` is the stem of its file, "" for the types that are
    `ALONE`; ``category`` is the directory of an entity. ``body`` is what readers see, Markdown. ``sources`` are the ids
    of the messages that say it, ``quote`` what one of them says word for word. ``topic`` names what it is about: a
    later draft of the same type, peer and topic takes its place. ``peer`` is whose memory it is, "" for the user's own.
    ``day`` is ``YYYY-MM-DD``, when it was said. ``ends`` is what a draft that something is over takes back: it changes only a
    memory that still says that.
    """

    type: str
    name: str
    body: str
    sources: tuple[str, ...]
    category: str = ""
    topic: str = ""
    peer: str = ""
    quote: str = ""
    day: str = ""
    ends: str = ""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One change that a commit made: ``before`` and ``after`` are the visible bodies, None where there is none."""

    kind: ChangeKind
    type: str
    uri: str
    sources: tuple[str, ...]
    before: str | None = None
    after: str | None = None
