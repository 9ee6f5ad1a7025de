"""Spends a budget of tokens on candidates: each gets its floor first, then the best are deepened (§5.6).

Nothing is cut to fit. Costs are those of the rendered elements, so what is used is never less than the estimate of the
block.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from openviking.context.assembly import Assembly, Entry, Fill
from openviking.context.candidates import Candidate
from openviking.context.parameters import ContextRequest
from openviking.context.rendering import SEPARATOR_TOKENS, block, element
from openviking.context.tiers import Ladder, Tier, depth, downwards, reach
from openviking.text import estimate_tokens

READS: Final = 8
"""Bodies that are asked for at once."""

Bodies = Callable[[Sequence[Candidate]], Mapping[str, str | None]]
"""Reads at most `READS` candidates: by URI a file's text, a directory's overview, None for what can't be read."""


@dataclass(slots=True)
class Placed:
    """An entry in the making. ``cost`` is that of its element, ``lines`` say where in the file its text stands."""

    ladder: Ladder
    tier: Tier
    text: str
    cost: int
    lines: tuple[int, int] | None

    @property
    def candidate(self) -> Candidate:
        """What it is made of."""
        return self.ladder.candidate


class LastPass(Protocol):
    """One more pass over what is placed, after the documented ones."""

    def waits(self, filling: Filling) -> Collection[str]:
        """The URIs of candidates that get what all others leave, and nothing if that is no more than an address."""
        ...

    def holds(self, filling: Filling) -> Collection[str]:
        """The URIs of entries that are not to be told whole before this pass."""
        ...

    def spend(self, filling: Filling) -> None:
        """Deepen entries with `Filling.deepen`, and count that in `Filling.figures`."""
        ...


def fill(
    candidates: Sequence[Candidate], request: ContextRequest, bodies: Bodies, last: LastPass | None = None
) -> Assembly:
    """The entries that fit into ``request.max_tokens``, of ``candidates`` in rank order.

    ``bodies`` is asked only for candidates that may be told by more than their abstracts, and for memories whose abstract
    is over the cap; the best first, `READS` at a time, none for which not even the bare URI fits.
    """
    filling = Filling(candidates, request, bodies)
    waiting = () if last is None else last.waits(filling)
    filling.lay_floor([one for one in candidates if one.uri not in waiting])
    filling.deepen_all("overview", capped=True)
    held = () if last is None else last.holds(filling)
    filling.deepen_all("full", capped=True, held=held)
    filling.deepen_all("full", capped=False, held=held)
    if last is not None:
        last.spend(filling)
        filling.deepen_all("full", capped=False)
    filling.lay_rest([one for one in candidates if one.uri in waiting])
    return filling.assembly()


