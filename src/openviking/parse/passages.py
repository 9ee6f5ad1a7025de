"""Cuts a parsed file into passages: contiguous pieces of at most 300 tokens that follow the file's structure.

Small neighbouring sections share a passage, a section that fits stays whole, a longer one is divided into parts of
similar size at the best places there are.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from openviking.parse.conversation import spoken
from openviking.parse.document import Document, Passage, Section
from openviking.parse.measure import Scale
from openviking.text import estimate_tokens, shorten

MOST = 300
"""Tokens that a passage never exceeds; most have 150 or more."""

_LEAST = 150.0
_PART = 250.0
_EASY = 240.0
_SLIVER = 60.0
_BREADCRUMB = 300
_SEPARATOR = " > "

_BLANK_LINE = re.compile(r"\n(?:[ \t\r]*\n)+")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"[.!?][)\"'\]]*\s+|[。！？．…][」』”’）]*")
_PHRASE = re.compile(r"[,;:]\s+|[，、；：]|[)}\]>;,]")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\b")
_PROSE = ((_BLANK_LINE, 0.1), (_SENTENCE, 0.25), (_LINE, 0.35), (_SPACE, 0.6), (_PHRASE, 0.7), (_WORD, 0.9))
_CODE = ((_BLANK_LINE, 0.1), (_LINE, 0.25), (_SENTENCE, 0.6), (_PHRASE, 0.65), (_SPACE, 0.7), (_WORD, 0.9))


def cut(document: Document, text: str) -> tuple[Passage, ...]:
    """The passages of ``text``, in order; together they are every byte of it. Empty for an empty text.

    ``document`` is what ``parse`` made of the same ``text``. No passage's body has more than 300 estimated tokens;
    for HTML the body leaves out tags, so that there the slice itself may be longer.
    """
    if not text:
        return ()
    return tuple(_Cutter(document, text).passages())


class _Cutter:
    def __init__(self, document: Document, text: str) -> None:
        self._document = document
        self._text = text
        self._sections = document.sections or (Section(0, len(text)),)
        self._scale = Scale(text, document.visible)
        self._breaks = sorted({*document.breaks, *(section.start for section in self._sections)})
        self._prose = document.kind in ("markdown", "text", "html", "conversation")
        self._read = reader(document)
        self._ranks = _PROSE if self._prose else _CODE

    def passages(self) -> Iterator[Passage]:
        text = self._text
        byte, line, at = 0, 1, 0
        for start, end in self._joined(self._spans()):
            for part_start, part_end, body in self._bodies(start, end):
                piece = text[part_start:part_end]
                size = len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogatepass"))
                inside = piece.count("\n", 0, len(piece) - 1)
                at, breadcrumb, symbol = self._labels(at, part_start, part_end)
                yield Passage(byte, byte + size, line, line + inside, breadcrumb, symbol, body)
                byte += size
                line += inside + (piece[-1] == "\n")

    def _spans(self) -> Iterator[tuple[int, int]]:
        """Stretches of at most 300 tokens, chosen section by section."""
        sections, scale = self._sections, self._scale
        if scale.weight(0, len(self._text)) <= MOST:
            yield 0, len(self._text)
            return
        index, at = 0, 0
        while index < len(sections):
            if scale.weight(at, sections[index].end) > MOST:
                yield from self._divided(at, sections[index].end)
                at = sections[index].end
                index += 1
                continue
            last, weight, following = self._grouped(index, at)
            if weight < _SLIVER and last + 1 == following < len(sections):
                neighbour = sections[following]
                if self._prose or scale.weight(neighbour.start, neighbour.end) > MOST:
                    index = following
                    continue
            yield at, sections[last].end
            at = sections[last].end
            index = last + 1

    def _grouped(self, index: int, at: int) -> tuple[int, float, int]:
        """Which section a passage from ``at`` should end with, its weight, and the first section that can't be in it."""
        sections = self._sections
        rest = self._scale.weight(at, len(self._text))
        best, best_cost, best_weight = index, math.inf, 0.0
        while index < len(sections):
            weight = self._scale.weight(at, sections[index].end)
            if weight > MOST:
                break
            cost = max(0.0, _LEAST - weight) / 100 + max(0.0, weight - _EASY) / 120
            if rest > weight:
                cost += max(0.0, 100 - (rest - weight)) / 100
                cost += 0.1 * min(4, _shared(sections[index], sections[index + 1]))
            if cost < best_cost:
                best, best_cost, best_weight = index, cost, weight
            index += 1
        return best, best_weight, index

    def _divided(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Parts of similar weight of a stretch that is too long."""
        while (weight := self._scale.weight(start, end)) > MOST:
            ideal = weight / max(2, math.ceil(weight / _PART))
            middle = max(start + 1, self._scale.advance(start, ideal, end))
            low = max(start + 1, self._scale.advance(start, ideal / 2, end))
            high = max(middle, self._scale.advance(start, min(MOST, weight - _SLIVER), end))
            place = self._place(start, low, middle, high)
            yield start, place
            start = place
        yield start, end

    def _place(self, start: int, low: int, middle: int, high: int) -> int:
        """The best offset in ``low``..``high`` to cut at: structure first, then nearness to ``middle``."""
        span = middle - start
        best, best_cost = -1, math.inf
        first, last = bisect_left(self._breaks, low), bisect_right(self._breaks, high)
        for place in self._breaks[first:last]:
            cost = abs(place - middle) / span
            if cost < best_cost:
                best, best_cost = place, cost
        for pattern, penalty in self._ranks:
            if penalty >= best_cost:
                break
            for match in pattern.finditer(self._text, max(start, low - 1), high):
                place = match.end()
                cost = abs(place - middle) / span + penalty
                if low <= place and cost < best_cost:
                    best, best_cost = place, cost
        place = best if best > 0 else middle
        return _between_graphemes(self._text, max(low, place - 64), place)

    def _joined(self, spans: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The spans, slivers joined to the one before or after them where that fits."""
        scale = self._scale
        held: tuple[int, int] | None = None
        for start, end in spans:
            if held is None:
                held = (start, end)
                continue
            small = scale.weight(start, end) < _SLIVER or scale.weight(*held) < _SLIVER
            if small and scale.weight(held[0], end) <= MOST:
                held = (held[0], end)
            else:
                yield held
                held = (start, end)
        if held is not None:
            yield held

    def _bodies(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """``start``..``end`` with its searched text; cut again where leaving out the markup left nothing or too much."""
        visible = self._document.visible
        if not visible:
            yield start, end, self._text[start:end]
            return
        body = self._read(self._text, visible, start, end)
        if body.strip() and estimate_tokens(body) <= MOST:
            yield start, end, body
            return
        if estimate_tokens(self._text[start:end]) > MOST:
            plain = Scale(self._text[start:end])
            at, size = 0, end - start
            while at < size:
                place = plain.advance(at, MOST, size)
                if place < size:
                    place = _between_graphemes(self._text, start + max(at + 1, place - 64), start + place) - start
                yield start + at, start + place, self._checked(start + at, start + place)
                at = place
        else:
            yield start, end, self._checked(start, end)

    def _checked(self, start: int, end: int) -> str:
        body = self._read(self._text, self._document.visible, start, end)
        if self._document.kind == "conversation" and not body:
            # Nothing was said here, and how it is written down is nothing to be found by.
            return ""
        return body if body.strip() and estimate_tokens(body) <= MOST else self._text[start:end]

    def _labels(self, index: int, start: int, end: int) -> tuple[int, str, str]:
        """Breadcrumb and symbols of a passage; ``index`` is a section at or before its start, the first value the next."""
        sections = self._sections
        while index + 1 < len(sections) and sections[index].end <= start:
            index += 1
        last = index
        while last + 1 < len(sections) and sections[last + 1].start < end:
            last += 1
        inside = sections[index : last + 1]
        symbols = dict.fromkeys(section.symbol for section in inside if section.symbol and section.start >= start)
        return last, _breadcrumb(_common_headings(inside, start, end)), " ".join(symbols)


def reader(document: Document) -> Callable[[str, Sequence[tuple[int, int]], int, int], str]:
    """What makes readable text of the visible ranges of a document."""
    return spoken if document.kind == "conversation" else visible_text


def visible_text(text: str, visible: Sequence[tuple[int, int]], start: int, end: int) -> str:
    """What a reader sees of the markup from ``start`` to ``end``, entities decoded, runs of white space made one."""
    parts: list[str] = []
    index = max(0, bisect_right(visible, (start, end)) - 1)
    while index < len(visible) and visible[index][0] < end:
        piece = text[max(start, visible[index][0]) : min(end, visible[index][1])]
        if piece:
            parts.append(piece)
        index += 1
    joined = re.sub(r"[ \t\r\f\v]+", " ", re.sub(r"\s*\n\s*", "\n", html.unescape(" ".join(parts))))
    return joined.strip()


def _shared(one: Section, two: Section) -> int:
    """How many headings two sections have in common."""
    count = 0
    for left, right in zip(one.headings, two.headings, strict=False):
        if left != right:
            break
        count += 1
    return count


def _common_headings(sections: Sequence[Section], start: int, end: int) -> tuple[str, ...]:
    """The headings that describe a passage: of the section that fills most of it, else the path that most of it shares."""
    sizes: dict[str, int] = {}
    for section in sections:
        size = min(end, section.end) - max(start, section.start)
        if size * 3 >= (end - start) * 2:
            return section.headings
        if section.headings:
            sizes[section.headings[0]] = sizes.get(section.headings[0], 0) + size
    if not sizes:
        return ()
    main = max(sizes, key=lambda heading: sizes[heading])
    titled = [section.headings for section in sections if section.headings and section.headings[0] == main]
    common = titled[0]
    for headings in titled[1:]:
        size = 0
        while size < min(len(common), len(headings)) and common[size] == headings[size]:
            size += 1
        common = common[:size]
    return common


def _breadcrumb(headings: tuple[str, ...]) -> str:
    full = _SEPARATOR.join(headings)
    if len(full) <= _BREADCRUMB:
        return full
    room = max(20, _BREADCRUMB // len(headings) - len(_SEPARATOR))
    return shorten(_SEPARATOR.join(shorten(heading, room) for heading in headings), _BREADCRUMB)


def _between_graphemes(text: str, low: int, place: int) -> int:
    """``place``, or the nearest earlier offset from ``low`` on that is not inside a user-perceived character."""
    at = place
    while at > low and at < len(text) and _continues(text[at - 1], text[at]):
        at -= 1
    return at if at > low or not _continues_at(text, at) else place


def _continues_at(text: str, at: int) -> bool:
    return 0 < at < len(text) and _continues(text[at - 1], text[at])


def _continues(before: str, after: str) -> bool:
    """Whether ``after`` belongs to the same user-perceived character as ``before`` (a subset of UAX #29)."""
    if before == "\r" and after == "\n":
        return True
    if after < "\u0300":
        return False
    if before == "\u200d" or after in "\u200c\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff":
        return True
    return unicodedata.category(after) in ("Mn", "Mc", "Me")
