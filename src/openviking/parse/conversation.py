"""Parses recorded conversations, a message a line as JSON: what was said is searched, not how it is written down."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from openviking.parse.document import Document, Section
from openviking.parse.prose import LEAD, SECTION_LEAD, first_paragraph, lines_of

FILE: Final = "messages.jsonl"

# Strings without backtracking: they may be megabytes long.
_STRING = r'[^"\\]*+(?:\\.[^"\\]*+)*+'
_MESSAGE = re.compile(rf'\{{"id":"{_STRING}","role":"')
_SAID = re.compile(rf'"(?:role|text|abstract|tool_name|tool_output)":"({_STRING})')
_REST = re.compile(rf'{_STRING}(?="\}}|\\?\Z)')
_ROLE = '"role":"'
_ESCAPE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\(.?)", re.DOTALL)
_LETTERS: Final = {"n": "\n", "r": "\n", "t": "\t", "b": " ", "f": " "}


def is_conversation(name: str, text: str) -> bool:
    """Whether a file is a recorded conversation: by its name and its first message."""
    return name.rpartition("/")[2] == FILE and _MESSAGE.match(text) is not None


def parse_conversation(text: str) -> Document:
    """The document of a recorded conversation: a section for each message."""
    visible = _ranges(text)
    sections = []
    at = 0
    for start, end in lines_of(text):
        following = min(end + 1, len(text))
        while at < len(visible) and visible[at][1] <= start:
            at += 1
        inside = []
        while at < len(visible) and visible[at][0] < end:
            inside.append(visible[at])
            at += 1
        said = spoken(text, inside, start, min(end, start + 8 * SECTION_LEAD))
        sections.append(Section(start, following, lead=first_paragraph(said, 0, len(said), SECTION_LEAD)))
    lead = next((section.lead for section in sections if section.lead), "")[:LEAD]
    return Document("conversation", "jsonl", "", lead, tuple(sections), visible=visible)


def spoken(text: str, visible: Sequence[tuple[int, int]], start: int, end: int) -> str:
    """What was said from ``start`` to ``end``: a line or more for each message, such as ``user: Good morning``."""
    parts: list[str] = []
    index = max(0, bisect_right(visible, (start, end)) - 1)
    while index < len(visible) and visible[index][0] < end:
        first, last = visible[index]
        piece = _unescaped(text[max(start, first) : min(end, last)])
        if piece.strip():
            is_role = text.endswith(_ROLE, 0, first)
            parts.append(f"\n{' '.join(piece.split())}:" if is_role else f" {piece.strip()}")
        index += 1
    return "".join(parts).strip()


def said_in(piece: str) -> str:
    """As `spoken`, of a piece of a file that may begin and end within a message."""
    visible = _ranges(piece)
    if not piece.startswith('{"') and (rest := _REST.match(piece)):
        visible = ((0, rest.end()), *visible)
    return spoken(piece, visible, 0, len(piece))


def _ranges(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(match.span(1) for match in _SAID.finditer(text))


def _unescaped(string: str) -> str:
    """The inside of a JSON string as it is read, also one whose last escape is cut off."""
    return _ESCAPE.sub(_character, string) if "\\" in string else string


def _character(match: re.Match[str]) -> str:
    if match[1] is not None:
        return _LETTERS.get(match[1], match[1])
    return str(json.loads(f'"{match[0]}"')).encode("utf-8", "replace").decode()
