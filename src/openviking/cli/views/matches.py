"""The matches of grep as ``uri:line: text``, of glob as URIs or columns."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from openviking.cli.views.cells import EMPTY, mode, moment, size, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openviking.cli.screen import Screen, Span

SHOWN_CHARS: Final = 400
"""Characters of a line shown on a terminal around its first match; a pipe gets all."""

HIGHLIGHT_SECONDS: Final = 0.05
"""Time that marking one line may take; the pattern is the caller's, and the search itself is over."""


def draw_grep(screen: Screen, result: Any, pattern: str, *, ignore_case: bool = False) -> None:
    """A line per match, with context lines as ``uri-line- text`` and ``--`` between places that do not touch."""
    if not result.matches:
        screen.line((EMPTY, "dim"))
        return
    finder = _Finder(pattern, ignore_case=ignore_case) if screen.is_terminal else None
    with_context = any(match.before_context is not None or match.after_context is not None for match in result.matches)
    matching = {(match.uri, match.line) for match in result.matches}
    at: tuple[str, int] | None = None
    for match in result.matches:
        before, after = match.before_context or (), match.after_context or ()
        first = before[0].line if before else match.line
        if with_context and at is not None and (at[0] != match.uri or first > at[1] + 1):
            screen.line(("--", "dim"))
        reached = at[1] if at is not None and at[0] == match.uri else 0
        for line in before:
            if line.line > reached and (match.uri, line.line) not in matching:
                _draw_line(screen, match.uri, line.line, line.content, "-", None)
        _draw_line(screen, match.uri, match.line, match.content, ":", finder, match.tags)
        reached = match.line
        for line in after:
            if (match.uri, line.line) in matching:
                break
            _draw_line(screen, match.uri, line.line, line.content, "-", None)
            reached = line.line
        at = (match.uri, reached)


def _draw_line(
    screen: Screen,
    uri: str,
    number: int,
    text: str,
    mark: str,
    finder: _Finder | None,
    tags: Sequence[str] | None = None,
) -> None:
    text = text.removesuffix("\r")
    spans: list[Span] = [text]
    if screen.is_terminal:
        places = finder.places(text) if finder else []
        spans = _marked(text, places, screen.symbol("…", "..."))
    suffix = [(f"  [{', '.join(tags)}]", "dim")] if tags is not None else []
    screen.line((uri, "uri"), mark, (str(number), "line"), f"{mark} ", *spans, *suffix)


def _marked(text: str, places: list[tuple[int, int]], dots: str) -> list[Span]:
    start, end = 0, len(text)
    if len(text) > SHOWN_CHARS:
        start = max((places[0][0] if places else 0) - SHOWN_CHARS // 4, 0)
        end = min(start + SHOWN_CHARS, len(text))
    spans: list[Span] = [(dots, "dim")] if start else []
    done = start
    for first, last in places:
        if first < done or first >= end:
            continue
        spans += [text[done:first], (text[first : min(last, end)], "match")]
        done = min(last, end)
    spans.append(text[done:end])
    if end < len(text):
        spans.append((dots, "dim"))
    return spans


class _Finder:
    """Where a pattern matches in a line, found with the engine that found the line."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        import regex

        self._compiled: Any = None
        # The search reads a few patterns differently; what cannot be read here is shown without marks.
        with contextlib.suppress(regex.error, OverflowError, RecursionError, ValueError):
            self._compiled = regex.compile(pattern, regex.V0 | (regex.IGNORECASE if ignore_case else 0))

    def places(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each match that is not empty; none if finding them takes too long."""
        if self._compiled is None:
            return []
        try:
            return [found.span() for found in self._compiled.finditer(text, timeout=HIGHLIGHT_SECONDS) if found[0]]
        except TimeoutError:
            return []


def draw_glob(screen: Screen, result: Any, fields: Sequence[str], *, simple: bool) -> None:
    """One URI a line, or the chosen ``fields`` in columns; ``simple`` joins them with commas under no header."""
    if not result.matches:
        if not simple:
            screen.line((EMPTY, "dim"))
        return
    if not fields:
        for match in result.matches:
            screen.line((match if isinstance(match, str) else match["uri"], "uri"))
        return
    if simple:
        for match in result.matches:
            screen.line(",".join(_plain(match.get(field)) for field in fields))
        return
    columns = [*(field for field in fields if field != "uri"), "uri"]
    table(screen, columns, [[_cell(field, match.get(field)) for field in columns] for match in result.matches])


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return " ".join(value) if isinstance(value, list | tuple) else str(value)


def _cell(field: str, value: Any) -> str:
    if value is None or value == []:
        return "-"
    if field == "size" and isinstance(value, int):
        return size(value)
    if field == "mode" and isinstance(value, int):
        return mode(value)
    if field == "mtime" and isinstance(value, int | float):
        from openviking.clock import iso

        return moment(iso(int(value * 1000)))
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)
