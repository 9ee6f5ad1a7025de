"""What of a conversation may be learned from: what was said in it, without what memories and tools brought in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openviking.model.message import Message
from openviking.parse.prose import one_line
from openviking.session.extraction.masking import masked
from openviking.session.extraction.outputs import opening, told_of
from openviking.text import shorten

LEFT_OUT: Final = "(recalled context left out)"
"""Stands where recalled memories were."""

_UNHEARD: Final = frozenset(
    ("system", "developer", "tool", "function", "tool_call", "tool_result", "function_call", "observation", "ipython")
)
_MACHINES: Final = _UNHEARD | {"assistant", "ai", "bot", "chatbot", "model", "agent"}
_SPEAKER_CHARS: Final = 64
_MOST_ABSTRACTS: Final = 32
_LEAST_ABSTRACT: Final = 24
_ELEMENT: Final = re.compile(
    r"<(memory|memories|relevant[-_]memor(?:y|ies)|openviking[-_](?:context|memor(?:y|ies)))(?=[\s/>])"
    r"(?:\s++[\w-]++=(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'<>]++))*+\s*+(/?)>",
    re.IGNORECASE,
)
_DIGEST: Final = re.compile(
    r"^[ \t>]*+OpenViking memory digest:[^\n]*+(?:(?:\n[ \t>]*+)++[-*] [^\n]*+)*+", re.MULTILINE
)
_CITED: Final = re.compile(r"^[ \t>]*[-*] [^\n]*(?:source: ?|来源：)viking://\S+[ \t]*$", re.MULTILINE)
_MARKS: Final = re.compile(re.escape(LEFT_OUT) + r"(?:[\s>]*" + re.escape(LEFT_OUT) + ")+")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one message says: ``text`` has no secrets and no recalled memories, ``tools`` are the names of tools it used.

    ``outputs`` tell in a line each what tools gave, as data: nobody says it, and nothing is learned from it.
    """

    id: str
    role: str
    peer: str
    at: str
    text: str
    tools: tuple[str, ...] = ()
    kind: str = ""
    outputs: tuple[str, ...] = ()

    @property
    def speaker(self) -> str:
        """Who says it: the partner, else the role; never what begins a heading or a list."""
        return self.peer or shorten(one_line(self.role).lstrip("#>*+-=~`| "), _SPEAKER_CHARS) or "somebody"

    @property
    def day(self) -> str:
        """The date on which it was said, ``YYYY-MM-DD``."""
        return self.at[:10]

    @property
    def is_persons(self) -> bool:
        """Whether a person says it: not a model, a tool or the instructions of a program."""
        return self.role.strip().casefold() not in _MACHINES and self.kind in {"", "user_query"}

    @property
    def words(self) -> str:
        """The text without marks, one line."""
        return in_line(self.text.replace(LEFT_OUT, " "))


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """The turns of a conversation in order, without those that say nothing.

    Left out are context parts, blocks of recalled memories and their digests wherever they were pasted, and the
    abstracts of context parts where somebody repeats them; a mark stands for them. Messages of the system and of tools are
    left out without one; of the tools that a message used, what they gave is told apart from its text. Secrets are masked.
    """
    told = (part["abstract"].strip() for one in messages for part in one.parts if part["type"] == "context")
    abstracts = list(dict.fromkeys(one for one in told if len(one) >= _LEAST_ABSTRACT))[:_MOST_ABSTRACTS]
    return [turn for one in messages if (turn := _turn(one, abstracts)) is not None]


def in_line(text: str) -> str:
    """As `one_line`, quickly for text without control characters."""
    line = " ".join(text.split())
    return line if line.isprintable() else one_line(line)


def without_recalled(text: str) -> str:
    """``text`` with a mark in place of blocks of recalled memories and of digests."""
    if "memor" in text.lower():
        text = _DIGEST.sub(LEFT_OUT, _without_elements(text))
    if "viking://" in text:
        text = _CITED.sub(LEFT_OUT, text)
    return text


def _turn(message: Message, abstracts: Sequence[str]) -> Turn | None:
    if message.role.strip().casefold() in _UNHEARD or message.kind == "tool_transport":
        return None
    pieces: list[str] = []
    for part in message.parts:
        if part["type"] == "text":
            text = without_recalled(part["text"])
            for abstract in abstracts:
                text = text.replace(abstract, LEFT_OUT)
            pieces.append(text)
        elif part["type"] == "context":
            pieces.append(LEFT_OUT)
    text, _ = masked(_MARKS.sub(LEFT_OUT, "\n".join(pieces)).rstrip().lstrip("\r\n"))
    text = _without_speaker(text, message.peer)
    tools = tuple(dict.fromkeys(one_line(part["tool_name"]) for part in message.parts if part["type"] == "tool"))
    if not text and not tools:
        return None
    outputs = tuple(
        f"{one_line(part['tool_name']) or 'a tool'} → {told}"
        for part in message.parts
        if part["type"] == "tool" and (told := told_of(without_recalled(opening(part.get("tool_output") or ""))))
    )
    return Turn(message.id, message.role, message.peer, message.created_at, text, tools, message.kind, outputs)


def _without_speaker(text: str, peer: str) -> str:
    """``text`` without the name of its speaker in front, as logs have it."""
    if peer and text[: len(peer)].casefold() == peer.casefold():
        rest = text[len(peer) :].lstrip()
        if rest[:1] in {":", "："}:
            return rest[1:].lstrip()
    return text


def _without_elements(text: str) -> str:
    parts: list[str] = []
    at = 0
    lowered = text.lower() if text.isascii() else "".join(char.lower() if char.isascii() else char for char in text)
    while (found := _ELEMENT.search(text, at)) is not None:
        parts += (text[at : found.start()], LEFT_OUT)
        closing = f"</{found[1].lower()}>"
        end = found.end() if found[2] else lowered.find(closing, found.end())
        # Of a block that was cut off, nothing says where the words of the speaker begin again.
        at = len(text) if end < 0 else end + (0 if found[2] else len(closing))
    return "".join(parts) + text[at:] if parts else text
