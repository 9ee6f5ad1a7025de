"""Parses plain text and reStructuredText: headings where they are certain, paragraphs as places to cut."""

from __future__ import annotations

import re
from itertools import pairwise

from openviking.parse.document import Document, Section
from openviking.parse.prose import LEAD, SECTION_LEAD, first_paragraph, lines_of, one_line

_UNDERLINE = re.compile(r"([=\-~^*+#\"'`:.])\1{2,}\s*")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9 &/,'()\-]{2,58}[A-Z0-9)]\s*")
_CHAPTER = re.compile(
    r"(?:\d{1,3}(?:\.\d{1,3}){1,4}\.?|(?:Chapter|CHAPTER|Appendix|APPENDIX|Part|PART)\s+\w{1,8}[.:]?)\s+\S.{0,80}"
)
_PARAGRAPH = re.compile(r"\n(?:[ \t\r]*\n)+")
_LONGEST = 100
_TITLE = 200


def parse_plain(text: str, language: str = "") -> Document:
    """The document of any text. Headings are underlined lines, and lone lines in capitals or with a section number."""
    breaks = tuple(match.end() for match in _PARAGRAPH.finditer(text) if match.end() < len(text))
    found = _headings(text)
    sections = outline(text, found, ())
    title = found[0][3] if found and not text[: found[0][0]].strip() else ""
    lead = next((section.lead for section in sections if section.lead), "")
    if sections:
        first = next((section for section in sections if section.lead), sections[0])
        lead = first_paragraph(text, _body(first, found), first.end, LEAD)
    return Document("text", language, title, lead, sections, breaks=breaks)


def parse_source_text(text: str, language: str) -> Document:
    """The document of program text for which there is no grammar: one section, blank lines as places to cut."""
    breaks = tuple(match.end() for match in _PARAGRAPH.finditer(text) if match.end() < len(text))
    sections = (Section(0, len(text)),) if text else ()
    return Document("code", language, "", leading_comment(text), sections, breaks=breaks)


_NOTICE = re.compile(
    r"(?i)\bcopyright\b|\(c\) *\d{4}|\bSPDX-|\b(?:licen[cs]ed?|released|distributed) under\b|\ball rights\b"
)
_COMMENT_MARK = re.compile(
    r"\s*(?:#!.*|/\*+!?|\*+/|\*(?=\s|$)|//+!?|#+(?!\[|include|define|if|pragma|import|region)|--+\[*|;+|%+|\"\"\"|'''|\(\*|\{-\|?|REM\b|@rem\b)\s?"
)


def leading_comment(text: str) -> str:
    """What the comment at the head of a program says, in one line; "" when it begins with code or a licence."""
    paragraphs: list[list[str]] = [[]]
    for start, end in lines_of(text[:6_000]):
        line = text[start:end].strip()
        match = _COMMENT_MARK.match(line)
        if line and not match and not paragraphs[0] and len(paragraphs) == 1:
            return ""
        if line and not match:
            break
        words = one_line(_COMMENT_MARK.sub("", line, count=1).removesuffix("*/").removesuffix("-->")) if match else ""
        if words.strip("-=*#/ "):
            paragraphs[-1].append(words)
        elif paragraphs[-1]:
            paragraphs.append([])
    for paragraph in paragraphs:
        lead = " ".join(paragraph)
        notice = _NOTICE.search(lead[:300])
        if not notice and not re.match(r"(?i)licen[cs]e\b|this file is (part|licen)|-\*-|vim:|coding[:=]", lead):
            found = first_paragraph(lead, 0, len(lead), LEAD)
            if found:
                return found
    return ""


def outline(
    text: str, headings: list[tuple[int, int, int, str]], before: tuple[int, ...], marks: bool = False
) -> tuple[Section, ...]:
    """Sections from headings ``(start, start of body, level, title)``, nested by level, with what precedes the first.

    ``before`` are further offsets at which the part before the first heading is divided; ``marks`` puts the level
    in front of the signature as Markdown does.
    """
    if not text:
        return ()
    first = headings[0][0] if headings else len(text)
    starts = [0, *(offset for offset in before if 0 < offset < first), first]
    sections = [
        Section(start, end, lead=first_paragraph(text, start, end, SECTION_LEAD))
        for start, end in pairwise(starts)
        if start < end
    ]
    path: list[tuple[int, str]] = []
    for index, (start, body, level, title) in enumerate(headings):
        end = headings[index + 1][0] if index + 1 < len(headings) else len(text)
        while path and path[-1][0] >= level:
            path.pop()
        depth = len(path)
        path.append((level, title))
        sections.append(
            Section(
                start,
                end,
                tuple(name for _, name in path if name),
                "",
                f"{'#' * level} {title}" if marks else title,
                depth,
                first_paragraph(text, body, end, SECTION_LEAD),
            )
        )
    return tuple(sections)


def _body(section: Section, headings: list[tuple[int, int, int, str]]) -> int:
    return next((body for start, body, _, _ in headings if start == section.start), section.start)


def _headings(text: str) -> list[tuple[int, int, int, str]]:
    """Headings as (start, start of body, level, title); levels of underlines in the order in which they appear."""
    found: list[tuple[int, int, int, str]] = []
    levels: dict[str, int] = {}
    lines = [*text.split("\n"), ""]
    free, skip, following = True, 0, 0
    for index, raw in enumerate(lines[:-1]):
        start, following = following, following + len(raw) + 1
        line = raw[: _LONGEST + 1].rstrip()
        if skip or not line:
            skip, free = max(0, skip - 1), not line
            continue
        follower = lines[index + 1][: _LONGEST + 1].rstrip()
        if free and len(line) <= _LONGEST:
            title = one_line(line)[:_TITLE]
            over = _UNDERLINE.fullmatch(line)
            under = lines[index + 2].rstrip() if over and follower and index + 2 < len(lines) else ""
            if over and under[:1] == line[0] and _is_underline(follower, under[: _LONGEST + 1]):
                level = levels.setdefault(line[0] * 2, len(levels) + 1)
                skip = 2
                body = following + len(lines[index + 1]) + len(lines[index + 2]) + 2
                found.append((start, body, min(level, 6), one_line(follower)[:_TITLE]))
            elif not over and _is_underline(line, follower):
                level = levels.setdefault(follower[0], len(levels) + 1)
                skip = 1
                found.append((start, following + len(lines[index + 1]) + 1, min(level, 6), title))
            elif line[0] not in " \t" and _CAPITALS.fullmatch(line) and sum(map(str.isalpha, line)) * 2 > len(line):
                found.append((start, following, 1, title))
            elif not follower and _CHAPTER.fullmatch(line.strip()) and line[-1] not in ".,;:!?":
                level = min(6, 1 + line.split()[0].rstrip(".").count("."))
                found.append((start, following, level, title))
        free = False
    return [(start, min(body, len(text)), level, title) for start, body, level, title in found if title]


def _is_underline(line: str, follower: str) -> bool:
    return (
        bool(_UNDERLINE.fullmatch(follower))
        and any(map(str.isalnum, line))
        and len(follower) + 2 >= len(line.strip())
        and len(follower) <= 2 * len(line) + 20
    )
