"""Parses program text with tree-sitter: definitions with their comments and decorators, and the code between them.

A file that is too large or too strange for the grammar is treated as text of its language, so nothing here raises.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from openviking.parse.definitions import Definition, find_definitions
from openviking.parse.document import Document, Entry, Section
from openviking.parse.passages import MOST
from openviking.parse.plain import leading_comment
from openviking.parse.prose import LEAD, SECTION_LEAD, first_paragraph, first_sentence, lines_of
from openviking.text import shorten, token_weight

_SYMBOLS = 500
_TITLE = 120
_CLOSING = re.compile(
    r"\s*(?:[})\]]|(?:end|else|elif|elsif|elseif|except|finally|catch|rescue|ensure|then|fi|done|esac|case)\b)"
)
_COMMENT_LINE = re.compile(r"\s*(?:#|//|/\*|\*|--|@)")
_PYTHON_DOC = re.compile(r"\s*[rRuUbB]{0,2}(\"\"\"|'''|\"|')(.{1,6000}?)\1", re.DOTALL)


def parse_code(text: str, language: str) -> Document:
    """The document of a program: sections are its definitions, a class of more than 300 tokens divided into its methods.

    ``outline`` has every definition found. The lead is the module's docstring or leading comment.
    """
    definitions = find_definitions(text, language)
    module = _module_lead(text, language)
    title = first_sentence(module, _TITLE) if language == "python" else ""
    sections = _Sections(text).build(definitions)
    entries = tuple(
        Entry(item.depth, item.name, item.signature, first_paragraph(item.doc, 0, len(item.doc), SECTION_LEAD))
        for item in _flat(definitions)
    )
    breaks = _breaks(text, sections)
    # The documentation of some definition would pass for the purpose of the file, unless the file is that definition.
    lead = module or (entries[0].lead if len({entry.name for entry in entries if not entry.depth}) == 1 else "")
    return Document("code", language, title, lead, sections, breaks=breaks, outline=entries)


def _flat(definitions: list[Definition]) -> list[Definition]:
    found: list[Definition] = []
    stack = list(reversed(definitions))
    while stack:
        item = stack.pop()
        found.append(item)
        stack.extend(reversed(item.inner))
    return found


def _module_lead(text: str, language: str) -> str:
    if language == "python":
        match = _PYTHON_DOC.match(text, _after_comments(text))
        return first_paragraph(match[2], 0, len(match[2]), LEAD) if match else leading_comment(text)
    return leading_comment(text)


def _after_comments(text: str) -> int:
    """Where the first line starts that is neither blank nor a ``#`` comment."""
    for start, end in lines_of(text):
        line = text[start : min(end, start + 200)].strip()
        if line and not line.startswith("#"):
            return start
    return len(text)


@dataclass
class _Piece:
    start: int
    end: int
    headings: tuple[str, ...]
    symbol: str = ""
    signature: str = ""
    depth: int = 0
    doc: str = ""


@dataclass
class _Sections:
    """Lays the definitions out as sections that cover the text."""

    text: str
    pieces: list[_Piece] = field(default_factory=list)

    def build(self, definitions: list[Definition]) -> tuple[Section, ...]:
        self._lay(definitions, 0, len(self.text), (), 0)
        return tuple(
            Section(
                piece.start,
                piece.end,
                piece.headings,
                piece.symbol,
                piece.signature,
                piece.depth,
                first_paragraph(piece.doc, 0, len(piece.doc), SECTION_LEAD),
            )
            for piece in self.pieces
        )

    def _lay(self, definitions: list[Definition], start: int, end: int, path: tuple[str, ...], depth: int) -> None:
        at = start
        for item in definitions:
            first, last = max(at, item.start), min(end, item.end)
            if last <= first:
                continue
            self._add(_Piece(at, first, path, depth=depth))
            headings = (*path, *item.headings)
            if item.inner and token_weight(self.text[first:last]) > MOST:
                head = min(last, max(first, item.inner[0].start))
                self._add(_Piece(first, head, headings, item.name, item.signature, depth, item.doc))
                self._lay(item.inner, head, last, headings, depth + 1)
            else:
                names = dict.fromkeys(inner.name for inner in _flat([item]))
                symbol = shorten(" ".join(names), _SYMBOLS)
                self._add(_Piece(first, last, headings, symbol, item.signature, depth, item.doc))
            at = last
        self._add(_Piece(at, end, path, depth=depth))

    def _add(self, piece: _Piece) -> None:
        """Appends a piece; one that says nothing (blanks, closing brackets) becomes the end of the piece before."""
        if piece.start >= piece.end:
            return
        if self.pieces and not piece.symbol and not re.search(r"\w", self.text[piece.start : piece.end]):
            self.pieces[-1].end = piece.end
        else:
            self.pieces.append(piece)


def _breaks(text: str, sections: tuple[Section, ...]) -> tuple[int, ...]:
    """Starts of the outermost statements in each section that is too long for a passage."""
    found: list[int] = []
    for section in sections:
        if section.end - section.start > MOST and token_weight(text[section.start : section.end]) > MOST:
            found.extend(_statements(text, section.start, section.end))
    return tuple(found)


def _statements(text: str, start: int, end: int) -> list[int]:
    indents: list[tuple[int, int]] = []
    counts: Counter[int] = Counter()
    before_is_comment = False
    for first, last in lines_of(text[start:end]):
        line = text[start + first : start + min(last, first + 200)]
        bare = line.lstrip(" \t")
        if not bare.strip():
            before_is_comment = False
            continue
        indent = len(line) - len(bare)
        comment = bool(_COMMENT_LINE.match(line))
        if not comment:
            counts[indent] += 1
        if not (before_is_comment or _CLOSING.match(line)):
            indents.append((indent, start + first))
        before_is_comment = comment
    if not counts:
        return []
    levels = sorted(counts)
    base = levels[1] if len(levels) > 1 and counts[levels[0]] <= 3 else levels[0]
    return [place for indent, place in indents if indent <= base]
