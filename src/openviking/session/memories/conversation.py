"""What of a conversation is learned from: its words, without what was recalled into it or put out by tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from openviking.model.memory import Draft
from openviking.model.message import Message
from openviking.session.extraction.transcript import turns_of
from openviking.session.memories.asking import LINE_CHARS, Line
from openviking.session.memories.places import memory_path
from openviking.session.memories.wording import spoken
from openviking.text import shorten

SUMMARY: Final = "# Summary\n\n"
LOG: Final = "\n\n# ChatLog:"
MAX_SUMMARY_CHARS: Final = 4_000


def lines_of(messages: Sequence[Message]) -> list[Line]:
    """The messages as a chat model gets to see them; those that say nothing of their own are left out."""
    return [
        Line(number, one.id, one.role, one.peer, one.day, one.text[: LINE_CHARS + 1], one.tools, one.is_persons)
        for number, one in enumerate(turns_of(messages), start=1)
        if one.words or one.tools
    ]


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was recalled into a conversation: the words of the texts (`spoken`), and the paths of memories, the latest first."""

    texts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


def recalled_in(messages: Sequence[Message], user: str) -> Recalled:
    """What was recalled into the conversation of ``user``; paths are those of memories that the user may have."""
    parts = [part for one in messages for part in one.parts if part["type"] == "context"]
    texts = dict.fromkeys(spoken(text) for text in dict.fromkeys(part["abstract"] for part in parts))
    paths = [memory_path(user, uri) for uri in dict.fromkeys(part["uri"] for part in reversed(parts))]
    return Recalled(tuple(filter(None, texts)), tuple(filter(None, paths)))


def with_summary(event: Draft, summaries: Sequence[str]) -> Draft:
    """``event`` with the summaries of its parts in place of its own; as it is without any."""
    head, log, rest = event.body.partition(LOG)
    if not summaries or not log or not head.startswith(SUMMARY):
        return event
    # A heading within would end the summary.
    told = shorten("\n\n".join(one.lstrip("# ") for one in summaries), MAX_SUMMARY_CHARS)
    return replace(event, body=f"{SUMMARY}{told}{log}{rest}")
