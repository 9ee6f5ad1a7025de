"""grep: every matching line of every file below a URI (contract/retrieval.md §6.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from openviking.index.hidden_fields import FIELDS, visible
from openviking.index.line_pattern import LineMatch, LinePattern
from openviking.index.match_budget import MatchBudget
from openviking.model.matches import ContextLine, GrepMatch, GrepResult
from openviking.store.port import View
from openviking.uri import context_type, from_path


@dataclass(frozen=True, slots=True)
class GrepRequest:
    """A validated grep; ``limit`` is the most lines to list (None: all), ``tags`` None unless given.

    ``between`` is called between files: what is long can let others go first.
    """

    path: str
    pattern: LinePattern
    budget: MatchBudget
    excluded: str | None = None
    limit: int | None = 256
    depth: int = 10
    before: int = 0
    after: int = 0
    tags: tuple[str, ...] | None = None
    show_tags: bool = False
    between: Callable[[], None] = lambda: None


def grep(view: View, request: GrepRequest) -> GrepResult:
    """Matching lines, files by path and lines ascending; all files are scanned and all matches counted."""
    excluded = () if request.excluded is None else (request.excluded,)
    matches: list[GrepMatch] = []
    tagged: list[int] = []
    total = scanned = 0
    for node_id, path, text in view.texts(
        request.path, depth=request.depth, tags=request.tags or (), excluded=excluded, literal=request.pattern.literal
    ):
        scanned += 1
        request.between()
        if text is None:
            continue
        if FIELDS in text and context_type(path) == "memory":
            text = visible(text)
        lines = _Lines(text)
        for found in request.pattern.matching_lines(text, request.budget):
            total += 1
            if request.limit is None or len(matches) < request.limit:
                matches.append(_match(path, text, found, lines, request))
                tagged.append(node_id)
    if request.tags is not None or request.show_tags:
        matches = _with_tags(view, matches, tagged)
    return GrepResult(tuple(matches), scanned, total)


def _match(path: str, text: str, found: LineMatch, lines: _Lines, request: GrepRequest) -> GrepMatch:
    number = found.number + 1
    before = after = None
    if request.before:
        first = max(number - request.before, 1)
        before = tuple(ContextLine(line, lines.text(line)) for line in range(first, number))
    if request.after:
        last = min(number + request.after, lines.count)
        after = tuple(ContextLine(line, lines.text(line)) for line in range(number + 1, last + 1))
    return GrepMatch(str(from_path(path)), number, text[found.start : found.end], before, after)


def _with_tags(view: View, matches: Sequence[GrepMatch], node_ids: Sequence[int]) -> list[GrepMatch]:
    tags = view.tags(sorted(set(node_ids)))
    return [
        GrepMatch(
            match.uri, match.line, match.content, match.before_context, match.after_context, tags.get(node_id, ())
        )
        for match, node_id in zip(matches, node_ids, strict=True)
    ]


class _Lines:
    """The lines of a text by 1-based number, split when one is first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: list[str] | None = None

    def _split(self) -> list[str]:
        if self._lines is None:
            self._lines = self._text.split("\n")
            if self._lines[-1] == "":
                self._lines.pop()
        return self._lines

    @property
    def count(self) -> int:
        return len(self._split())

    def text(self, number: int) -> str:
        return self._split()[number - 1]
