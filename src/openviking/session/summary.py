"""Describes an archived conversation by what was said in it, without any model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openviking.model.message import Message
from openviking.parse.prose import first_sentence, one_line
from openviking.parse.telling import telling
from openviking.text import estimate_tokens, shorten

ABSTRACT_CHARS: Final = 256
OVERVIEW_CHARS: Final = 16_000
_LOOK: Final = 4_000
_SAID: Final = 240
_LEAST: Final = 60


def abstract_of(messages: Sequence[Message]) -> str:
    """One line of at most 256 characters: how the conversation began, and how long it was."""
    said = next((_said(one, _SAID) for one in messages if one.role == "user" and one.text.strip()), "")
    said = said or next((line for one in messages if (line := _said(one, _SAID))), "")
    return shorten(f"{_count(messages)}: {said}" if said else _count(messages), ABSTRACT_CHARS)


def overview_of(messages: Sequence[Message]) -> str:
    """At most 16,000 characters: when it was, then what each message says, in order; all of it where that has room.

    Of longer messages the sentences are shown that tell most: what begins them, questions, numbers, names, instructions.
    Where not all have room, those of the beginning and the end are shown, and how many are between them is said.
    """
    days = sorted(one.created_at[:10] for one in messages) or [""]
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    head = f"# {_count(messages)}, {when}\n\n"
    room = OVERVIEW_CHARS - len(head) - 40
    told = [(f"- {one_line(one.peer or one.role)}: ", said) for one in messages if (said := _words(one))]
    each = share([len(said) for _, said in told], room - sum(len(who) + 1 for who, _ in told))
    return head + "\n".join(fitting([who + telling(said, each) for who, said in told], room))


def shortened(overview: str, tokens: int) -> str:
    """An overview with fewer messages, in ``tokens`` at most; "" if not one of them has room."""
    head, _, rest = overview.partition("\n\n")
    lines = rest.split("\n")
    room = len(overview) * tokens // max(estimate_tokens(overview), 1) - len(head) - 40
    while room > 0:
        kept = fitting(lines, room)
        made = f"{head}\n\n" + "\n".join(kept)
        if len(kept) < 2:
            return ""
        if estimate_tokens(made) <= tokens:
            return made
        room -= room // 8 + 1
    return ""


def _count(messages: Sequence[Message]) -> str:
    return f"Conversation of {len(messages)} {'message' if len(messages) == 1 else 'messages'}"


def fitting(lines: Sequence[str], room: int) -> list[str]:
    """The lines of the beginning and the end that have room in so many characters; between them, how many others there are."""
    if sum(len(line) + 1 for line in lines) <= room:
        return list(lines)
    start: list[str] = []
    end: list[str] = []
    left = room
    while len(start) + len(end) < len(lines):
        at_end = len(end) < len(start)
        line = lines[-1 - len(end)] if at_end else lines[len(start)]
        left -= len(line) + 1
        if left < 0:
            break
        (end if at_end else start).append(line)
    between = len(lines) - len(start) - len(end)
    return [*start, f"… {between} more messages …", *reversed(end)]


def share(lengths: Sequence[int], room: int) -> int:
    """How many characters of each text can be shown, so that short ones leave their room to long ones."""
    left = len(lengths)
    for length in sorted(lengths):
        if length * left > room:
            return max(room // left, _LEAST)
        room -= length
        left -= 1
    return max(lengths, default=0)


def _said(message: Message, limit: int) -> str:
    """What a message says first; of one without words, what it holds."""
    text = _words(message)
    return first_sentence(text, limit) if text else ""


def _words(message: Message) -> str:
    """The beginning of a message on one line; of one without words, what it holds."""
    text = one_line(message.text[:_LOOK])
    if text:
        return shorten(text, _LOOK - 1) if len(message.text) > _LOOK else text
    names = [part["tool_name"] or "tool" for part in message.parts if part["type"] == "tool"]
    return shorten(f"(used {', '.join(names)})", _SAID) if names else ""
