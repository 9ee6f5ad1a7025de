"""What else than words and vectors says that a passage answers: bounded, and taken inside the 1.

Few signals pay on code, documents and conversations alike: docs/evals.md has those that were tried and left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from openviking.index.analyse import analyse_query

PHRASE: Final = 0.5
"""How much of what is missing to 1 a passage gains that has the quoted phrases of the query as they stand."""


@dataclass(frozen=True, slots=True)
class Phrases:
    """The quoted phrases of one query, each with the terms that a passage must have to have it; empty for most queries."""

    quoted: tuple[tuple[str, frozenset[str]], ...]

    def __bool__(self) -> bool:
        return bool(self.quoted)

    def possible(self, matched: AbstractSet[str], asked: AbstractSet[str]) -> bool:
        """Whether a passage that matched these of the terms ``asked`` for can have a phrase; a look at its text tells."""
        return any(terms & asked <= matched for _, terms in self.quoted)

    def gain(self, score: float, text: str) -> float:
        """What a passage with this ``score`` and ``text`` gains.

        `PHRASE` of what is missing to 1, times the share of the phrases that it has.
        """
        folded = _folded(text)
        found = sum(1 for phrase, _ in self.quoted if phrase in folded)
        return PHRASE * found / len(self.quoted) * (1 - score) if found else 0.0


def phrases(quoted: Sequence[str]) -> Phrases:
    """The phrases of a query's ``quoted`` parts; letter case and white space do not matter."""
    distinct = dict.fromkeys(folded for one in quoted if (folded := _folded(one)))
    return Phrases(tuple((one, frozenset(analyse_query(one))) for one in distinct))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
