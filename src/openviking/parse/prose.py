"""Finds what prose says first: its leading paragraph, its first informative sentence, its lines.

All functions look at a bounded stretch of text only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from openviking.text import shorten

LEAD = 600
"""Characters of a document's lead at most."""

SECTION_LEAD = 300
"""Characters of a section's lead at most."""

_LOOK = 8_000
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n")
_SENTENCE_END = re.compile(r"[.!?][)\"'\]]*(?=\s)|[。！？]")
_LETTERS = re.compile(r"[^\W\d_]")
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]]{0,300})\](?:\([^()\s]{0,500}(?:\s+\"[^\"]{0,200}\")?\)|\[[^\[\]]{0,100}\])")
# One word between underscores is rather a name such as __init__ than emphasis.
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3}(?!\w+_))(?=\S)([^*_]{1,300}?)(?<=\S)\1(?![\w*])")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,300}>|<!--|-->")
_NOT_PROSE = re.compile(r"\s*(?:[|#<>=~`+*_\-]{3,}|\||```|~~~|<!--|\[!\[|!\[|\.\. )")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|cf|vs|Dr|Mr|Mrs|Ms|St|No|Fig|approx)|\b[A-Z])\.$")


def lines_of(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line, the end without its ``\\n``; a final ``\\n`` adds no empty line."""
    start, size = 0, len(text)
    while start < size:
        end = text.find("\n", start)
        if end < 0:
            end = size
        yield start, end
        start = end + 1


def one_line(text: str) -> str:
    """``text`` with every run of white space made one blank, control characters left out."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def plain_inline(text: str) -> str:
    """One line of Markdown without the marks of links, emphasis, code and tags."""
    text = _IMAGE_OR_LINK.sub(r"\1", text)
    text = _TAG.sub("", text)
    text = _EMPHASIS.sub(r"\2", text)
    return one_line(text.replace("`", ""))


def first_paragraph(text: str, start: int, end: int, limit: int) -> str:
    """The first paragraph between the offsets that reads as prose, in one line of ``limit`` characters, else ""."""
    stretch = text[start : min(end, start + _LOOK)]
    fallback = ""
    for paragraph in _PARAGRAPH.split(stretch):
        if _NOT_PROSE.match(paragraph) or not _LETTERS.search(paragraph):
            continue
        line = plain_inline(paragraph[: 4 * limit])
        if informative(line):
            return shorten(line, limit)
        fallback = fallback or line
    return shorten(fallback, limit)


def informative(line: str) -> bool:
    """Whether a line has enough letters, in words, to tell something."""
    letters = len(_LETTERS.findall(line[:400]))
    wide = sum(1 for char in line[:400] if char >= "\u3000")
    return ((letters >= 12 and len(line[:400].split()) >= 3) or wide >= 6) and letters * 2 >= len(line[:400])


def first_sentence(lead: str, limit: int) -> str:
    """The first informative sentence of a one-line lead, at most ``limit`` characters."""
    start = 0
    for match in _SENTENCE_END.finditer(lead):
        if _ABBREVIATION.search(lead[max(0, match.end() - 8) : match.end()]):
            continue
        sentence = lead[start : match.end()].strip()
        if informative(sentence):
            return shorten(sentence, limit)
        if len(sentence) > limit:
            break
    return shorten(lead, limit)
