"""What a chat model is shown of a conversation: bounded parts of it, and the memories that may say it already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openviking.session.extraction.transcript import in_line
from openviking.session.memories import prompt
from openviking.text import shorten

PART_CHARS: Final = 24_000
LINE_CHARS: Final = 6_000
MAX_PARTS: Final = 16
"""Of a conversation that has more, the model is shown the first and the last ones."""

NOTE_CHARS: Final = 1_500
MAX_TOOLS: Final = 5


@dataclass(frozen=True, slots=True)
class Line:
    """One message as the model gets to see it: what was said, without what was recalled or put out by ``tools``.

    ``is_persons``: it is somebody's own, and not a model's.
    """

    number: int
    id: str
    role: str
    peer: str
    day: str
    text: str
    tools: tuple[str, ...] = ()
    is_persons: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that the model is shown as the note ``key``; ``base`` is the SHA-256 of its bytes."""

    key: str
    path: str
    base: bytes | None
    type: str
    peer: str
    topic: str
    body: str


def parts_of(lines: Sequence[Line]) -> list[tuple[Line, ...]]:
    """``lines`` in order, in parts of about 24,000 characters, at most 16; a long one is cut."""
    parts: list[list[Line]] = [[]]
    room = PART_CHARS
    for line in lines:
        size = min(len(line.text), LINE_CHARS) + 60
        if parts[-1] and size > room:
            parts.append([])
            room = PART_CHARS
        parts[-1].append(line)
        room -= size
    found = [tuple(part) for part in parts if part]
    if len(found) <= MAX_PARTS:
        return found
    return [*found[: MAX_PARTS // 2], *found[-(MAX_PARTS - MAX_PARTS // 2) :]]


def messages_for(part: Sequence[Line], known: Sequence[Known], types: Sequence[str]) -> list[dict[str, str]]:
    """What the model is sent: the rules for ``types``, and as data the notes and the part, each line marked."""
    kinds = "".join(f"- {name}: {prompt.KINDS[name]};\n" for name in types if name in prompt.KINDS)
    notes = [_note(one) for one in known] or [prompt.NOTHING]
    said = [_line(one) for one in part]
    told = "\n\n".join(
        f"{heading}\n" + "\n".join(f"| {line}" for line in lines)
        for heading, lines in ((prompt.NOTES, notes), (prompt.CONVERSATION, said))
    )
    rules = prompt.RULES.format(kinds=kinds)
    return [{"role": "system", "content": rules}, {"role": "user", "content": told}]


def _note(one: Known) -> str:
    whose = f", about {one.peer}" if one.peer else ""
    topic = f", {shorten(in_line(one.topic), 120)}" if one.topic else ""
    return f"[{one.key}] {one.type}{whose}{topic}: {shorten(in_line(one.body), NOTE_CHARS)}"


def _line(one: Line) -> str:
    who = f"{in_line(one.role)} ({one.peer})" if one.peer else in_line(one.role)
    if one.tools:
        who += f", used {', '.join(shorten(name, 60) for name in one.tools[:MAX_TOOLS])}"
    text = in_line(one.text)
    return f"[{one.number}] {one.day} {who}: {text if len(text) <= LINE_CHARS else f'{text[:LINE_CHARS]} {prompt.CUT}'}"
