"""A place for lines: coloured, wrapped and made harmless on a terminal, plain in a pipe.

``rich`` is imported with the first line for a terminal and never for a pipe.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Span = tuple[str, str] | str
"""A piece of a line: its text, with the name of its style unless it is plain."""

STYLES: Final = {
    "bad": "bold red",
    "dim": "dim",
    "file": "cyan",
    "good": "green",
    "label": "dim",
    "line": "green",
    "match": "bold red",
    "number": "bold",
    "strong": "bold",
    "title": "bold",
    "uri": "cyan",
    "warn": "yellow",
}

MIN_COLUMNS: Final = 20

_UNSAFE: Final = {
    code: "\ufffd"
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\t\n"
}


def harmless(text: str) -> str:
    """``text`` without control characters but tab and line end: what a file says must not drive the terminal."""
    return text.replace("\r\n", "\n").translate(_UNSAFE)


def harmless_json(text: str) -> str:
    """JSON that means the same, with what `harmless` takes away spelled as ASCII."""
    return text.translate({code: f"\\u{code:04x}" for code in _UNSAFE if code >= 0x7F})


class Screen:
    """One output stream as a place for lines: ``is_watched`` on any terminal, ``is_terminal`` on one with styles."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.is_watched = stream.isatty()
        self.is_terminal = self.is_watched and os.environ.get("TERM") != "dumb"
        self.is_unicode = (stream.encoding or "").lower().replace("-", "").startswith("utf")
        self._console: Console | None = None

    def line(self, *spans: Span, indent: int = 0, wrap: bool = False) -> None:
        """Write one line; ``wrap`` breaks prose at blanks to fit a terminal, anything else stays in one piece.

        On a terminal, a dumb one too, the text is made `harmless`.
        """
        if not self.is_terminal:
            plain = "".join(span if isinstance(span, str) else span[0] for span in spans)
            if self.is_watched:
                plain = harmless(plain)
            self.stream.write(" " * indent + plain + "\n")
            return
        if self._console is None:
            from rich.console import Console

            self._console = Console(file=self.stream, highlight=False, emoji=False, markup=False)
        text = _styled(spans)
        lines = text.wrap(self._console, max(self._console.width - indent, MIN_COLUMNS)) if wrap else [text]
        for line in lines:
            line.rstrip()
            self._console.print(_styled((" " * indent,)) + line, soft_wrap=True)

    def symbol(self, fancy: str, plain: str) -> str:
        """``fancy`` where the stream can show it, else ``plain``."""
        return fancy if self.is_unicode else plain


def _styled(spans: tuple[Span, ...]) -> Text:
    from rich.text import Text

    text = Text()
    for span in spans:
        part, style = (span, "") if isinstance(span, str) else span
        text.append(harmless(part), STYLES.get(style, style))
    return text
