"""Describes an archived conversation by what was said in it, without any model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openviking.model.message import Message
from openviking.parse.prose import first_sentence, one_line
from openviking.text import shorten

ABSTRACT_CHARS: Final = 256
OVERVIEW_CHARS: Final = 4_000
_LOOK: Final = 4_000
_SAID: Final = 240
_LEAST: Final = 60


def abstract_of(messages: Sequence[Message]) -> str:
    """One line of at most 256 characters: how the conversation began, and how long it was."""
    said = next((_said(one, _SAID) for one in messages if one.role == "user" and one.text.strip()), "")
    said = said or next((line for one in messages if (line := _said(one, _SAID))), "")
    return shorten(f"{_count(messages)}: {said}" if said else _count(messages), ABSTRACT_CHARS)


def overview_of(messages: Sequence[Message]) -> str:
    """At most 4,000 characters: when it was, then what each message says first, in order.

    Where not all have room, those of the beginning and the end are shown, and how many are between them is said.
    """
    days = sorted(one.created_at[:10] for one in messages) or [""]
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    head = f"# {_count(messages)}, {when}\n\n"
    room = OVERVIEW_CHARS - len(head) - 40
    each = min(_SAID, max(room // max(len(messages), 1) - 16, _LEAST))
    lines = [f"- {one_line(one.peer or one.role)}: {said}" for one in messages if (said := _said(one, each))]
    shown = _fitting(lines, room)
    return head + "\n".join(shown)


def _count(messages: Sequence[Message]) -> str:
    return f"Conversation of {len(messages)} {'message' if len(messages) == 1 else 'messages'}"


def _fitting(lines: Sequence[str], room: int) -> list[str]:
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


def _said(message: Message, limit: int) -> str:
    """What a message says first; of one without words, what it holds."""
    text = one_line(message.text[:_LOOK])
    if text:
        return first_sentence(text, limit)
    names = [part["tool_name"] or "tool" for part in message.parts if part["type"] == "tool"]
    return shorten(f"(used {', '.join(names)})", limit) if names else ""
