"""Why a walk through directories does not give a record: where its way ended, or at which rank it was cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from openviking.model.missing import Missing
from openviking.model.node import Node
from openviking.retrieve.hierarchical.choosing import chosen
from openviking.retrieve.hierarchical.parameters import MOST_CHILDREN
from openviking.retrieve.hierarchical.walk import Walked
from openviking.retrieve.ranking import Ranked
from openviking.text import counted
from openviking.uri import from_path

DECIMALS: Final = 6

ENDS: Final[Mapping[str, str]] = {
    "converged": "its best hits did not change any more",
    "stagnated": "it found nothing new any more",
    "exhausted": "there was no directory left",
    "bounded": "it had looked into as many directories as one walk may",
}


@dataclass(slots=True)
class Places:
    """All that a walk collected, in the order from which the hits are cut; put in order when somebody asks."""

    pool: Sequence[Ranked]
    threshold: float
    dominance: float
    files: bool
    _order: dict[str, tuple[int, Ranked]] | None = field(default=None, init=False)

    def of(self, path: str) -> tuple[int, Ranked] | None:
        """Rank and record; None for a directory that gave way to what is in it."""
        return self._places().get(path)

    def count(self) -> int:
        """How many there are."""
        return len(self._places())

    def _places(self) -> dict[str, tuple[int, Ranked]]:
        if self._order is None:
            best = chosen(
                self.pool, limit=len(self.pool), threshold=self.threshold, files=self.files, dominance=self.dominance
            )
            self._order = {one.candidate.node.path: (rank, one) for rank, one in enumerate(best, 1)}
        return self._order


@dataclass(slots=True)
class Way:
    """What a walk did, as far as it says why records are not among its hits.

    ``starts`` are the directories that it began with and their scores, ``children`` how many records of a directory it
    looked at, ``paths`` gives the best `MOST_CHILDREN` of those in a directory.
    """

    done: Walked
    starts: Mapping[str, float]
    children: int
    limit: int
    places: Places
    paths: Callable[[str], Sequence[str]]
    _known: dict[str, Sequence[str]] = field(default_factory=dict, init=False)

    def why(self, uri: str, node: Node, told: Mapping[str, Any]) -> Missing:
        """Why ``node``, which answers the query, is not among the hits; ``told`` is what is known of it anyway."""
        collected = self.done.collected.get(node.path)
        if collected is not None:
            return self._cut(uri, node, collected.score, dict(told))
        queued = {path: place for place, (path, _) in enumerate(self.done.left, 1)}
        below, above = node.path, node.path if node.is_dir else node.path.rpartition("/")[0]
        while above:
            if above in self.done.looks:
                return self._missed(uri, node, above, below, dict(told))
            if above in queued:
                return self._not_reached(uri, above, queued[above], dict(told))
            below, above = above, above.rpartition("/")[0]
        message = (
            f"the walk began in {_directories(len(self.starts))}, those nearest to the query and the targets, and"
            " none of them is above it"
        )
        return Missing(uri, "not_walked", message, {**told, "cut": "start"})

    def _cut(self, uri: str, node: Node, score: float, told: dict[str, Any]) -> Missing:
        """Why a record is no hit that the walk collected."""
        told |= {"score": round(score, DECIMALS), "cut": self.limit}
        place = self.places.of(node.path)
        if place is None:
            return Missing(uri, "behind_files", f"a hit below it scores too near to its {score:.4f}", told)
        rank, one = place
        told |= {"rank": rank, "of": self.places.count()}
        if one.duplicate_of is not None:
            same = one.duplicate_of.node.uri
            message = f"its bytes are those of {same}, and copies come after all other hits"
            return Missing(uri, "duplicate", message, {**told, "duplicate_of": str(same)})
        message = f"the walk collected it, with a score of {score:.4f} at rank {rank} of {self.places.count()}, cut at {self.limit}"
        return Missing(uri, "below_cut", message, told)

    def _not_reached(self, uri: str, directory: str, place: int, told: dict[str, Any]) -> Missing:
        """That the walk ended before it came to a directory above."""
        done, score = self.done, self.done.left[place - 1][1]
        of, name = len(done.left), str(from_path(directory))
        place_told = "next" if place == 1 else f"number {place}"
        message = (
            f"the walk ended after {counted(done.rounds, 'rounds')} in {_directories(done.directories)}, because"
            f" {ENDS[done.end]}; {name} was {place_told} of the {of} to come, with a score of {score:.4f}"
        )
        told |= {"cut": "end", "end": done.end, "rounds": done.rounds, "directory": name, "rank": place, "of": of}
        return Missing(uri, "not_walked", message, told)

    def _missed(self, uri: str, node: Node, directory: str, child: str, told: dict[str, Any]) -> Missing:
        """Why the look into a directory did not lead on to ``child``, which is the record or above it."""
        look, name, lost = self.done.looks[directory], str(from_path(directory)), str(from_path(child))
        told |= {"directory": name, "round": look.round}
        if child in look.excluded:
            score = look.excluded[child]
            told |= {"threshold": self.places.threshold, "child": lost}
            message = f"{lost} scored {score:.4f} in {name}, which is not above {self.places.threshold:g}"
            if child == node.path:
                told["score"] = round(score, DECIMALS)
            return Missing(uri, "below_threshold", message, told)
        told |= {"cut": "children", "child": lost}
        if look.seen < self.children:
            message = (
                f"the walk looked into {name} in round {look.round}; {lost} itself does not answer the query there"
            )
            return Missing(uri, "not_walked", message, told)
        if directory not in self._known:
            self._known[directory] = self.paths(directory)
        order = self._known[directory]
        rank = order.index(child) + 1 if child in order else None
        where = f"at rank {rank}" if rank is not None else f"beyond rank {min(len(order), MOST_CHILDREN)}"
        told |= {"children": self.children, **({} if rank is None else {"rank": rank})}
        message = f"the walk looked at the best {self.children} records of {name} in round {look.round}, and {lost} is {where}"
        return Missing(uri, "not_walked", message, told)


def _directories(count: int) -> str:
    return "1 directory" if count == 1 else f"{count:,} directories"
