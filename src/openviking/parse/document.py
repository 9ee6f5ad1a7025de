"""What a parser makes of a file: its sections, as plain values.

A parser never copies text about: a section names a range of the text it was given, so that passages, lines and
citations always point into the file as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["markdown", "text", "html", "data", "code", "conversation"]


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of text that belongs together: a chapter, a function, a top-level key.

    ``start`` and ``end`` are character offsets into the document's text. The sections of a document are in order,
    do not overlap and cover every character from 0 to the end. ``headings`` is the path of titles that leads here
    (outermost first, own title last; for code: enclosing class names and the own name). ``symbol`` is the name
    that code defines here, else "". ``signature`` is one line that shows it in an outline, else "".
    ``depth`` is the nesting in an outline, 0 for the outermost. ``lead`` is the first informative prose inside
    (docstring, doc comment, first paragraph), one line of at most 300 characters, else "".
    """

    start: int
    end: int
    headings: tuple[str, ...] = ()
    symbol: str = ""
    signature: str = ""
    depth: int = 0
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of an outline: a definition in code, a key of data.

    ``depth`` is the nesting, 0 for the outermost. ``signature`` is the line itself, ``name`` what it defines, ``lead``
    what its documentation says first, else "".
    """

    depth: int
    name: str
    signature: str
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text file.

    ``title`` comes from the content (front matter, first heading, module docstring), else "". ``language`` is the
    programming or markup language in lower case, "" for plain text. ``lead`` is the first informative prose
    (docstring, first paragraph), at most 600 characters, else "". ``keywords`` are words of metadata worth finding (front
    matter values). ``breaks`` are character offsets at which a long section may best be cut, ascending. ``visible``
    are the ranges of markup that a reader would see or look for (text, alternative texts, targets of links), ascending
    and apart; empty when all of the text is such. ``outline`` are all definitions in order, also those inside of
    one section; empty where the sections themselves are the outline.
    """

    kind: Kind
    language: str
    title: str
    lead: str
    sections: tuple[Section, ...]
    keywords: tuple[str, ...] = ()
    breaks: tuple[int, ...] = field(default=(), repr=False)
    visible: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    outline: tuple[Entry, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a file that is indexed and cited: 150–300 estimated tokens where the text allows it.

    ``start``/``end`` are byte offsets into the UTF-8 text, ``first_line``/``last_line`` are 1-based and inclusive.
    The passages of a file are contiguous: together they are the whole text. ``breadcrumb`` is the headings'
    path joined by `` > ``. ``body`` is the text that is searched: the slice itself, for HTML without its tags.
    """

    start: int
    end: int
    first_line: int
    last_line: int
    breadcrumb: str
    symbol: str
    body: str
