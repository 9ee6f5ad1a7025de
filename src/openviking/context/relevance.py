"""The floor of a context: what is too weak to be told, and when nothing that was found is relevant.

A list of hits may end in weak ones, a prompt must not. A floor holds where the caller names no threshold. All numbers were
measured (docs/evals.md, "Floor of a context"): real questions lose next to nothing, questions about something that is
nowhere in the account get an empty block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from openviking.model.embedding import EmbeddingModel
from openviking.model.evidence import Evidence

WORDS: Final = 0.08
"""What words must say where nothing else counts."""

COVERED: Final = 0.42
"""The share of the query that is enough whatever the vectors say: a name in a sentence is looked up by its spelling."""

UNKNOWN: Final = 0.2
"""The similarity that is asked of a model whose scale nobody measured: lower than any that was."""

FOLLOWS: Final = 0.7
"""The share of the floor that is asked of others where one of their kind reaches it."""

BESIDE_BEST: Final = 0.5
"""The share of the best score that is asked of all others: beside a clear answer they say nothing of their own."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What similarities of a model mean.

    ``related`` is asked for beside `WORDS`, ``wordless`` where the passage has no word of the query; ``close`` is enough
    whatever the words say.
    """

    related: float
    wordless: float
    close: float = 1.0


MEASURED: Final = {"bge-small-en-v1.5-int8": Scale(0.43, 0.46, 0.54)}
"""By the name of a model, without its revision."""


class Found(Protocol):
    """What the floor has to know of a candidate; it says nothing of one without ``evidence``."""

    @property
    def uri(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def context_type(self) -> str: ...
    @property
    def evidence(self) -> Evidence | None: ...


F = TypeVar("F", bound=Found)


@dataclass(frozen=True, slots=True)
class Held:
    """What a floor did: ``floor`` is the score that the most promising find had to reach, ``best`` the one that it has.

    ``below`` counts the addresses that were left out. ``floor`` is None where nothing was weighed.
    """

    floor: float | None = None
    below: int = 0
    best: float = 0.0


@dataclass(frozen=True, slots=True)
class Floor:
    """A floor for scores of a model with ``scale``; ``fixed`` is a plain score that replaces all that was measured."""

    scale: Scale = Scale(UNKNOWN, UNKNOWN)
    fixed: float | None = None

    def needed(self, evidence: Evidence) -> float:
        """The score that is asked of a passage with the same weights."""
        if self.fixed is not None:
            return self.fixed
        return evidence.at(WORDS, self.scale.related if evidence.covered else self.scale.wordless)

    def reached(self, one: Found) -> float:
        """How much of the floor a candidate reaches: 1 and more is relevant by itself."""
        said = one.evidence
        if said is None:
            return 1.0
        if self.fixed is not None:
            return one.score / self.fixed
        by_likeness = (said.similarity or 0.0) / self.scale.close
        return max(said.score / self.needed(said), said.covered / COVERED, by_likeness)

    def sifted(self, found: Sequence[F]) -> tuple[list[F], Held]:
        """The candidates that are relevant, in their order, and what was done to the others.

        Of each context type all are left out unless one of them reaches the floor; then `FOLLOWS` of it is enough, and
        `BESIDE_BEST` of the best score. An address that was found several times stays if one of its finds does.
        """
        reached = [self.reached(one) for one in found]
        least = 0.0 if self.fixed is not None else BESIDE_BEST * self._best(found, reached)
        follows = FOLLOWS if self.fixed is None else 1.0
        opened = {one.context_type for one, share in zip(found, reached, strict=True) if share >= 1}
        kept = {
            one.uri
            for one, share in zip(found, reached, strict=True)
            if share >= follows and one.context_type in opened and (one.evidence is None or one.score >= least)
        }
        return [one for one in found if one.uri in kept], self._held(found, reached, kept)

    @staticmethod
    def _best(found: Iterable[Found], reached: Iterable[float]) -> float:
        """The best score of what is relevant by itself."""
        return max(
            (one.score for one, share in zip(found, reached, strict=True) if one.evidence and share >= 1), default=0.0
        )

    def _held(self, found: Iterable[Found], reached: Iterable[float], kept: set[str]) -> Held:
        weighed = [(share, one, one.evidence) for one, share in zip(found, reached, strict=True) if one.evidence]
        if not weighed:
            return Held()
        _, leading, said = max(weighed, key=lambda one: one[0])
        below = {one.uri for _, one, _ in weighed} - kept
        return Held(self.needed(said), len(below), said.score if self.fixed is None else leading.score)


def floor_of(setting: bool | float, model: EmbeddingModel | None) -> Floor | None:
    """The floor that ``retrieval.context_floor`` and the embedding model in use make; None for none."""
    if isinstance(setting, bool):
        if not setting:
            return None
        name = "" if model is None else model.name.partition("@")[0]
        return Floor(MEASURED.get(name, Scale(UNKNOWN, UNKNOWN)))
    return Floor(fixed=setting) if setting > 0 else None
