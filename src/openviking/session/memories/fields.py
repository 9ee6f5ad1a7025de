"""What a memory file notes behind its text, out of readers' sight: one comment that holds JSON (contract/core.md §3.7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from openviking.index.hidden_fields import FIELDS, visible

MAX_SOURCES: Final = 50
MAX_HISTORY: Final = 5
MAX_CHARS: Final = 500
"""Characters of an older statement, of a quote and of a topic that are kept."""

MAX_TEXT: Final = 2_000
"""Characters of a field that are read: anybody may have written it."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Where a memory comes from: its type, what it is about, the archive and the ids of the messages that say it.

    ``sources`` are the newest, ``quote`` what one of them says word for word, ``said_at`` when they did and ``day`` the
    date of that (``YYYY-MM-DD``). ``history`` holds what it said before, the newest
    first, each with its ``day``, ``text`` and ``said_at``. Moments are ISO 8601. ``digest`` is that of the visible text
    as it was left, by which an edit of somebody else is known; its last ``own`` characters are somebody's own words.
    """

    memory_type: str
    topic: str = ""
    archive_uri: str = ""
    sources: tuple[str, ...] = ()
    quote: str = ""
    day: str = ""
    said_at: str = ""
    created_at: str = ""
    updated_at: str = ""
    digest: str = ""
    own: int = 0
    history: tuple[Mapping[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON holds them."""
        return {
            "memory_type": self.memory_type,
            "topic": self.topic[:MAX_CHARS],
            "archive_uri": self.archive_uri,
            "sources": list(self.sources[-MAX_SOURCES:]),
            "quote": self.quote[:MAX_CHARS],
            "day": self.day,
            "said_at": self.said_at,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "digest": self.digest,
            "own": self.own,
            "history": [dict(one) for one in self.history[:MAX_HISTORY]],
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Fields:
        """The fields in ``told``; of what is no text or list, which anybody may have written, nothing is taken."""
        texts = {name: told[name][:MAX_TEXT] for name in _TEXTS if isinstance(told.get(name), str)}
        own = told.get("own")
        listed = {name: told[name] for name in ("sources", "history") if isinstance(told.get(name), list)}
        return cls(
            texts.pop("memory_type", ""),
            **texts,
            own=own if isinstance(own, int) and own > 0 else 0,
            sources=tuple(one for one in listed.get("sources", ())[-MAX_SOURCES:] if isinstance(one, str)),
            history=tuple(
                {name: str(one.get(name, ""))[:MAX_CHARS] for name in ("day", "text", "said_at")}
                for one in listed.get("history", ())[:MAX_HISTORY]
                if isinstance(one, dict)
            ),
        )


_TEXTS: Final = ("memory_type", "topic", "archive_uri", "quote", "day", "said_at", "created_at", "updated_at", "digest")


def harmless(body: str) -> str:
    """``body`` as a file holds it: words of somebody pass for no fields, nor does white space end it."""
    return body.replace(FIELDS, FIELDS.lower()).rstrip()


def joined(body: str, fields: Fields | None) -> str:
    """The text of a memory file: what readers see, then its fields."""
    body = harmless(body)
    if fields is None:
        return f"{body}\n" if body else ""
    told = json.dumps(fields.to_dict(), ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
    return f"{body}\n\n{FIELDS} {told} -->\n"


def parted(text: str) -> tuple[str, Fields | None]:
    """What readers see of a memory file, without white space at its end, and its fields; None if there are none."""
    body = visible(text)
    if body == text:
        return text.rstrip(), None
    comment = text.rstrip()[len(body.rstrip()) :].strip()
    try:
        told = json.loads(comment.removeprefix(FIELDS).removesuffix("-->"))
    except (ValueError, RecursionError):
        told = None
    return body.rstrip(), Fields.from_dict(told) if isinstance(told, dict) else None
