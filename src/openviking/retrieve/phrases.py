"""Searching with quoted phrases: files whose passage has them as they stand come before those that have only the words."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from openviking.index.signals import Phrases
from openviking.model.scope import Scope
from openviking.retrieve.snippet import readable
from openviking.store.port import Candidate, Query, View

PASSAGE_BYTES: Final = 64 * 1024
"""How much of a passage is looked through; only markup can hold more."""

CONTENTS: Final = 200
"""Phrases are looked for in the best candidates of so many different contents at least."""


def search(view: View, query: Query, phrases: Phrases, scope: Scope, limit: int) -> list[Candidate]:
    """What `View.search` finds, each file's score with what ``phrases`` give it, best first, equal scores by path."""
    if not phrases:
        return view.search(query, scope, limit)
    asked = frozenset(query.terms)
    found = [_raised(view, one, phrases, asked) for one in view.search(query, scope, max(limit, CONTENTS))]
    return sorted(found, key=lambda one: (-one.score, one.node.path, one.level))


def _raised(view: View, one: Candidate, phrases: Phrases, asked: frozenset[str]) -> Candidate:
    if one.node.is_dir or not phrases.possible({term for term, _ in one.terms}, asked):
        return one
    text = view.slice(one.node, one.start, min(one.end, one.start + PASSAGE_BYTES))
    gain = phrases.gain(one.score, readable(text, one.node.kind))
    return replace(one, score=one.score + gain) if gain else one
