"""Remembers what a session was served, so that it is not served again for some turns (contract/retrieval.md §5.11).

The ledger is a JSON text beside the session's messages. Its owner may put anything there: what can't be read is no
ledger, and never an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from openviking.context.assembly import Entry
from openviking.context.tiers import TIERS, Tier

FILE: Final = ".recall_log.json"
VERSION: Final = 1
MOST_RECORDS: Final = 500
KEPT_WINDOWS: Final = 4
"""For how many windows a record is kept."""

MOST_CHARS: Final = 4 << 20
MOST_TURNS: Final = 1 << 53


@dataclass(frozen=True, slots=True)
class Served:
    """When something was served last, and at which tier."""

    turn: int
    detail: Tier


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was served by URI."""

    entries: Mapping[str, Served] = field(default_factory=dict)
    updated_turn: int = 0

    def cooled(self, turn: int, window: int) -> frozenset[str]:
        """The URIs that are not served at ``turn``: those served with a text in the ``window`` turns before it."""
        return frozenset(
            uri for uri, one in self.entries.items() if one.detail != "uri" and 0 <= turn - one.turn < window
        )

    def after(self, served: Iterable[Entry], turn: int, window: int) -> Ledger:
        """The ledger once ``served`` was served at ``turn``: no records of the future, none older than 4 windows, 500 in all."""
        records = {
            uri: one for uri, one in self.entries.items() if turn - KEPT_WINDOWS * window <= one.turn <= turn
        } | {entry.uri: Served(turn, entry.detail) for entry in served}
        newest = sorted(records.items(), key=lambda item: -item[1].turn)[:MOST_RECORDS]
        return Ledger(dict(newest), turn)

    def to_json(self) -> str:
        """The text that is stored."""
        entries = {uri: {"turn": one.turn, "detail": one.detail} for uri, one in self.entries.items()}
        told = {"version": VERSION, "updated_turn": self.updated_turn, "entries": entries}
        # Names that somebody wrote in may not be fit for UTF-8.
        return json.dumps(told)


def read_ledger(text: str | None) -> Ledger | None:
    """The ledger that a stored text holds; None where there is none, or none that can be read.

    Records that make no sense are left out.
    """
    if text is None or len(text) > MOST_CHARS:
        return None
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or told.get("version") != VERSION or not isinstance(told.get("entries"), dict):
        return None
    entries = {uri: one for uri, record in told["entries"].items() if (one := _served(record)) is not None}
    return Ledger(entries, told["updated_turn"] if _is_turn(told.get("updated_turn")) else 0)


def turn_of(total: int, live: int) -> int:
    """The turn that a session is at: all messages there ever were in it, and no fewer than are in it now."""
    return max(total, live)


def _served(record: Any) -> Served | None:
    if not isinstance(record, dict) or not _is_turn(record.get("turn")) or record.get("detail") not in TIERS:
        return None
    return Served(record["turn"], record["detail"])


def _is_turn(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TURNS
