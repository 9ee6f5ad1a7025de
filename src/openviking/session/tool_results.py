"""Moves long outputs of tools out of their messages: a beginning stays, the whole is kept beside (contract/core.md §3.6)."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from openviking.model.message import Message, Part
from openviking.model.session import ToolResult
from openviking.uri import URI

THRESHOLD_CHARS: Final = 20_000
"""An output of more characters is moved out."""

PREVIEW_CHARS: Final = 2_000
OFFSET_UNIT: Final = "unicode_code_point"
SYNOPSIS: Final = "head"
"""What a preview is: the first characters of the output."""

MAX_MATCHES: Final = 1_000
MAX_CONTEXT_CHARS: Final = 5_000
"""At most so many matches with so much around each: an answer has 10 million characters at most, whatever is asked."""

RESULTS: Final = "tool-results"
"""The name of the directory, below that of a session, by which whole outputs are addressed."""


def externalised(session: URI, messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[ToolResult, ...]]:
    """The messages with their long outputs cut to a preview, and these outputs."""
    results: list[ToolResult] = []
    return tuple(
        replace(one, parts=tuple(_shown(session, part, results) for part in one.parts)) for one in messages
    ), tuple(results)


def _shown(session: URI, part: Part, results: list[ToolResult]) -> Part:
    output = part.get("tool_output")
    if part["type"] != "tool" or output is None or len(output) <= THRESHOLD_CHARS:
        return part
    result = ToolResult(
        f"tr_{secrets.token_hex(12)}", part["tool_name"], _mime_type(output), PREVIEW_CHARS, len(output), output
    )
    results.append(result)
    return {
        **part,
        "tool_output": output[:PREVIEW_CHARS],
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
