"""The first stage of find: the best candidates of a scope, with what quoted phrases add and what time takes away."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from openviking.index.decay import EVENTS_TAG, Decay
from openviking.index.signals import Phrases
from openviking.model.condition import Not, OneOf, both
from openviking.model.scope import Scope
from openviking.retrieve import phrases as quoted
from openviking.store.port import Candidate, Query, View

EVENTS: Final = OneOf("search_tags", (EVENTS_TAG,))

FILE_LEVEL: Final = 2

GROWTH: Final = 4
"""So many times more events are looked at each time that fresher ones may be better than those that were found."""

SCORE_DECIMALS: Final = 12


@dataclass(slots=True)
class Recall:
    """What one query finds in one view; ``searches`` counts how often the store was asked, ``scored`` what it gave.

    With ``decay`` the score of a record that is tagged as an event fades with its age; others keep theirs.
    """

    view: View
    query: Query
    phrases: Phrases
    decay: Decay | None = None
    searches: int = 0
    scored: int = 0

    def search(self, scope: Scope, limit: int) -> list[Candidate]:
        """Candidates as `View.search` gives them, best first, equal scores by path."""
        if self.decay is None:
            return self._found(scope, limit)
        others = self._found(replace(scope, condition=both(scope.condition, Not(EVENTS))), limit)
        events = self._events(replace(scope, condition=both(scope.condition, EVENTS)), limit, others, self.decay)
        return sorted([*others, *events], key=lambda one: (-one.score, one.node.path, one.level))

    def _found(self, scope: Scope, limit: int) -> list[Candidate]:
        found = quoted.search(self.view, self.query, self.phrases, scope, limit)
        self.searches += 1
        self.scored += len(found)
        return found

    def _events(self, scope: Scope, limit: int, others: list[Candidate], decay: Decay) -> list[Candidate]:
        """The events that belong to the ``limit`` best of all, whatever rank they have before time counts.

        What was not found scores no more than the last of what was found does before it fades.
        """
        files = FILE_LEVEL in (scope.levels or (FILE_LEVEL,))
        wanted = limit
        while True:
            found = self._found(scope, wanted)
            past = [faded(one, decay) for one in found]
            unseen = _lowest(found, wanted, files=files)
            if unseen == 0 or _lowest([*past, *others], limit, files=files) >= unseen:
                return past
            wanted *= GROWTH


def faded(one: Candidate, decay: Decay) -> Candidate:
    """An event with what time leaves of its score."""
    left = decay.time_score(one.node.updated_at)
    if left is None:
        return one
    return replace(one, score=round(one.score * left, SCORE_DECIMALS), origin_score=one.score, time_score=left)


def _lowest(candidates: Iterable[Candidate], count: int, *, files: bool) -> float:
    """The score of the ``count``-th best content, of ``files`` or else of directories; 0 if there are fewer."""
    best: dict[bytes | int, float] = {}
    for one in candidates:
        if one.node.is_dir != files:
            content = one.node.hash or one.node.id
            best[content] = max(one.score, best.get(content, 0.0))
    return heapq.nlargest(count, best.values())[-1] if len(best) >= count else 0.0
