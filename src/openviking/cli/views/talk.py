"""A conversation as people read it: what went before in short, then who said what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openviking.cli.views.cells import EMPTY, value_text

if TYPE_CHECKING:
    from openviking.cli.screen import Screen

LONGEST_OUTPUT: Final = 200
"""Characters of a tool's output."""


def draw_talk(screen: Screen, talk: dict[str, Any], overview: str) -> None:
    """The text ``overview`` of a context or an archive, its messages, and what is counted."""
    told = str(talk.get(overview) or "").strip("\n")
    for line in told.split("\n") if told else ():
        screen.line(line)
    messages = talk.get("messages") or []
    if told and messages:
        screen.line()
    for message in messages:
        who = str(message.get("role")) + (f" ({message['peer_id']})" if message.get("peer_id") else "")
        lines = [line for part in message.get("parts") or () for line in _told(part)]
        screen.line((f"{who}: ", "strong"), lines[0] if lines else "")
        for line in lines[1:]:
            screen.line(line, indent=2)
    if not told and not messages:
        screen.line((EMPTY, "dim"))
    if (stats := talk.get("stats")) is not None:
        counted = f"{talk.get('estimatedTokens', 0):,} tokens, {stats.get('totalArchives', 0):,} archives"
        screen.line((counted, "dim"))


def _told(part: dict[str, Any]) -> list[str]:
    """A part of a message in lines."""
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text") or "").split("\n")
    if kind == "tool":
        output = value_text(part.get("tool_output"))
        more = "…" if len(output) > LONGEST_OUTPUT else ""
        return [f"[tool {part.get('tool_name')}: {output[:LONGEST_OUTPUT]}{more}]"]
    return [f"[{kind} {part.get('uri') or ''}]".replace(" ]", "]")]
