"""Moves long outputs of tools out of their messages: a beginning stays, the whole is kept beside (contract/core.md §3.6)."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from openviking.config.settings import SessionSettings
from openviking.model.message import Message, Part
from openviking.model.session import ToolResult
from openviking.uri import URI

OFFSET_UNIT: Final = "unicode_code_point"
SYNOPSIS: Final = "head"
"""What a preview is: the first characters of the output."""

MAX_MATCHES: Final = 1_000
MAX_CONTEXT_CHARS: Final = 5_000
"""At most so many matches with so much around each: an answer has 10 million characters at most, whatever is asked."""

RESULTS: Final = "tool-results"
"""The name of the directory, below that of a session, by which whole outputs are addressed."""


@dataclass(slots=True)
class Spent:
    """Characters of tools' outputs that the messages of a turn hold whole, and of those that they show of others."""

    whole: int = 0
    shown: int = 0

    def count(self, part: Part) -> None:
        """Count what a part of a message holds."""
        size = len(part.get("tool_output", ""))
        if "tool_result_id" in part:
            self.shown += size
        else:
            self.whole += size


def begins_turn(message: Message) -> bool:
    """Whether a user speaks; what a tool answers in the user's name begins no other turn."""
    return message.role == "user" and not any(part["type"] == "tool" for part in message.parts)


def spent_in_turn(newest_first: Sequence[Message]) -> Spent:
    """What the messages of the turn hold that is under way; further back than its beginning nothing is looked at."""
    spent = Spent()
    for message in newest_first:
        if begins_turn(message):
            break
        for part in message.parts:
            spent.count(part)
    return spent


def externalised(
    session: URI, messages: Sequence[Message], limits: SessionSettings, spent: Spent
) -> tuple[tuple[Message, ...], tuple[ToolResult, ...]]:
    """The messages with their long outputs cut to a preview, and these outputs.

    ``spent`` is what the turn holds already; it counts these messages too then.
    """
    results: list[ToolResult] = []
    made = []
    for message in messages:
        if begins_turn(message):
            spent.whole = spent.shown = 0
        parts = []
        for part in message.parts:
            shown = _shown(session, part, limits, spent, results)
            spent.count(shown)
            parts.append(shown)
        made.append(replace(message, parts=tuple(parts)))
    return tuple(made), tuple(results)


def _shown(session: URI, part: Part, limits: SessionSettings, spent: Spent, results: list[ToolResult]) -> Part:
    output = part.get("tool_output")
    if part["type"] != "tool" or output is None or not limits.tool_outputs_beside:
        return part
    if len(output) <= limits.tool_output_chars and spent.whole + len(output) <= limits.turn_output_chars:
        return part
    left = max(limits.turn_preview_chars - spent.shown, limits.least_preview_chars)
    shown = min(limits.tool_preview_chars, left)
    if len(output) <= shown:
        return part
    result = ToolResult(
        f"tr_{secrets.token_hex(12)}", part["tool_name"], _mime_type(output), shown, len(output), output
    )
    results.append(result)
    return {
        **part,
        "tool_output": output[:shown],
        "tool_output_ref": result_uri(session, result.id),
        "tool_result_id": result.id,
        "tool_output_truncated": True,
        "tool_output_original_chars": result.size,
    }


def result_uri(session: URI, result_id: str) -> str:
    """Where a whole output can be read."""
    return str(session.child(RESULTS, result_id))


def described(session: URI, result: ToolResult) -> dict[str, Any]:
    """A result as listings show it."""
    return {
        "tool_result_id": result.id,
        "tool_name": result.tool_name,
        "original_chars": result.size,
        "preview_chars": result.shown,
        "mime_type": result.mime_type,
        "synopsis_kind": SYNOPSIS,
        "storage_uri": result_uri(session, result.id),
        "offset_unit": OFFSET_UNIT,
    }


def matches(content: str, wanted: str, limit: int, context_chars: int) -> list[dict[str, Any]]:
    """Up to ``limit`` places where ``wanted`` stands, in whatever case, each with so many characters on both sides."""
    found: list[dict[str, Any]] = []
    for match in re.finditer(re.escape(wanted), content, re.IGNORECASE):
        if len(found) == limit:
            break
        snippet = content[max(match.start() - context_chars, 0) : match.end() + context_chars]
        found.append({"offset": match.start(), "offset_unit": OFFSET_UNIT, "snippet": snippet})
    return found


def _mime_type(output: str) -> str:
    if output.lstrip()[:1] in {"{", "["}:
        try:
            json.loads(output)
        except (ValueError, RecursionError):
            return "text/plain"
        return "application/json"
    return "text/plain"
