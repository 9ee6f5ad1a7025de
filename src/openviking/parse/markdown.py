"""Parses Markdown: front matter, the tree of headings, and the places between blocks where it may be cut."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from openviking.parse.document import Document
from openviking.parse.plain import outline
from openviking.parse.prose import LEAD, first_paragraph, informative, lines_of, one_line, plain_inline
from openviking.text import shorten

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_ATX_CLOSE = re.compile(r"(?:^|[ \t])#+$")
_SETEXT = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$|")
_NO_PARAGRAPH = re.compile(r"(?: {4}|\t| {0,3}(?:>|[-+*][ \t]|\d{1,9}[.)][ \t]|\||<|[-=*_]{3,}[ \t]*$))")
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]{0,100}\}$")
_PAIR = re.compile(r"([A-Za-z_][\w.\-]{0,60})[ \t]*:[ \t]*(.*)")
_ITEM = re.compile(r"\s+-[ \t]+(.*)|-[ \t]+(.*)")
_LINE_LOOK = 1_000
_FRONT_LINES = 400
_FRONT_VALUES = 60
_VALUE = 200
_TITLE = 200


@dataclass
class _Front:
    """A front matter block: where it ends, and the values worth finding."""

    end: int = 0
    title: str = ""
    description: str = ""
    keywords: list[str] = field(default_factory=list)


def parse_markdown(text: str) -> Document:
    """The document of a Markdown text.

    Sections are ATX and setext headings with what follows them, nested by level (CommonMark 0.31 §4.2, §4.3); lines in
    fenced code blocks, HTML comments and the front matter are no headings. The title is the front matter's ``title``
    or ``name``, else the first heading of the highest level; the lead its ``description``, else the first paragraph.
    """
    front = _front_matter(text)
    headings, breaks = _scan(text, front.end)
    sections = outline(text, headings, (front.end,), marks=True)
    title = front.title
    if not title and headings:
        highest = min(level for _, _, level, _ in headings)
        title = next(name for _, _, level, name in headings if level == highest)
    lead = front.description
    if not lead:
        bodies = [front.end, *(body for _, body, _, _ in headings)]
        ends = [*(start for start, _, _, _ in headings), len(text)]
        for body, end in list(zip(bodies, ends, strict=True))[:50]:
            lead = first_paragraph(text, body, end, LEAD)
            if informative(lead):
                break
    language = "markdown"
    return Document("markdown", language, title, lead, sections, tuple(front.keywords), breaks)


def _scan(text: str, start: int) -> tuple[list[tuple[int, int, int, str]], tuple[int, ...]]:
    """Headings as (start, start of body, level, title), and the starts of blocks."""
    headings: list[tuple[int, int, int, str]] = []
    breaks: list[int] = []
    fence = ""
    comment = False
    blank = True
    paragraph = -1  # start of the last line when it is the only one of its paragraph so far
    for begin, end in lines_of(text):
        if begin < start:
            continue
        line = text[begin : min(end, begin + _LINE_LOOK)].rstrip("\r")
        stripped = line.strip()
        if fence:
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
            continue
        if comment:
            comment = "-->" not in text[begin:end]
            continue
        if not stripped:
            blank, paragraph = True, -1
            continue
        if blank and begin:
            breaks.append(begin)
        opened = _FENCE.match(line)
        if opened and opened[1]:
            fence, paragraph, blank = opened[1], -1, False
            continue
        atx = _ATX.fullmatch(line)
        if atx:
            title = _ATX_CLOSE.sub("", (atx[2] or "").strip()).strip()
            headings.append((begin, min(end + 1, len(text)), len(atx[1]), _title(title)))
            paragraph = -1
        elif paragraph >= 0 and _SETEXT.fullmatch(line):
            title = _title(text[paragraph:begin])
            headings.append((paragraph, min(end + 1, len(text)), 1 if "=" in line else 2, title))
            paragraph = -1
        elif blank or (paragraph < 0 and _after_heading(headings, begin)):
            paragraph = -1 if _NO_PARAGRAPH.match(line) or end - begin > _TITLE else begin
        else:
            paragraph = -1
        opening = text.rfind("<!--", begin, end)
        comment = opening >= 0 and "-->" not in text[opening:end]
        blank = False
    return [heading for heading in headings if heading[3]], tuple(breaks)


def _after_heading(headings: list[tuple[int, int, int, str]], begin: int) -> bool:
    return bool(headings) and headings[-1][1] == begin


def _title(raw: str) -> str:
    return shorten(plain_inline(_ATTRIBUTES.sub("", raw.strip())), _TITLE)


def _front_matter(text: str) -> _Front:
    """The YAML (``---``) or TOML (``+++``) block at the very start, as far as simple pairs and lists go."""
    front = _Front()
    mark = text[:3]
    if mark not in ("---", "+++") or text[3 : text.find("\n") if "\n" in text else len(text)].strip():
        return front
    key = ""
    values: list[tuple[str, str]] = []
    for number, (begin, end) in enumerate(lines_of(text)):
        line = text[begin : min(end, begin + _LINE_LOOK)].rstrip()
        if number == 0:
            continue
        if number > _FRONT_LINES:
            return _Front()
        if line == mark or (mark == "---" and line == "..."):
            front.end = min(end + 1, len(text))
            break
        pair = _PAIR.fullmatch(line if mark == "---" else line.replace("=", ":", 1))
        item = _ITEM.fullmatch(line)
        if item:
            values.append((key, item[1] or item[2] or ""))
        elif pair:
            key = pair[1].lower()
            values.append((key, pair[2]))
        elif line.startswith((" ", "\t")) and key:
            if values and values[-1][0] == key and values[-1][1].strip(">|+- "):
                values[-1] = (key, f"{values[-1][1]} {line.strip()}")
            else:
                values.append((key, line.strip()))
    if not front.end:
        return front
    for key, raw in values:
        _note(front, key, raw)
    return front


def _note(front: _Front, key: str, raw: str) -> None:
    value = one_line(raw).strip()
    if value[:1] in "[{" and value[-1:] in "]}":
        parts = [part.strip().strip("\"'") for part in value[1:-1].split(",")]
    else:
        parts = [value.strip("\"'")]
    if key in ("title", "name") and (not front.title or key == "title"):
        front.title = shorten(parts[0], _TITLE)
    elif key in ("description", "summary", "abstract") and not front.description and parts[0].strip(">|+-"):
        front.description = shorten(", ".join(parts), LEAD)
    else:
        for part in parts:
            if part.strip(">|+-~ ") and part not in front.keywords and len(front.keywords) < _FRONT_VALUES:
                front.keywords.append(shorten(part, _VALUE))
