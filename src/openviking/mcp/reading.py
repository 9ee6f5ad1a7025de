"""The tools read and download: the text of files by lines, and a link to their bytes."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import Field

from openviking.errors import InvalidArgumentError, OpenVikingError, UnimplementedError
from openviking.mcp.arguments import Arguments, Cursor, Texts
from openviking.mcp.desk import Desk, told
from openviking.mcp.paging import MAX_TOKENS, wrong_cursor
from openviking.mcp.tool import Tool
from openviking.text import estimate_tokens, shorten, token_weight

SHOWN_URI: Final = 500

Uris = Annotated[
    Texts,
    Field(
        min_length=1, description="A URI or several; viking://…/a.md#L12-L30 gives these lines, as find and grep tell."
    ),
]
_CURSOR: Final = re.compile(r"([0-9]{1,4}):([0-9]{1,12}):([0-9]{1,12})")


class Read(Arguments):
    """Files, and which of their lines."""

    uris: Uris
    offset: int = Field(default=0, ge=0, description="Lines to skip, of each.")
    limit: int = Field(default=-1, ge=-1, description="Lines to give, of each; -1: all.")
    cursor: Cursor


def _read(desk: Desk, given: Read) -> str:
    which, line, char = _place(given)
    pieces: list[str] = []
    left = float(MAX_TOKENS)
    for number in range(which, len(given.uris)):
        uri = given.uris[number]
        if number > which and left < 1:
            rest = len(given.uris) - number
            pieces.append(f"[{rest} of {len(given.uris)} files left. {_go_on(number, 0, 0)}]")
            break
        try:
            text = desk.services.content.read(desk.caller, uri, given.offset, given.limit)
        except OpenVikingError as error:
            if len(given.uris) == 1:
                raise
            pieces.append(f"=== {shorten(uri, SHOWN_URI)} ===\n{told(error)}")
            left -= estimate_tokens(pieces[-1])
            continue
        shown, note = _part(text, number, line, char, left)
        left -= token_weight(shown) + 20
        line = char = 0
        headed = shown if len(given.uris) == 1 else f"=== {shorten(uri, SHOWN_URI)} ===\n{shown}"
        pieces.append(headed if note is None else f"{headed}\n\n{note}")
        if note is not None:
            break
    return "\n\n".join(pieces)


def _place(given: Read) -> tuple[int, int, int]:
    """The file, line and character where the answer begins."""
    if not given.cursor:
        return 0, 0, 0
    found = _CURSOR.fullmatch(given.cursor)
    if found is None or int(found[1]) >= len(given.uris):
        raise wrong_cursor(given.cursor)
    return int(found[1]), int(found[2]), int(found[3])


def _go_on(which: int, line: int, char: int) -> str:
    return f'Call again with the same arguments and cursor="{which}:{line}:{char}".'


def _part(text: str, which: int, line: int, char: int, left: float) -> tuple[str, str | None]:
    """What fits of a text from a place on, and what is said if that is not all; parts put together are the text."""
    start = _offset(text, line, char)
    if start == 0 and token_weight(text) <= left:
        return text, None
    total = text.count("\n") + (not text.endswith("\n"))
    end, at_line = start, line
    room = left
    while end < len(text):
        stop = text.find("\n", end) + 1 or len(text)
        weight = token_weight(text[end:stop])
        if weight > room:
            break
        room -= weight
        end, at_line = stop, at_line + 1
    if end >= len(text):
        return text[start:], None
    at_char = 0
    if end == start:
        # One line that is too long by itself is cut where the room ends.
        end = _fits(text, start, left)
        at_char = (char if at_line == line else 0) + end - start
        length = (text.find("\n", start) + 1 or len(text)) - (start - (char if at_line == line else 0))
        where = f"Line {at_line + 1:,} of {total:,} up to character {at_char:,} of {length:,}"
    else:
        where = f"Lines {line + 1:,}–{at_line:,} of {total:,}"
    return text[start:end], f"[{where}. {_go_on(which, at_line, at_char)}]"


def _offset(text: str, line: int, char: int) -> int:
    start = 0
    for _ in range(line):
        start = text.find("\n", start) + 1
        if not start:
            raise InvalidArgumentError("The file has fewer lines than the cursor says: it was changed", field="cursor")
    return min(start + char, len(text))


def _fits(text: str, start: int, left: float) -> int:
    """The end of as many characters as there is room for, at least one."""
    low, high = 1, min(len(text) - start, int(left * 4) + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if token_weight(text[start : start + middle]) <= left:
            low = middle
        else:
            high = middle - 1
    return start + low


class Download(Arguments):
    """A file."""

    uri: str


def _download(desk: Desk, given: Download) -> str:
    if desk.links is None:
        raise UnimplementedError("There is no server to download from here: use read, or `ov get`", field="uri")
    # What can't be sent is said now, not when the link is used.
    sent = desk.services.content.sent(desk.caller, given.uri)
    sent.file.close()
    link = desk.links.download(desk.caller, given.uri)
    return (
        f"{sent.name}, {sent.size:,} bytes. This link needs no key and is good for {desk.links.tickets.seconds:g} s:\n"
        f"{link}\nFor example: curl -fsS -o FILE '{link}'"
    )


READ: Final = Tool(
    "read", "Read",
    "Read text, best by the lines that find or grep named: viking://…/a.md#L12-L30. offset and limit give other lines."
    " Several URIs come back under a heading each, one that fails does not stop the others. What is too long for one"
    " answer ends with a cursor. For a directory use list, for bytes download.",
    Read, _read,
)  # fmt: skip

DOWNLOAD: Final = Tool(
    "download", "Link to a file's bytes",
    "Get a link to the original bytes of a file (pictures, archives, large files), for some minutes and without a key:"
    " fetch it with your shell. To read text, use read.",
    Download, _download, remote=True,
)  # fmt: skip
