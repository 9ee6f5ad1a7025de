"""Which of what was found become candidates, in which order: quotas with back-fill, or the best of all (§5.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from openviking.context.candidates import ORIGINS, Candidate
from openviking.context.exclusion import Exclusion
from openviking.context.parameters import ContextRequest
from openviking.context.relevance import Floor, Held

PEER_FACTOR: Final = 4
"""How many times wider all peers are searched than what may be taken of them: what is one's own is found as well."""

_DIGITS: Final = 9
"""Digits by which ranks are told apart: 0.7 less 0.1 is 0.6."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The candidates in rank order, how many others were left out because the caller or the ledger said so, and the floor."""

    candidates: tuple[Candidate, ...] = ()
    excluded: int = 0
    held: Held = Held()  # noqa: RUF009


def overfetch(width: int, excluded: int) -> int:
    """How many hits to ask for where ``width`` are wanted and some URIs may be left out of them."""
    return width + min(excluded, 2 * width)


def width_of(request: ContextRequest, exclusion: Exclusion) -> int:
    """How many hits each search asks for."""
    return overfetch(request.total, exclusion.count)


def peer_width_of(request: ContextRequest, exclusion: Exclusion, bucket: str = "") -> int:
    """How many hits the search over all peers asks for, for one bucket or for all."""
    if request.quotas is None:
        return overfetch(PEER_FACTOR * request.limit, exclusion.count)
    return overfetch(max(PEER_FACTOR * request.quotas.get(bucket, 0), request.total), exclusion.count)


def rank_of(request: ContextRequest, candidate: Candidate) -> float:
    """What a candidate is ranked by: its score, another peer's less the penalty of its category."""
    penalty = request.penalties.get(candidate.category, 0.0) if candidate.origin == "other_peer" else 0.0
    return round(candidate.score - penalty, _DIGITS)


def select(
    request: ContextRequest,
    found: Iterable[Candidate],
    exclusion: Exclusion = Exclusion(),  # noqa: B008
    floor: Floor | None = None,
) -> Selection:
    """The candidates among what all searches found.

    What is excluded goes first, then what is below the ``floor``; those of one address become one, with the best score. With quotas each bucket takes
    as many as it may, and what is left of their sum goes to the best of the others; without, the best ``limit`` are
    taken. Order: rank, then `ORIGINS`, then address.
    """
    left: list[Candidate] = []
    dropped: set[str] = set()
    for one in found:
        if request.context_types and one.context_type not in request.context_types:
            continue
        if request.quotas is not None and one.category not in request.active:
            continue
        if exclusion.drops(one):
            dropped.add(one.uri)
        else:
            left.append(one)
    relevant, held = (left, Held()) if floor is None else floor.sifted(left)
    kept: dict[str, Candidate] = {}
    for one in relevant:
        before = kept.get(one.uri)
        kept[one.uri] = one if before is None else _joined(before, one)
    ranked = sorted(kept.values(), key=lambda one: _order(request, one))
    chosen = ranked[: request.limit] if request.quotas is None else _by_quota(request, ranked)
    return Selection(tuple(chosen), len(dropped - {one.uri for one in left}), held)


def _by_quota(request: ContextRequest, ranked: Sequence[Candidate]) -> list[Candidate]:
    room = dict(request.quotas or {})
    first: set[str] = set()
    for one in ranked:
        if room.get(one.category, 0) > 0:
            room[one.category] -= 1
            first.add(one.uri)
    spare = request.total - len(first)
    chosen = []
    for one in ranked:
        if one.uri not in first:
            if not spare:
                continue
            spare -= 1
        chosen.append(one)
    return chosen


def _joined(one: Candidate, two: Candidate) -> Candidate:
    """Two finds of the same address: the better one, with what only the other tells."""
    best, other = (two, one) if two.score > one.score else (one, two)
    return replace(
        best,
        abstract=other.abstract if best.abstract is None else best.abstract,
        lines=best.lines or other.lines,
        archive=best.archive or other.archive,
    )


def _order(request: ContextRequest, candidate: Candidate) -> tuple[float, int, str]:
    return -rank_of(request, candidate), ORIGINS.index(candidate.origin), candidate.uri