def cap_of(max_tokens: int, candidates: int) -> int:
    """The most that one entry may cost before there is budget to spare: twice its share, to the nearest whole number."""
    share = max(candidates, 1)
    return max(1, (4 * max_tokens + share) // (2 * share))


class Filling:
    """A budget while it is being spent. ``placed`` are the entries so far, best first."""

    def __init__(self, candidates: Sequence[Candidate], request: ContextRequest, bodies: Bodies) -> None:
        self.request = request
        self.bodies = bodies
        self.cap = cap_of(request.max_tokens, len(candidates))
        self.placed: list[Placed] = []
        self.used = 0
        self.dropped = 0
        self.deduped = 0
        self.figures = Fill()
        self.candidates = candidates
        self._told: set[tuple[str, str]] = set()
        self._read: dict[int, str | None] = {}
        self._ahead = 0

    @property
    def room(self) -> int:
        """Tokens that are left."""
        return self.request.max_tokens - self.used

    def cost(self, candidate: Candidate, tier: Tier, text: str = "") -> int:
        """What an element costs; for a text that is beyond both cap and budget, some number that is so as well."""
        most = max(self.request.max_tokens, self.cap)
        if len(text) > 4 * most:
            # No character weighs less than a quarter of a token.
            return most + 1
        return estimate_tokens(element(candidate, tier, text))

    def lay_floor(self, candidates: Sequence[Candidate]) -> None:
        """Place each candidate at the first tier that exists and fits, or drop it."""
        self._lay(candidates)
        self.figures = replace(self.figures, floor_tokens=self.used)

    def lay_rest(self, candidates: Sequence[Candidate]) -> None:
        """Place what waited in the room that is left; only what says something, if anything placed does."""
        self._lay(candidates, bare=not any(one.text for one in self.placed))
        rank = {one.uri: number for number, one in enumerate(self.candidates)}
        self.placed.sort(key=lambda one: rank[one.candidate.uri])

    def deepen_all(self, tier: Tier, *, capped: bool, held: Collection[str] = ()) -> None:
        """Deepen every entry to ``tier`` that may go there and fits, best first, without those that are ``held``."""
        count = 0
        for one in self.placed:
            if one.candidate.uri in held or not depth(one.tier) < depth(tier) <= depth(one.ladder.ceiling):
                continue
            text = one.ladder.text(tier)
            if text and (not capped or self.cost(one.candidate, tier, text) <= self.cap):
                count += self.deepen(one, tier, text)
        name = f"{tier}_upgrades" if capped else "spare_upgrades"
        self.figures = replace(self.figures, **{name: getattr(self.figures, name) + count})

    def deepen(self, placed: Placed, tier: Tier, text: str, lines: tuple[int, int] | None = None) -> bool:
        """Let an entry tell ``text`` instead, if there is room; ``lines`` say where it stands, None for where it did."""
        cost = self.cost(placed.candidate, tier, text)
        if cost - placed.cost > self.room:
            return False
        self.used += cost - placed.cost
        placed.tier, placed.text, placed.cost = tier, text, cost
        placed.lines = lines or placed.lines
        return True

    def drop(self, placed: Placed) -> None:
        """Leave an entry out after all."""
        self.used -= placed.cost + (SEPARATOR_TOKENS if len(self.placed) > 1 else 0)
        self.placed = [one for one in self.placed if one is not placed]
        self.dropped += 1

    def assembly(self) -> Assembly:
        """What was made of the budget."""
        entries = tuple(
            Entry(
                one.candidate.uri, one.candidate.category, one.candidate.score, one.tier, one.text,
                one.candidate.origin, one.lines,
            )
            for one in self.placed
        )  # fmt: skip
        rendered = block(element(one.candidate, one.tier, one.text) for one in self.placed)
        return Assembly(
            entries, rendered, len(self.candidates), self.used, self.cap, self.dropped, self.deduped, self.figures
        )

    def _fits(self, cost: int) -> bool:
        return cost + (SEPARATOR_TOKENS if self.placed else 0) <= self.room

    def _lay(self, candidates: Sequence[Candidate], *, bare: bool = True) -> None:
        self._ahead = 0
        for number, candidate in enumerate(candidates):
            if not self._fits(self.cost(candidate, "uri")):
                # Whatever else it says costs more.
                self.dropped += 1
                continue
            self._read_ahead(candidates, number)
            ladder = Ladder(candidate, self.request.pins, self._read.pop(number, None))
            self._place(ladder, bare=bare)
            if ladder.body is not None and len(ladder.body) > 4 * self.request.max_tokens:
                ladder.let_go()

    def _place(self, ladder: Ladder, *, bare: bool) -> None:
        candidate = ladder.candidate
        for tier in downwards(candidate, ladder.start):
            text = ladder.text(tier)
            if not (text if tier != "uri" else bare):
                continue
            cost = self.cost(candidate, tier, text)
            if (tier != "uri" and cost > self.cap) or not self._fits(cost):
                continue
            told = ("uri", candidate.uri) if tier == "uri" else ("text", text)
            if told in self._told:
                self.deduped += 1
                return
            self._told.add(told)
            self.used += cost + (SEPARATOR_TOKENS if self.placed else 0)
            self.placed.append(Placed(ladder, tier, text, cost, candidate.lines))
            return
        self.dropped += 1

    def _read_ahead(self, candidates: Sequence[Candidate], number: int) -> None:
        """Read the body of a candidate that needs one, together with those of the next that do."""
        if number < self._ahead or not self._needs_body(candidates[number]):
            return
        wanted: deque[int] = deque()
        at = number
        while at < len(candidates) and len(wanted) < READS:
            candidate = candidates[at]
            if self._needs_body(candidate) and self._fits(self.cost(candidate, "uri")):
                wanted.append(at)
            at += 1
        self._ahead = at
        found = self.bodies([candidates[one] for one in wanted])
        self._read = {one: found.get(candidates[one].uri) for one in wanted}

    def _needs_body(self, candidate: Candidate) -> bool:
        if depth(reach(candidate, self.request.pins)[1]) >= depth("overview"):
            return True
        return candidate.is_memory and self.cost(candidate, "abstract", (candidate.abstract or "").strip()) > self.cap
