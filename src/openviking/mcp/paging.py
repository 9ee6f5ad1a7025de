"""Answers of a bounded size: what fits, how much there is, and where the rest begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from openviking.errors import InvalidArgumentError
from openviking.text import quoted, token_weight

MAX_TOKENS: Final = 8_000
"""Estimated tokens of an answer (contract/retrieval.md §5.7), a few lines around it not counted.

Common clients warn about answers of more than 10,000 tokens, and cut those of more than 25,000.
"""

LINE_CHARS: Final = 500
"""Of a line in a list of lines; what is cut says so, and `read` gives the line."""

MAX_START: Final = 2**48
"""No list has more entries."""


@dataclass(slots=True)
class Room:
    """What is left of an answer's tokens."""

    left: float = MAX_TOKENS
    used: bool = field(default=False, init=False)

    def takes(self, text: str) -> bool:
        """Whether ``text`` still fits; the first always does, so that every answer gets on."""
        weight = token_weight(text) + 1
        if self.used and weight > self.left:
            return False
        self.used = True
        self.left -= weight
        return True


def start_of(cursor: str, offset: int = 0) -> int:
    """How many entries come before the answer; a cursor has the offset in it.

    Raises `InvalidArgumentError` for a cursor that no answer gave.
    """
    if not cursor:
        if offset < 0:
            raise InvalidArgumentError(f"offset must be 0 or more, not {offset}", field="offset")
        return min(offset, MAX_START)
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 15 or int(cursor) > MAX_START:
        raise wrong_cursor(cursor)
    return int(cursor)


def wrong_cursor(cursor: str) -> InvalidArgumentError:
    """What is said of a cursor that is none."""
    return InvalidArgumentError(
        f"cursor {quoted(cursor)} is none of this tool's: take it from the last line of a cut answer", field="cursor"
    )


def fitting(blocks: Iterable[str], room: Room) -> list[str]:
    """As many of the first ``blocks`` as there is room for, at least one."""
    taken = []
    for block in blocks:
        if not room.takes(block):
            break
        taken.append(block)
    return taken


def more(what: str, first: int, shown: int, total: int | None) -> str:
    """The last line of a cut answer: which entries these are, how many there are, how to go on."""
    of = "" if total is None else f" of {total:,}"
    span = f"{what} {first + 1:,}–{first + shown:,}{of}"
    return f'[{span}. There are more: call again with the same arguments and cursor="{first + shown}".]'


def paged(head: str, blocks: Sequence[str], what: str, first: int, total: int | None, *, gap: str = "\n") -> str:
    """``head``, the blocks that fit, and if any are left, `more`; ``total`` None where nobody knows, but some follow."""
    taken = fitting(blocks, Room())
    lines = [head, gap.join(taken)] if head else [gap.join(taken)]
    if total is None or first + len(taken) < total:
        lines.append(more(what, first, len(taken), total))
    return "\n\n".join(lines)


def cut_line(text: str) -> str:
    """A line of at most `LINE_CHARS` characters that says how long it is if it was cut."""
    if len(text) <= LINE_CHARS:
        return text
    return f"{text[:LINE_CHARS]}… [cut; the line has {len(text):,} characters]"
