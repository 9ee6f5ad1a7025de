"""What a context request answers: entries, the rendered block, a digest, and the figures behind them (§5.13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from openviking.context.assembly import Assembly, Entry
from openviking.context.candidates import ORIGINS
from openviking.context.digest import Digest
from openviking.context.parameters import ContextRequest
from openviking.context.selection import Selection
from openviking.context.tiers import DEEPEST_FIRST
from openviking.text import shorten

MOST_ERRORS: Final = 5
MOST_ERROR_CHARS: Final = 200
FLOOR_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class Gathered:
    """How candidates were gathered.

    ``searched`` are the buckets or places that were searched, ``score_threshold`` the one in force, None for none.
    ``planned_queries`` are the queries that were asked. ``errors`` tell of searches that failed, see `error_told`.
    """

    searched: tuple[str, ...] = ()
    score_threshold: float | None = None
    query_expansion: Literal["off", "used", "failed"] = "off"
    planned_queries: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dedup:
    """What the ledger of a session did: how many URIs it held back, at which turn; ``made``: there was no such session."""

    turns: int = 0
    status: Literal["off", "ok", "new", "write_failed"] = "off"
    cooled: int = 0
    turn: int = 0
    made: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The figures as they go over the wire; ``session_made`` is ours, and there only where it is true."""
        told = {"turns": self.turns, "status": self.status, "cooled": self.cooled, "turn": self.turn}
        return {**told, "session_made": True} if self.made else told


@dataclass(frozen=True, slots=True)
class ContextResult:
    """The answer. ``more`` are figures of ours that stand last in ``stats``, such as the exact ``tokens``."""

    request: ContextRequest
    gathered: Gathered
    selection: Selection
    assembly: Assembly
    condensed: Digest = Digest()  # noqa: RUF009
    dedup: Dedup = Dedup()
    more: Mapping[str, Any] = field(default_factory=dict)
    with_rendered: bool = True

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is told, best first; all of it also where the digest found nothing relevant."""
        return self.assembly.entries

    @property
    def rendered(self) -> str:
        """The block that goes into a prompt; "" where the digest found nothing relevant, or nobody wanted it."""
        return self.assembly.rendered if self.with_rendered and self.condensed.status != "no_relevant" else ""

    @property
    def digest(self) -> str:
        """The digest, "" where there is none."""
        return self.condensed.text if self.condensed.status == "ok" else ""

    @property
    def stats(self) -> dict[str, Any]:
        """The figures, in the order in which they are documented."""
        request, assembly, gathered = self.request, self.assembly, self.gathered
        usage = self.condensed.usage
        told: dict[str, Any] = {
            "searched": list(gathered.searched),
            "candidates": assembly.candidates,
            "excluded": self.selection.excluded,
            "returned": len(self.entries),
            "dropped": assembly.dropped,
            "deduped": assembly.deduped,
            "origins": _counts(ORIGINS, (one.origin for one in self.entries)),
            "peer_scope": request.peer_scope,
            "purpose": request.purpose,
            "quotas": None if request.quotas is None else dict(request.quotas),
            "score_threshold": gathered.score_threshold,
            "other_peer_penalties": dict(request.penalties),
            "max_tokens": request.max_tokens,
            "used_tokens": assembly.used_tokens,
            "per_entry_cap": assembly.per_entry_cap,
            "detail": dict(request.detail) if isinstance(request.detail, Mapping) else request.detail,
            "tier_counts": {
                tier: count
                for tier, count in _counts(DEEPEST_FIRST, (one.detail for one in self.entries)).items()
                if count
            },
            "fill": assembly.fill.to_dict(),
            "query_expansion": gathered.query_expansion,
            "planned_queries": list(gathered.planned_queries),
            "rewrite": self.condensed.status,
            "rewrite_usage": None if usage is None else dict(usage),
            "dedup": self.dedup.to_dict(),
        }
        if gathered.errors:
            told["retrieval_errors"] = list(gathered.errors[:MOST_ERRORS])
        if self.selection.held.floor is not None:
            told["floor"] = round(self.selection.held.floor, FLOOR_DIGITS)
            told["below_floor"] = self.selection.held.below
        if request.ignored:
            told["ignored"] = list(request.ignored)
        if not self.entries:
            told["empty"] = self.why_empty
        return told | dict(self.more)

    @property
    def why_empty(self) -> str:
        """Why there is no entry; "" if there is one."""
        request, assembly = self.request, self.assembly
        if self.entries:
            return ""
        if request.quotas is not None and not request.total:
            return "no quota is above 0, so nothing was searched"
        if assembly.candidates:
            return (
                f"not even the URI of any of the {assembly.candidates} candidates fits into {request.max_tokens} tokens"
            )
        if self.gathered.errors:
            return "nothing was found, and searches failed: see retrieval_errors"
        held = self.selection.held
        if held.below:
            beside = f"; {self.selection.excluded} others are excluded" if self.selection.excluded else ""
            return (
                f"nothing relevant was found: the best of {held.below} weak ones scores {held.best:.3f},"
                f" the floor is {held.floor:.3f}{beside}"
            )
        if self.selection.excluded:
            return f"all that was found is excluded: {self.selection.excluded}, by exclude_uris or served a short while ago"
        threshold = self.gathered.score_threshold
        return "nothing relevant was found" + (f" with a score above {threshold:g}" if threshold else "")

    def to_dict(self) -> dict[str, Any]:
        """The answer as it goes over the wire."""
        return {
            "entries": [entry.to_dict() for entry in self.entries],
            "rendered": self.rendered,
            "digest": self.digest,
            "stats": self.stats,
        }


def error_told(error: BaseException) -> str:
    """A failed search as ``stats.retrieval_errors`` shows it: the kind of error and its message, at most 200 characters."""
    return shorten(f"{type(error).__name__}: {' '.join(str(error).split())}", MOST_ERROR_CHARS)


def _counts(names: Iterable[str], found: Iterable[str]) -> dict[str, int]:
    counts = Counter(found)
    return {name: counts[name] for name in names}
