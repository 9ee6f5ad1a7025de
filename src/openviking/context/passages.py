"""Tells what is too long to be told whole by the lines that answer the question: the last pass over a budget.

The documented tiers give a long event its summary or all of it. A summary rarely answers a question, and the whole of a
few conversations leaves no room for the others; measured, lines of all of them recall far more (docs/evals.md).
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from openviking.context.candidates import Candidate
from openviking.context.excerpts import Body, Excerpt, excerpts
from openviking.context.filling import READS, Filling, Placed
from openviking.context.rendering import defused, element
from openviking.context.tiers import Tier, whole_text
from openviking.context.units import Kind
from openviking.index.analyse import TermFinder
from openviking.parse.languages import PROSE, language_of
from openviking.parse.passages import MOST
from openviking.retrieve.snippet import TAGS
from openviking.text import token_weight

MOST_TEXTS: Final = 40
"""Texts that share the room; what ranks behind them keeps its documented tier."""

ADDRESSES: Final = 0.4
"""The part of a budget that may go to addresses, of which each takes 30 to 45 tokens."""

FRAME: Final = 4
"""Tokens that the tags of an element with a text take beside its address."""

WEAK: Final = 0.6
"""The share of the best score that is asked of what is told first where the budget is small."""

REPEATING: Final = 0.8
"""The part of a summary that stands in the text besides, from which on it is left out."""

_TABLES: Final = frozenset({"csv", "tsv"})
_LINES: Final = PROSE | {"markdown", "html", "jsonl"}
_SUMMARY = re.compile(
    r"\A\s*#{1,3}[ \t]+Summary[ \t]*:?[ \t]*\n(.*?)(?=^#{1,3}[ \t])", re.IGNORECASE | re.DOTALL | re.MULTILINE
)
_UNSEEN = re.compile(r"<(script|style|template)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_PIECE = re.compile(r"(?<=[.!?。！？])\s*|\s*[…\n]\s*|[ ]\(\d{4}-\d\d-\d\d\)$", re.MULTILINE)
_SPEAKER = re.compile(r"\A[-*]?\s*\w[\w .'-]{0,40}: ")


@dataclass(frozen=True, slots=True)
class _Part:
    """An entry of which parts may be told: its text as a reader sees it, and what its element costs without any."""

    placed: Placed
    body: Body
    tier: Tier
    frame: int


class Passages:
    """Gives entries the lines of their texts that answer a query with these ``terms`` best."""

    def __init__(self, terms: Sequence[str]) -> None:
        self._terms = terms
        self._finder = TermFinder(terms)

    def waits(self, filling: Filling) -> frozenset[str]:
        """What is told after all else, by URI: directories above what was found, and where the budget is small the last.

        Addresses alone answer nothing: only so many entries share a budget as it has room for beside their addresses.
        """
        if not self._terms:
            return frozenset()
        above = {place for one in filling.candidates if not one.directory for place in _directories(one.uri)}
        waiting = {one.uri for one in filling.candidates if one.directory and one.uri in above}
        if _beyond(filling, waiting):
            least = WEAK * max(one.score for one in filling.candidates)
            waiting |= {one.uri for one in filling.candidates if one.score < least}
        return frozenset(waiting | _beyond(filling, waiting))

    def holds(self, filling: Filling) -> frozenset[str]:
        """The entries that are not to be told whole, by URI: events that do not all fit.

        Nor are they where the budget is small for what was found: one that is told whole leaves the others nothing.
        """
        if not self._terms:
            return frozenset()
        room = filling.room
        tight = bool(_beyond(filling, ()))
        held = set()
        for one in filling.placed[:MOST_TEXTS]:
            if not (_is_partial(one, filling) and one.ladder.ceiling == "full" and one.ladder.body is not None):
                continue
            held.add(one.candidate.uri)
            room -= filling.cost(one.candidate, "full", one.ladder.text("full")) - one.cost
        return frozenset(held) if tight or room < 0 else frozenset()

    def spend(self, filling: Filling) -> None:
        """Tell the chosen lines in place of summaries and abstracts, in the room of these and what is left besides.

        What got no line becomes a bare URI: the room that its summary takes says more elsewhere.
        """
        parts = list(self._parts(filling)) if self._terms else []
        told, untold = [], []
        for part, excerpt in _chosen(self._terms, parts, filling.room):
            if excerpt is None:
                untold.append((part.placed, part.placed.tier, part.placed.text))
                filling.deepen(part.placed, "uri", "")
            elif filling.deepen(part.placed, part.tier, excerpt.text, _lines(part, excerpt)):
                told.append((part, excerpt))
        for part, excerpt in told:
            if excerpt.complete and part.placed.ladder.ceiling == "full" and (whole := part.placed.ladder.text("full")):
                filling.deepen(part.placed, "full", whole)
        for placed, tier, text in untold:
            # Its lines are too long; what the others left may do for what it said before.
            filling.deepen(placed, tier, text)
        filling.figures = replace(filling.figures, passage_upgrades=len(told))

    def _parts(self, filling: Filling) -> Iterable[_Part]:
        partial = [one for one in filling.placed[:MOST_TEXTS] if _is_partial(one, filling)]
        tight = bool(_beyond(filling, ()))
        for start in range(0, len(partial), READS):
            some = partial[start : start + READS]
            unread = [one.candidate for one in some if one.ladder.body is None]
            read = filling.bodies(unread) if unread else {}
            for one in some:
                body = read.get(one.candidate.uri) if one.ladder.body is None else one.ladder.body
                if body is not None and (part := _part(one, body, self._finder, tight=tight)) is not None:
                    yield part


def _is_partial(one: Placed, filling: Filling) -> bool:
    """Whether less than its text is told of an entry whose detail is not pinned."""
    candidate = one.candidate
    if candidate.directory or candidate.package or candidate.category in (*filling.request.pins, "skills"):
        return False
    # The abstract of a memory is all of it. Of a file nothing is told where there was no abstract.
    if candidate.is_memory:
        return one.tier in {"uri", "overview"}
    return bool((candidate.abstract or "").strip()) and one.tier in {"uri", "abstract"}


def _directories(uri: str) -> Iterable[str]:
    """The directories that something lies in."""
    while (uri := uri.rpartition("/")[0]).count("/") > 1:
        yield uri


def _beyond(filling: Filling, apart: Collection[str]) -> set[str]:
    """The last candidates, for whose addresses the budget is too small; those ``apart`` aside, and never all."""
    room = ADDRESSES * filling.request.max_tokens
    beyond = set()
    for number, one in enumerate(one for one in filling.candidates if one.uri not in apart):
        room -= filling.cost(one, "uri") + FRAME
        if number and room < 0:
            beyond.add(one.uri)
    return beyond


def _part(one: Placed, body: str, finder: TermFinder, *, tight: bool) -> _Part | None:
    """The part of an entry, None where its text is told already, or is short and its summary does.

    That of an event does not where the budget is ``tight``, or where it lacks a word of the query that was said.
    """
    candidate = one.candidate
    text = whole_text(candidate, body)
    lines = None if _is_archive(candidate) else candidate.lines
    if candidate.is_memory:
        told = set(finder.within(one.text))
        says_more = candidate.category == "events" and (tight or not set(finder.within(text)) <= told)
        if token_weight(text) <= MOST and one.text and not says_more:
            return None
        kind: Kind = "prose"
        text, blank = _without_repeating_summary(text)
        if lines is not None and lines[0] <= blank:
            # It was found by its summary, which says nothing of where in the text below that is told.
            lines = None
    else:
        if len(text) <= len(one.text):
            return None
        language = language_of(candidate.uri.rpartition("/")[2], text)
        kind = "table" if language in _TABLES else "prose" if language in _LINES else "code"
        text = _readable(text) if language == "html" else text
    tier = one.tier if one.tier != "uri" else "overview" if candidate.is_memory else "abstract"
    frame = math.ceil(token_weight(element(candidate, tier, "\n"))) + 1
    return _Part(one, Body(defused(text), candidate.score, lines, kind), tier, frame)


def _chosen(terms: Sequence[str], parts: Sequence[_Part], room: int) -> list[tuple[_Part, Excerpt | None]]:
    """The lines of each part, in an order in which those come first that give up room."""
    freed = sum(part.placed.cost - part.frame for part in parts)
    found = excerpts(terms, [part.body for part in parts], room + freed)
    chosen = list(zip(parts, found, strict=True))
    return sorted(chosen, key=lambda pair: _cost(*pair) - pair[0].placed.cost)


def _cost(part: _Part, excerpt: Excerpt | None) -> float:
    return 0.0 if excerpt is None else token_weight(excerpt.text) + part.frame


def _lines(part: _Part, excerpt: Excerpt) -> tuple[int, int] | None:
    """Where in the file an excerpt stands; None for what is written down otherwise than it is read."""
    return None if _is_archive(part.placed.candidate) else excerpt.lines


def _is_archive(candidate: Candidate) -> bool:
    return bool(candidate.archive) and candidate.uri.startswith(f"{candidate.archive}/")


def _blank(found: re.Match[str]) -> str:
    """As many line ends as there were."""
    return " " + "\n" * found[0].count("\n")


def _readable(markup: str) -> str:
    """``markup`` as it is read, each line where it was."""
    seen = _UNSEEN.sub(_blank, markup)
    plain = TAGS.sub(_blank, seen)
    return "\n".join(" ".join(html.unescape(line).split()) for line in plain.split("\n"))


def _without_repeating_summary(text: str) -> tuple[str, int]:
    """``text`` with so many blank lines for a summary that is made of sentences which stand below it all the same."""
    found = _SUMMARY.match(text)
    if found is None:
        return text, 0
    rest = " ".join(text[found.end() :].split())
    pieces = [_SPEAKER.sub("", piece.strip()) for piece in _PIECE.split(found[1])]
    said = [" ".join(piece.split()) for piece in pieces if piece]
    if not said or sum(len(piece) for piece in said if piece in rest) < REPEATING * sum(map(len, said)):
        return text, 0
    blank = found[0].count("\n")
    return "\n" * blank + text[found.end() :], blank
