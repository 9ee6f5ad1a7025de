"""How much of a candidate may be told: its tiers from the bare URI to the whole text, where it starts and ends (§5.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from openviking.context.candidates import Candidate
from openviking.context.overview import overview_of
from openviking.index.hidden_fields import visible
from openviking.parse import is_conversation, said_in

Tier = Literal["uri", "abstract", "overview", "full"]
TIERS: Final[tuple[Tier, ...]] = ("uri", "abstract", "overview", "full")
DEEPEST_FIRST: Final[tuple[Tier, ...]] = TIERS[::-1]


def depth(tier: Tier) -> int:
    """The place of a tier in their order, 0 for the bare URI."""
    return TIERS.index(tier)


def reach(candidate: Candidate, pins: Mapping[str, Tier]) -> tuple[Tier, Tier]:
    """The tier at which a candidate starts, and the deepest one that spare budget may take it to.

    A directory is told by its overview. A pin is both. Where nothing is pinned, an event starts at its overview and may
    become its whole text; all others are told by their abstracts. A memory without one starts at its overview; another
    file without one stays a bare URI, since its text was not asked for.
    """
    if candidate.directory:
        return "overview", "overview"
    start: Tier = "overview" if candidate.category == "events" else "abstract"
    ceiling: Tier = "full" if candidate.category == "events" else "abstract"
    pin = pins.get(candidate.category)
    if pin is not None:
        start = ceiling = pin
    if (candidate.abstract or "").strip():
        return start, ceiling
    if not candidate.is_memory:
        return "uri", "uri"
    return ("overview", "overview") if ceiling == "abstract" else (start, ceiling)


def downwards(candidate: Candidate, start: Tier) -> tuple[Tier, ...]:
    """The tiers to try from ``start`` on, until one fits.

    A memory's abstract is its whole body, so its overview is the smaller one: it is tried where the abstract does not fit.
    """
    if start == "abstract" and candidate.is_memory and not candidate.directory:
        return "abstract", "overview", "uri"
    return TIERS[depth(start) :: -1]


class Ladder:
    """What one candidate says at each tier; its overview is made when it is first asked for.

    ``body`` is a file's text or a directory's overview, None where it was not read or could not be.
    """

    __slots__ = ("_body", "_overview", "candidate", "ceiling", "start")

    def __init__(self, candidate: Candidate, pins: Mapping[str, Tier], body: str | None = None) -> None:
        self.candidate = candidate
        self.start, self.ceiling = reach(candidate, pins)
        self._body = body
        self._overview: str | None = None

    @property
    def body(self) -> str | None:
        """What was read, None once it was let go."""
        return self._body

    def text(self, tier: Tier) -> str:
        """What is told at a tier; "" where there is nothing, and at the bare URI."""
        if tier == "abstract":
            return (self.candidate.abstract or "").strip()
        if tier == "overview":
            if self._overview is None:
                self._overview = "" if self._body is None else overview_of(self.candidate, self._body).strip()
            return self._overview
        if tier == "full" and self._body is not None and not self.candidate.directory:
            return whole_text(self.candidate, self._body)
        return ""

    def let_go(self) -> None:
        """Forget the body; the overview stays if it was made."""
        self._body = None


def whole_text(candidate: Candidate, body: str) -> str:
    """All that a reader sees of a file: of a memory without its hidden fields, of a conversation what was said."""
    if candidate.archive and is_conversation(candidate.uri, body):
        return said_in(body)
    return (visible(body) if candidate.is_memory else body).rstrip()
