"""What filling a budget gives: entries, the block they make, and the figures of how they came about (§5.13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openviking.context.candidates import Origin
from openviking.context.tiers import Tier


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: ``detail`` is the tier that was served, ``text`` what it says, "" at tier ``uri``.

    ``score`` is the search's, without any penalty. ``lines`` say where in the file the question is answered best.
    """

    uri: str
    category: str
    score: float
    detail: Tier
    text: str
    origin: Origin = "self"
    lines: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The entry as it goes over the wire."""
        return {
            "uri": self.uri,
            "category": self.category,
            "score": self.score,
            "detail": self.detail,
            "text": self.text,
            "origin": self.origin,
            "lines": list(self.lines) if self.lines else None,
        }


@dataclass(frozen=True, slots=True)
class Fill:
    """What the passes over the budget did: the tokens of the first, and how many entries the others deepened.

    ``passage_upgrades`` is None where there was no pass for passages.
    """

    floor_tokens: int = 0
    overview_upgrades: int = 0
    full_upgrades: int = 0
    spare_upgrades: int = 0
    passage_upgrades: int | None = None

    def to_dict(self) -> dict[str, int]:
        """The figures as they go over the wire."""
        told = {
            "floor_tokens": self.floor_tokens,
            "overview_upgrades": self.overview_upgrades,
            "full_upgrades": self.full_upgrades,
            "spare_upgrades": self.spare_upgrades,
        }
        return told if self.passage_upgrades is None else told | {"passage_upgrades": self.passage_upgrades}


@dataclass(frozen=True, slots=True)
class Assembly:
    """Entries that fit into a budget, and how they were fitted. ``candidates`` is how many there were."""

    entries: tuple[Entry, ...]
    rendered: str
    candidates: int
    used_tokens: int
    per_entry_cap: int
    dropped: int
    deduped: int
    fill: Fill
