"""The hits of a find as numbered cards: where, how well, and the words that matched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from openviking.cli.views.cells import EMPTY, padded, width

if TYPE_CHECKING:
    from openviking.cli.screen import Screen, Span

BAR_CELLS = 20
WORDS_SHOWN = 8
NO_VECTOR = {
    "vectors:pending": "no vector yet: the words are the whole score",
    "vectors:none": "the model refused it: the words are the whole score",
}
LEVELS = {0: "abstract", 1: "overview"}

_WORD = re.compile(r"[^\W_]+(?:[-_.'][^\W_]+)*")


def draw_hits(screen: Screen, query: str, result: Any) -> None:
    """A summary line, what the answer had to do without, and a card per hit."""
    hits = list(result)
    if not hits:
        screen.line((EMPTY, "dim"))
    else:
        screen.line(
            (f"{len(hits)} {'result' if len(hits) == 1 else 'results'}", "title"), f' for "{query}"' if query else ""
        )
    for one in getattr(result, "degraded", ()):
        screen.line((f"{one.stage}: {one.reason}", "warn"), wrap=True)
    wanted = _wanted(query) if screen.is_terminal else frozenset()
    for number, hit in enumerate(hits, 1):
        _draw_hit(screen, number, hit, wanted)
    explained = any(hit.explain is not None for hit in hits)
    without = getattr(result, "model_in_use", False) and not _lacks_model(result)
    _draw_coverage(screen, getattr(result, "vectors", None), explained=explained, without=without)
    for one in getattr(result, "missing", None) or ():
        screen.line((one.uri, "uri"), (f"  {one.reason}", "label"))
        screen.line((one.message, "dim"), indent=4, wrap=True)


def _lacks_model(result: Any) -> bool:
    """Whether the model did not answer: then it may be unknown how many vectors there are, and the reason was told."""
    return any(one.stage == "vectors" for one in getattr(result, "degraded", ()))


def _draw_hit(screen: Screen, number: int, hit: Any, wanted: frozenset[str]) -> None:
    digits = f"{number:>2}. "
    where: list[Span] = [(hit.uri, "uri")]
    if hit.lines:
        where.append((f"#L{hit.lines[0]}-L{hit.lines[1]}", "line"))
    level = f"  {LEVELS[hit.level]}" if hit.level in LEVELS else ""
    kind = f"  {hit.context_type}" if hit.context_type != "resource" else ""
    screen.line((digits, "dim"), *where, (f"  {hit.score:.3f}", "number"), (f"{level}{kind}", "dim"))
    indent = len(digits)
    if hit.duplicate_of:
        screen.line((f"same content as {hit.duplicate_of}", "dim"), indent=indent)
    if hit.tags:
        screen.line((", ".join(hit.tags), "dim"), indent=indent)
    shown = " ".join((hit.snippet or hit.abstract).split())
    if shown and hit.content is None:
        screen.line(*highlighted(shown, wanted), indent=indent, wrap=True)
    if hit.content is not None:
        for line in hit.content.removesuffix("\n").split("\n"):
            screen.line(*highlighted(line.removesuffix("\r"), wanted), indent=indent)
    if hit.explain is not None:
        _draw_explanation(screen, hit.explain, indent)


def _draw_coverage(screen: Screen, vectors: Any, *, explained: bool, without: bool) -> None:
    """What part of the passages has a vector, where that is worth saying: some have none, or it was asked for.

    ``without``: also where all have none, for there should be some.
    """
    if vectors is None or not vectors.of or not (explained or vectors.have < vectors.of):
        return
    if not (vectors.have or explained or without):
        return
    told = f"vectors of {vectors.have:,} of {vectors.of:,} passages"
    if not vectors.have:
        told = f"no vectors of {vectors.of:,} passages: the words answer alone"
    elif vectors.have < vectors.of:
        told += "; the rest answers by its words"
    screen.line((told, "dim"), wrap=True)


def _draw_explanation(screen: Screen, parts: tuple[tuple[str, float], ...], indent: int) -> None:
    if not parts:
        screen.line(("no score: chosen by the filter", "dim"), indent=indent)
        return
    shown = _largest(parts)
    columns = max(width(name) for name, _ in shown)
    largest = max(abs(value) for _, value in shown) or 1.0
    full, empty = screen.symbol("█", "#"), screen.symbol("·", ".")
    for name, value in shown:
        if name in NO_VECTOR:
            screen.line((padded(name, columns), "label"), (f"  {NO_VECTOR[name]}", "dim"), indent=indent)
            continue
        cells = round(BAR_CELLS * abs(value) / largest)
        bar = f"{full * cells}{empty * (BAR_CELLS - cells)}  " if screen.is_terminal else ""
        screen.line(
            (padded(name, columns), "label"),
            "  ",
            (bar, "good" if value >= 0 else "bad"),
            f"{value:+.3f}",
            indent=indent,
        )


def _largest(parts: tuple[tuple[str, float], ...]) -> list[tuple[str, float]]:
    """The parts with the lesser words in one sum: a long question has dozens that say little each."""
    words = [part for part in parts if part[0].startswith("words:")]
    lesser = words[WORDS_SHOWN:]
    if len(lesser) < 2:
        return list(parts)
    total = (f"{len(lesser)} other words", sum(value for _, value in lesser))
    return [*words[:WORDS_SHOWN], total, *(part for part in parts if part not in words)]


def highlighted(text: str, wanted: frozenset[str]) -> list[Span]:
    """``text`` with the words whose stems are in ``wanted`` marked."""
    if not wanted:
        return [text]
    spans: list[Span] = []
    done = 0
    for found in _WORD.finditer(text):
        if not wanted.isdisjoint(_stems(found[0])):
            spans += [text[done : found.start()], (found[0], "match")]
            done = found.end()
    return [*spans, text[done:]]


def _wanted(query: str) -> frozenset[str]:
    from openviking.index.analyse import analyse_query

    return frozenset(analyse_query(query))


def _stems(word: str) -> list[str]:
    from openviking.index.analyse import analyse

    return analyse(word).joined.split(" ")
