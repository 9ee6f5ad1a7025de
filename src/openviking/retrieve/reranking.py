"""What becomes of ranked hits when a model has read them: documents for it, and scores out of what it says (§4.6)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openviking.retrieve.ranking import DIRECTORY_SHARE, Ranked
from openviking.text import estimate_tokens

ELLIPSIS: Final = "\n…\n"
QUERY_SHARE: Final = 0.75
"""The most of a window that the query may have."""

HEAD_SHARE: Final = 0.75
"""The beginning's part of a text that is cut in its middle."""

MAX_DOCUMENT_CHARS: Final = 16_000
"""No document is longer, window or not: a passage never is, but markup may surround one."""

_ROUNDING: Final = 1e-6
_STEP: Final = 1 - 1e-9
"""What is left of a score behind an equal one."""


@dataclass(frozen=True, slots=True)
class Rescored:
    """The new score of each candidate, in the order they came, and what there is to say about the model's answer."""

    scores: tuple[float, ...]
    notes: tuple[str, ...] = ()


def fitted(query: str, documents: Sequence[str], max_tokens: int) -> tuple[str, list[str]]:
    """Query and documents in a window of ``max_tokens`` together (estimated, 0: any length); what is cut keeps both ends.

    The query has at most three quarters of it, each document the rest.
    """
    documents = [_ends_by_chars(one, MAX_DOCUMENT_CHARS) for one in documents]
    if not max_tokens:
        return query, documents
    query = ends(query, int(QUERY_SHARE * max_tokens))
    room = max_tokens - estimate_tokens(query)
    return query, [ends(one, room) for one in documents]


def ends(text: str, max_tokens: int) -> str:
    """``text`` in at most ``max_tokens`` estimated tokens: the first three quarters of what fits, and the last one."""
    if estimate_tokens(text) <= max_tokens:
        return text
    room = max_tokens - estimate_tokens(ELLIPSIS)
    head = _longest(text, int(HEAD_SHARE * room))
    tail = _longest(text[::-1], room - int(HEAD_SHARE * room))
    return text[:head] + ELLIPSIS + text[len(text) - tail :]


def rescored(own: Sequence[float], given: Sequence[float | None], share: float = 1.0) -> Rescored:
    """The scores of candidates whose own are ``own``, after a model gave ``given`` to some; ``share`` is its weight.

    Who has None keeps its own. A model that gives everything one score, or no score at all, says nothing, and all keep
    their own. Numbers outside 0 and 1 (logits) tell an order and no score, and so does an answer that leaves documents out
    (-inf), which come behind the others: the candidates' own scores are dealt out in that order, equal ones with a trace
    between them, so that thresholds mean what they mean without it, and no hit is lost.
    """
    values = {place: one for place, one in enumerate(given) if one is not None}
    left_out = sum(one == -math.inf for one in values.values())
    if len(values) == left_out:
        return Rescored(tuple(own), ("the model gave no score that can be used",) if given else ())
    notes: tuple[str, ...] = ()
    if len(values) < len(given):
        notes = (f"{len(given) - len(values)} of {len(given)} documents got no score and keep that of the search",)
    if len(values) > 1 and len(set(values.values())) == 1:
        return Rescored(tuple(own), (*notes, "the model gave every document the same score, which is left aside"))
    scores = list(own)
    if all(-_ROUNDING <= one <= 1 + _ROUNDING for one in values.values()):
        for place, one in values.items():
            scores[place] = (1 - share) * own[place] + share * min(max(one, 0.0), 1.0)
        return Rescored(tuple(scores), notes)
    dealt = sorted((own[place] for place in values), reverse=True)
    before = None
    for place, score in zip(sorted(values, key=lambda one: (-values[one], -own[one])), dealt, strict=True):
        scores[place] = score
        if before is not None:
            # Among equal scores the order would be lost.
            least = scores[before] * (_STEP if values[place] < values[before] else 1.0)
            scores[place] = min(score, least)
        before = place
    why = (
        f"the model left {left_out} of {len(given)} documents out" if left_out else "the scores are not within 0 and 1"
    )
    return Rescored(tuple(scores), (*notes, f"{why}: only the order is used"))


def behind_files(best: Sequence[Ranked], scores: Sequence[float]) -> list[float]:
    """``scores`` of the records ``best``, those of directories held behind their best file among them."""
    below: dict[str, float] = {}
    for one, score in zip(best, scores, strict=True):
        path = "" if one.candidate.node.is_dir else one.candidate.node.path
        while path:
            path = path.rpartition("/")[0]
            below[path] = max(score, below.get(path, 0.0))

    def held(one: Ranked, score: float) -> float:
        node = one.candidate.node
        return min(score, DIRECTORY_SHARE * below[node.path]) if node.is_dir and node.path in below else score

    return [held(one, score) for one, score in zip(best, scores, strict=True)]


def _longest(text: str, max_tokens: int) -> int:
    """How many characters of ``text``'s beginning have at most ``max_tokens`` tokens."""
    # A token has at most four characters, and estimates only grow with the text.
    return (
        bisect_right(range(min(4 * max_tokens, len(text)) + 1), max_tokens, key=lambda n: estimate_tokens(text[:n])) - 1
    )


def _ends_by_chars(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head = int(HEAD_SHARE * (most - len(ELLIPSIS)))
    return text[:head] + ELLIPSIS + text[len(text) - (most - len(ELLIPSIS) - head) :]
